/**
 * What a lease service needs of the engine that grants its leases. There is no word of members, connections or a
 * handshake here: those are the business of cells, and an engine on shared storage has none.
 */
import type { LeaseCommand, Timing } from '../../core/index.ts';
import { TenureError, type MonoUs, type WallUs } from '../../kernel/index.ts';

/** What not every engine can do for its leases. */
export interface LeaseAbilities {
  /** Waiters are served in order, and are told when they stand in line. */
  readonly ordered: boolean;
  /** Leases are renewed, and so may say something else of themselves. */
  readonly renew: boolean;
  /** Leases are given back as of a later time. */
  readonly releaseLater: boolean;
  /** Leases end at a limit of their own, or when their holder is asked and does not say to go on. */
  readonly endEarly: boolean;
  /** Any number of readers may hold a name together. */
  readonly shared: boolean;
  /** Readers become the only one, and the other way round. */
  readonly changeMode: boolean;
  /** A lease is handed over to a waiter, and callers can list the waiters. */
  readonly handOver: boolean;
  /** A name may have several slots, each held by one. */
  readonly slots: boolean;
  /** Of any prefix, of one name only, or not at all. */
  readonly watch: 'prefix' | 'name' | 'none';
  readonly list: boolean;
}

export interface LeaseEngine {
  readonly name: string;
  /** What grants its leases, if that is not "the engine" of this name, and what to do if it cannot do something. */
  readonly granter?: string;
  readonly other?: string;
  readonly timing: Pick<Timing, 'maxTermUs' | 'attemptUs'>;
  readonly can: LeaseAbilities;
}

/** The driver of the engine's core, as far as leases need it. */
export interface LeaseDriver {
  /** Throws what the core says of a bad argument. */
  command(command: LeaseCommand): void;
  readonly isStopped: boolean;
  /** The instant of the step whose events are told. */
  readonly monoUs: number;
}

export interface LeaseCore {
  /** How long a lease may still be acted under; 0 when it is not held. */
  remainingUs(lease: number, name: Uint8Array, mono: MonoUs, wall: WallUs): number;
}

/** What a caller may miss in an engine. Commands have words of their own for what to do instead. */
type Missing =
  | 'list'
  | 'watch'
  | 'watch of a prefix'
  | 'bootstrap'
  | 'changeMembers'
  | 'dataDir'
  | 'renew'
  | 'releaseLater'
  | 'maxHold'
  | 'renewWhile'
  | 'shared'
  | 'changeMode'
  | 'handOver'
  | 'slots'
  | 'sync';

/** `what` is the missing ability, `instead` the advice. */
export function unsupportedByEngine(
  { name: engine, granter = `the engine '${engine}'`, other = 'choose another engine' }: Pick<LeaseEngine, 'name' | 'granter' | 'other'>,
  missing: Missing,
  what: string,
  instead: string,
): TenureError {
  const details = { engine, missing, what };
  return new TenureError('TENURE_UNSUPPORTED', `${granter} ${what}: ${instead}, or ${other}`, details);
}
