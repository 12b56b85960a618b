/** Interval leases on a stage: members a, b, … with disks, clients p, q, …. All may claim. Worlds as settings, commands as lines, and back. */
import { TenureError } from '../../../kernel/index.ts';
import type { IntervalCommand, IntervalEvent, IntervalLeaseCore, Snapshot } from '../../../core/index.ts';
import type { Desk, Scenario } from '../../protocol.ts';
import type { TapeToScript } from '../../shrink/tape-to-script.ts';
import { formatSpan } from '../../stage/actions.ts';
import { settingCount, settingSpanUs, settingWord } from '../../stage/settings.ts';
import { calmScenario, type Actor, type Settings, type Staging } from '../../stage/staging.ts';
import { ASKER_NAMES, shortName, takesNoMore, unknownVerb, VOTER_NAMES } from '../../stage/words.ts';
import type { Said } from '../../tape.ts';
import { Claimer, type MadeClaim } from './claimer.ts';
import type { ClaimHabits, IntervalWorld } from './worlds.ts';

/** `patience`: a round trip, as clients take it. `reason`: for what a claim may be refused. `places` and `page`: how many a disk has at first, and a page of a copy. */
const DEFAULTS: Settings = {
  members: '3',
  clients: '2',
  rtt: '10ms',
  patience: '10ms',
  variant: 'product',
  reason: 'granted-or-open',
  places: '16',
  page: '256',
};

const VERBS = [
  'claim NODE SPACE FROM TO',
  'next NODE SPACE SIZE',
  'call-off NODE SPACE ("lease N": the Nth claim of the node, instead of its last of that space)',
  'bootstrap NODE SPAN',
];

const NO_HABITS: ClaimHabits = {
  spaces: [],
  livenessUs: 0,
  pauseUsMax: 1,
  atOnce: 0,
  blockEvery: 0,
  callOffEvery: 0,
  block: 1,
  strays: false,
  room: 0,
  everythingEvery: 0,
};

export const intervalStaging: Staging<IntervalCommand, IntervalEvent, IntervalWorld, IntervalLeaseCore> = {
  defaults: DEFAULTS,
  verbs: VERBS,

  scenario(settings: Settings): Scenario<IntervalWorld> {
    const members = settingCount(settings, 'members', 1, VOTER_NAMES.length);
    const nodes = members + settingCount(settings, 'clients', 0, ASKER_NAMES.length);
    return calmScenario<IntervalWorld>(nodes, 1_000_000, {
      core: {
        members,
        rttUs: settingSpanUs(settings, 'rtt'),
        variant: settingWord<'product' | 'literal'>(settings, 'variant', ['product', 'literal']),
        placesMin: settingCount(settings, 'places', 1, 1024),
        piecesPerPage: settingCount(settings, 'page', 1, 4096),
      },
      clientRttUs: settingSpanUs(settings, 'patience'),
      reason: settingWord(settings, 'reason', ['granted-or-open', 'ever-claimed']),
      membersClaim: true,
      habits: NO_HABITS,
    });
  },

  nodeName: ({ config }: Scenario<IntervalWorld>, node: number): string => shortName(config.core.members, node),
  actor: (_scenario: Scenario<IntervalWorld>, _core: IntervalLeaseCore, desk: Desk<IntervalCommand>): IntervalActor =>
    new IntervalActor(desk),
};

export const intervalTapeToScript: TapeToScript<IntervalCommand, IntervalWorld> = {
  settings: ({ nodes, config }: Scenario<IntervalWorld>): Settings => ({
    members: String(config.core.members),
    clients: String(nodes - config.core.members),
    rtt: formatSpan(config.core.rttUs),
    patience: formatSpan(config.clientRttUs),
    variant: config.core.variant ?? 'product',
    reason: config.reason,
    places: String(config.core.placesMin ?? DEFAULTS['places']),
    page: String(config.core.piecesPerPage ?? DEFAULTS['page']),
  }),
  spares: ['clients'],
  say,
  // A claim waits as long as it takes, whichever node makes it.
  insist: ({ verb, words }: { verb: string; words: readonly string[] }): { verb: string; words: readonly string[] } | null =>
    verb === 'claim' || verb === 'next' ? { verb, words } : null,
  use: (): null => null,
};

function say(command: IntervalCommand): Said | null {
  switch (command.kind) {
    case 'claim':
      return { verb: 'claim', words: [command.space, String(command.from), String(command.to)], asks: command.claim };
    case 'next':
      return { verb: 'next', words: [command.space, String(command.size)], asks: command.claim };
    case 'call-off':
      return { verb: 'call-off', words: ['-'], about: command.claim };
    case 'bootstrap':
      return { verb: 'bootstrap', words: [formatSpan(command.waitUs)] };
    default:
      return null;
  }
}

export interface IntervalActorSnapshot {
  readonly count: number;
  readonly made: readonly MadeClaim[];
}

class IntervalActor implements Actor<IntervalEvent> {
  readonly #desk: Desk<IntervalCommand>;
  readonly #claimer: Claimer;

  constructor(desk: Desk<IntervalCommand>) {
    this.#desk = desk;
    this.#claimer = new Claimer(desk);
  }

  act(verb: string, words: readonly string[]): void {
    const [space = '', ...rest] = words;
    switch (verb) {
      case 'claim':
        takesNoMore(verb, rest.slice(2));
        this.#claimer.claim(space, integer(verb, rest[0]), integer(verb, rest[1]));
        return;
      case 'next':
        takesNoMore(verb, rest.slice(1));
        this.#claimer.next(space, integer(verb, rest[0]));
        return;
      case 'call-off':
        this.#claimer.callOff(this.#numberOf(space, rest));
        return;
      case 'bootstrap':
        takesNoMore(verb, rest);
        this.#desk.command({ kind: 'bootstrap', waitUs: settingSpanUs({ span: space }, 'span') });
        return;
      default:
        throw unknownVerb(verb, VERBS);
    }
  }

  #numberOf(space: string, [word, number, ...more]: readonly string[]): number {
    takesNoMore('call-off', more);
    if (word === 'lease') return integer('call-off', number);
    takesNoMore('call-off', word === undefined ? [] : [word]);
    const last = [...this.#claimer.made.values()].findLast((made) => made.space === space);
    if (last) return last.claim;
    throw new TenureError('TENURE_BAD_ARGUMENT', `there is no claim of '${space}' to call off`);
  }

  event(event: IntervalEvent): void {
    if (event.kind === 'disk' && event.phase === 'ready' && event.generation > 1)
      this.#desk.record({ kind: 'rejoined', generation: event.generation });
    this.#claimer.hear(event);
  }

  snapshot(): Snapshot {
    return { count: this.#claimer.count, made: [...this.#claimer.made.values()].map((made) => ({ ...made })) };
  }

  restore(snapshot: Snapshot): void {
    const { count, made } = snapshot as unknown as IntervalActorSnapshot;
    this.#claimer.count = count;
    for (const claim of made) this.#claimer.made.set(claim.claim, { ...claim });
  }
}

function integer(verb: string, word: string | undefined): number {
  const number = /^\d+$/.test(word ?? '') ? Number(word) : NaN;
  if (Number.isSafeInteger(number)) return number;
  throw new TenureError('TENURE_BAD_ARGUMENT', `${verb} needs an integer from 0, not '${word ?? ''}'`);
}
