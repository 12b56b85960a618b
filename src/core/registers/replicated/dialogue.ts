/** What callers say to registers over several units, and what they hear. */
import type { Step } from '../../contract.ts';
import type { Stamp } from './contents.ts';
import type { UnitStanding } from './unit-tasks.ts';

/** `op` is the caller's number, not used before in this incarnation. Of a rank the caller gives the count: it is above those it gave before, for this register. */
export type UnitsCommand =
  | { readonly kind: 'read'; readonly op: number; readonly name: string }
  /** The register at a place that `listed` told without its name. */
  | { readonly kind: 'resolve'; readonly op: number; readonly place: string }
  | { readonly kind: 'write'; readonly op: number; readonly name: string; readonly value: Uint8Array | null }
  | { readonly kind: 'list'; readonly op: number; readonly prefix: string }
  | { readonly kind: 'rank-read'; readonly op: number; readonly name: string; readonly count: number }
  | { readonly kind: 'rank-write'; readonly op: number; readonly name: string; readonly count: number; readonly value: Uint8Array }
  | { readonly kind: 'decide'; readonly op: number; readonly name: string; readonly value: Uint8Array }
  /** Whether this process leads, as the oracle sees it. */
  | { readonly kind: 'lead'; readonly isLeader: boolean }
  /** `identity` was never used before. */
  | { readonly kind: 'repair'; readonly op: number; readonly unit: number; readonly identity: number }
  /** The unit is used in this epoch from here on. */
  | { readonly kind: 'epoch'; readonly unit: number; readonly epoch: Uint8Array }
  /** Asks every unit which it is. */
  | { readonly kind: 'look'; readonly op: number }
  | { readonly kind: 'abandon'; readonly op: number };

export type UnitsEvent =
  | { readonly kind: 'found'; readonly op: number; readonly value: Uint8Array | null; readonly name: string | null }
  /** From here on the units may have the write. */
  | { readonly kind: 'leaving'; readonly op: number }
  | { readonly kind: 'written'; readonly op: number }
  /** `places`: registers with long names, which their contents tell. Registers that were erased are among both. */
  | { readonly kind: 'listed'; readonly op: number; readonly names: readonly string[]; readonly places: readonly string[] }
  | { readonly kind: 'rank-found'; readonly op: number; readonly rank: Stamp | null; readonly value: Uint8Array | null }
  | { readonly kind: 'committed'; readonly op: number }
  | { readonly kind: 'aborted'; readonly op: number; readonly above: Stamp }
  | { readonly kind: 'decided'; readonly op: number; readonly value: Uint8Array }
  | { readonly kind: 'repaired'; readonly op: number; readonly registers: number }
  | { readonly kind: 'not-repaired'; readonly op: number }
  /** Every unit was asked; `standing` told what each said. */
  | { readonly kind: 'looked'; readonly op: number }
  /** A unit counts from here on, or no longer. */
  | { readonly kind: 'standing'; readonly unit: number; readonly standing: UnitStanding };

export type UnitsStep = Step<never, UnitsEvent>;
