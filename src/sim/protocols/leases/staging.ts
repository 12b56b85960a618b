/** What the stages of all lease engines share: who votes, how long messages take, and how a run of the simulator is told there. */
import type { LeaseCommand } from '../../../core/index.ts';
import type { Scenario } from '../../protocol.ts';
import type { Said, TapeToScript } from '../../shrink/tape-to-script.ts';
import type { Ways } from '../../stage/actions.ts';
import { settingCount } from '../../stage/settings.ts';
import type { Settings } from '../../stage/staging.ts';
import { sayLease } from './actor.ts';
import type { QuorumHabits } from './user.ts';

/** What the worlds of lease engines have in common. */
interface LeaseWorld {
  readonly core: { readonly timing: { readonly rttUs: number } };
  readonly habits: QuorumHabits;
  readonly handles: readonly number[];
}

export function latencyUs({ config }: Scenario<LeaseWorld>): number {
  return Math.ceil(config.core.timing.rttUs / 2);
}

/** How many members vote on each name. */
export function votersIn(settings: Settings, members: number): number {
  return settingCount(settings, 'voters', 0, members) || members;
}

export function votersText(replication: number | undefined, members: number): string {
  return String(replication === undefined || replication === members ? 0 : replication);
}

export const leaseTapeToScript: Omit<TapeToScript<LeaseCommand, LeaseWorld>, 'settings'> = {
  say: sayLease,
  insist: (command: LeaseCommand, forUs: number): Said | null =>
    command.kind === 'acquire' ? sayLease({ ...command, waitUs: forUs }) : null,
  ways: ({ config }: Scenario<LeaseWorld>): Ways[] => waysOf(config.habits),
  users: ({ config }: Scenario<LeaseWorld>, node: number): number => config.handles[node] ?? 0,
  use: (resource: string, request: number): Said => ({ verb: 'use', words: [resource], about: request }),
};

/** A handle keeps what it gets for a moment, or through some renewals; refused, it asks again a twentieth of a term later. */
function waysOf({ maxTermUs, rush, brief }: QuorumHabits): Ways[] {
  const askAgainUs = Math.floor(maxTermUs / 20);
  const spans = rush || brief ? [0] : [maxTermUs / 4, maxTermUs * 2];
  return spans.map((span) => ({ giveBackUs: Math.floor(span), askAgainUs }));
}
