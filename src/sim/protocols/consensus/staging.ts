/** Consensus on a stage, [CT96] and FastCT: members a, b, …, which propose what a script says. Worlds as settings, commands as lines, and back. */
import { spanUs, TenureError } from '../../../kernel/index.ts';
import type {
  ConsensusCommand,
  ConsensusConfig,
  ConsensusCore,
  ConsensusEvent,
  ConsensusKeeps,
  ConsensusMode,
  FastCtCommand,
  FastCtCore,
  FastCtEvent,
  LambdaChoice,
  Snapshot,
} from '../../../core/index.ts';
import type { Desk, Scenario } from '../../protocol.ts';
import type { TapeToScript } from '../../shrink/tape-to-script.ts';
import { formatSpan } from '../../stage/actions.ts';
import { settingCount, settingIsOn, settingSpanUs, settingWord } from '../../stage/settings.ts';
import { calmScenario, type Actor, type Settings, type Staging } from '../../stage/staging.ts';
import { takesNoMore, unknownVerb, VOTER_NAMES } from '../../stage/words.ts';
import type { Said } from '../../tape.ts';
import type { FastCtWorld } from './fast-ct.ts';
import { decoded, encoded, type ProposeCommand } from './user.ts';
import { CONSENSUS_TERM_US, type ConsensusWorld } from './worlds.ts';

/** `window`, `kept`: instances that are open at once, and decisions that are told. `heartbeat`, `timeout`: of the failure detector. `retry`: after which time an unanswered message is sent again, or `never`. */
const SHARED: Settings = {
  members: '3',
  keeps: 'disk',
  window: '1',
  kept: '4',
  heartbeat: '10ms',
  timeout: '40ms',
  retry: '20ms',
};
const CT96: Settings = { ...SHARED, shortcut: 'no' };
/** `lambda`: how many instances a lease is asked for, `fixed-4`, or at most that, beginning with half (`adaptive-4`) or with all (`optimistic-4`). `ahead`: whether it is asked for before it is needed. */
const FAST: Settings = { ...SHARED, lambda: 'fixed-4', ahead: 'no', rtt: '2ms' };

const VERBS = ['propose NODE INSTANCE VALUE'];
const LAMBDA = /^(fixed|adaptive|optimistic)-([1-9]\d{0,5})$/;

type ConsensusStaging = Staging<ConsensusCommand, ConsensusEvent, ConsensusWorld, ConsensusCore>;
type FastStaging = Staging<FastCtCommand, FastCtEvent, FastCtWorld, FastCtCore>;

export const consensusStaging: ConsensusStaging = {
  defaults: CT96,
  verbs: VERBS,
  scenario: (settings: Settings): Scenario<ConsensusWorld> =>
    scenarioOf(consensusOf(settings, { kind: 'chandra-toueg', shortcut: settingIsOn(settings, 'shortcut') }), {}),
  nodeName: memberLetter,
  actor: (_scenario: Scenario<ConsensusWorld>, _core: ConsensusCore, desk: Desk<ConsensusCommand>): ConsensusActor =>
    new ConsensusActor(desk),
};

export const fastStaging: FastStaging = {
  defaults: FAST,
  verbs: VERBS,
  scenario(settings: Settings): Scenario<FastCtWorld> {
    const consensus = consensusOf(settings, { kind: 'fast' });
    const lambda = lambdaOf(settings['lambda'] ?? '');
    const asksAhead = settingIsOn(settings, 'ahead');
    return scenarioOf(consensus, {
      fast: { consensus, lambda, isLiteralInterval: false, asksAhead, rttUs: settingSpanUs(settings, 'rtt') },
    });
  },
  nodeName: memberLetter,
  actor: (_scenario: Scenario<FastCtWorld>, _core: FastCtCore, desk: Desk<FastCtCommand>): ConsensusActor => new ConsensusActor(desk),
};

const LINES: Pick<TapeToScript<ConsensusCommand, ConsensusWorld>, 'say' | 'insist' | 'use'> = {
  say: (command: ConsensusCommand): Said | null =>
    command.kind === 'propose' ? { verb: 'propose', words: [String(command.instance), decoded(command.value)] } : null,
  // A proposal waits as long as it takes.
  insist: ({ verb, words }: { verb: string; words: readonly string[] }): { verb: string; words: readonly string[] } => ({ verb, words }),
  use: (): null => null,
};

export const consensusTapeToScript: TapeToScript<ConsensusCommand, ConsensusWorld> = {
  ...LINES,
  settings: ({ config: { consensus } }: Scenario<ConsensusWorld>): Settings => ({
    ...sharedSettings(consensus),
    shortcut: consensus.mode.kind === 'chandra-toueg' && consensus.mode.shortcut ? 'yes' : 'no',
  }),
};

export const fastTapeToScript: TapeToScript<FastCtCommand, FastCtWorld> = {
  ...LINES,
  settings: ({ config: { consensus, fast } }: Scenario<FastCtWorld>): Settings => ({
    ...sharedSettings(consensus),
    lambda: lambdaWord(fast.lambda),
    ahead: fast.asksAhead ? 'yes' : 'no',
    rtt: formatSpan(fast.rttUs),
  }),
};

function consensusOf(settings: Settings, mode: ConsensusMode): ConsensusConfig {
  const window = settingCount(settings, 'window', 1, 64);
  return {
    members: settingCount(settings, 'members', 1, VOTER_NAMES.length),
    mode,
    keeps: settingWord<ConsensusKeeps>(settings, 'keeps', ['disk', 'memory', 'crash-stop']),
    window,
    kept: settingCount(settings, 'kept', window, 1024),
    detector: {
      heartbeatUs: spanUs(settingSpanUs(settings, 'heartbeat')),
      timeoutUs: spanUs(settingSpanUs(settings, 'timeout')),
    },
    retryUs: settings['retry'] === 'never' ? null : spanUs(settingSpanUs(settings, 'retry')),
  };
}

function sharedSettings({ members, keeps, window, kept, detector, retryUs }: ConsensusConfig): Settings {
  return {
    members: String(members),
    keeps,
    window: String(window),
    kept: String(kept),
    heartbeat: formatSpan(detector.heartbeatUs),
    timeout: formatSpan(detector.timeoutUs),
    retry: retryUs === null ? 'never' : formatSpan(retryUs),
  };
}

/** No member proposes by itself. */
function scenarioOf<More extends object>(consensus: ConsensusConfig, more: More): Scenario<ConsensusWorld & More> {
  return calmScenario(consensus.members, CONSENSUS_TERM_US, { consensus, pauseUsMax: 1, proposers: 0, ...more });
}

function lambdaOf(word: string): LambdaChoice {
  const [, kind, digits] = LAMBDA.exec(word) ?? [];
  const size = Number(digits);
  if (kind === 'fixed') return { kind, size };
  if (kind !== undefined) return { kind: 'adaptive', max: size, isOptimistic: kind === 'optimistic' };
  throw new TenureError('TENURE_BAD_ARGUMENT', `lambda is fixed-N, adaptive-N or optimistic-N, not '${word}'`);
}

function lambdaWord(lambda: LambdaChoice): string {
  if (lambda.kind === 'fixed') return `fixed-${lambda.size}`;
  return `${lambda.isOptimistic ? 'optimistic' : 'adaptive'}-${lambda.max}`;
}

function memberLetter(_scenario: Scenario<ConsensusWorld>, node: number): string {
  return VOTER_NAMES[node] ?? `n${node}`;
}

/** How many proposals its process has made, and leases on instances it got. */
export interface ConsensusActorSnapshot {
  readonly proposals: number;
  readonly leases: number;
}

class ConsensusActor implements Actor<ConsensusEvent | FastCtEvent> {
  readonly #desk: Desk<ProposeCommand>;
  #proposals = 0;
  #leases = 0;

  constructor(desk: Desk<ProposeCommand>) {
    this.#desk = desk;
  }

  act(verb: string, [number = '', value = '', ...more]: readonly string[]): void {
    if (verb !== 'propose') throw unknownVerb(verb, VERBS);
    takesNoMore(verb, more);
    const instance = /^[1-9]\d*$/.test(number) ? Number(number) : NaN;
    if (!Number.isSafeInteger(instance)) throw new TenureError('TENURE_BAD_ARGUMENT', `propose needs an instance from 1, not '${number}'`);
    this.#proposals++;
    this.#desk.record({ kind: 'proposed', instance, value });
    this.#desk.command({ kind: 'propose', instance, value: encoded(value) });
  }

  event(event: ConsensusEvent | FastCtEvent): void {
    const desk = this.#desk;
    if (event.kind === 'lease' && event.isGranted)
      desk.record({ kind: 'allotted', space: 'instances', claim: ++this.#leases, from: event.from, to: event.to });
    if (event.kind !== 'decided') return;
    const { instance } = event;
    const value = decoded(event.value);
    // A member that takes part without a value of its own proposes the empty value.
    if (value === '') desk.record({ kind: 'proposed', instance, value });
    desk.record({ kind: 'decided', instance, value });
  }

  snapshot(): Snapshot {
    return { proposals: this.#proposals, leases: this.#leases };
  }

  restore(snapshot: Snapshot): void {
    const { proposals, leases } = snapshot as unknown as ConsensusActorSnapshot;
    this.#proposals = proposals;
    this.#leases = leases;
  }
}
