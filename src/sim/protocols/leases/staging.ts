/** The common part of the stages of all lease engines: the voters, the latency of messages, and how a run of the simulator is told there. */
import { spanUs } from '../../../kernel/index.ts';
import { stretch, type LeaseCommand } from '../../../core/index.ts';
import type { Scenario } from '../../protocol.ts';
import type { TapeToScript } from '../../shrink/tape-to-script.ts';
import { formatSpan, type Ways } from '../../stage/actions.ts';
import { settingCount, settingPpm, settingSpanUs } from '../../stage/settings.ts';
import type { Settings } from '../../stage/staging.ts';
import { ASKER_NAMES, VOTER_NAMES } from '../../stage/words.ts';
import type { Said } from '../../tape.ts';
import { sayLease } from './actor.ts';
import { memberKeysOf } from './habits.ts';
import type { QuorumHabits } from './habits.ts';

type Line = Pick<Said, 'verb' | 'words'>;

/** What the worlds of lease engines have in common. */
interface LeaseWorld {
  readonly members: number;
  readonly core: {
    readonly replication?: number;
    readonly timing: { readonly maxTermUs: number; readonly rttUs: number; readonly rateErrorPpm: number };
  };
  readonly habits: QuorumHabits;
  readonly handles: readonly number[];
}

/** What every actor of a lease engine can be told, and what an engine adds. */
export function leaseVerbs({ release, more = [] }: { readonly release: string; readonly more?: readonly string[] }): readonly string[] {
  return [
    'acquire NODE NAME TERM [wait SPAN] [keep] [saying TEXT]',
    'renew NODE NAME [TERM]',
    release,
    'cancel NODE NAME',
    'use NODE NAME',
    'query NODE NAME',
    'proclaim NODE NAME TEXT',
    'retime NODE SPAN',
    'paces NODE fine|fast|slow [MEMBER NUMBERS]',
    ...more,
    '(renew, release, cancel, use and proclaim take "lease N": the Nth acquire of the node, instead of its last of that name)',
  ];
}

export function latencyUs({ config }: Scenario<LeaseWorld>): number {
  return Math.ceil(config.core.timing.rttUs / 2);
}

/** What the settings of every lease engine say. */
export interface LeaseCell {
  readonly members: number;
  readonly nodes: number;
  readonly memberKeys: readonly number[];
  /** How many members vote on each name. */
  readonly replication: number;
  readonly maxTermUs: number;
  readonly rttUs: number;
  readonly rateErrorPpm: number;
}

/** An attempt of 0 is whatever the engine derives from the round trip; 0 voters are all acceptors. */
export const LEASE_DEFAULTS: Settings = {
  acceptors: '3',
  proposers: '2',
  voters: '0',
  term: '3s',
  rtt: '2ms',
  rate: '0ppm',
  attempt: '0s',
  fencing: 'yes',
};

export function leaseCell(settings: Settings): LeaseCell {
  const members = settingCount(settings, 'acceptors', 1, VOTER_NAMES.length);
  return {
    members,
    nodes: members + settingCount(settings, 'proposers', 0, ASKER_NAMES.length),
    memberKeys: memberKeysOf(members),
    replication: settingCount(settings, 'voters', 0, members) || members,
    maxTermUs: settingSpanUs(settings, 'term'),
    rttUs: settingSpanUs(settings, 'rtt'),
    rateErrorPpm: settingPpm(settings, 'rate'),
  };
}

/** With the attempts that the settings ask for, if they do. */
export function withAttempts<Timing extends { readonly rateErrorPpm: number }>(timing: Timing, settings: Settings): Timing {
  const attemptUs = settingSpanUs(settings, 'attempt');
  return attemptUs === 0 ? timing : { ...timing, attemptUs: spanUs(attemptUs), promiseUs: stretch(attemptUs, timing.rateErrorPpm) };
}

export function leaseCellSettings({ nodes, config }: Scenario<LeaseWorld>): Settings {
  const { members, core } = config;
  const { maxTermUs, rttUs, rateErrorPpm } = core.timing;
  return {
    acceptors: String(members),
    proposers: String(nodes - members),
    voters: String(core.replication === undefined || core.replication === members ? 0 : core.replication),
    term: formatSpan(maxTermUs),
    rtt: formatSpan(rttUs),
    rate: `${rateErrorPpm}ppm`,
  };
}

export const leaseTapeToScript: Omit<TapeToScript<LeaseCommand, LeaseWorld>, 'settings'> = {
  spares: ['proposers'],
  say: sayLease,
  insist({ verb, words }: Line, forUs: number): Line | null {
    const [name = '', term = '', ...rest] = words;
    const others = rest[0] === 'wait' ? rest.slice(2) : rest;
    return verb === 'acquire' ? { verb, words: [name, term, 'wait', formatSpan(forUs), ...others] } : null;
  },
  ways: ({ config }: Scenario<LeaseWorld>): Ways[] => waysOf(config.habits),
  users: ({ config }: Scenario<LeaseWorld>, node: number): number => config.handles[node] ?? 0,
  use: (resource: string, request: number): Said => ({ verb: 'use', words: [resource], about: request }),
};

/** A handle keeps its lease for a moment, or through some renewals; refused, it asks again a twentieth of a term later. */
function waysOf({ maxTermUs, rush, brief }: QuorumHabits): Ways[] {
  const askAgainUs = Math.floor(maxTermUs / 20);
  const spans = rush || brief ? [0] : [maxTermUs / 4, maxTermUs * 2];
  return spans.map((span) => ({ giveBackUs: Math.floor(span), askAgainUs }));
}
