/**
 * What `tenure run` tells its guards. Each order is complete and replaces the last, so a guard that was started anew
 * needs no more than the last. Instants are absolute: an order that was read late ends
 * nothing later.
 */
export interface Order {
  /** The guard answers with it. */
  readonly number: number;
  /** The group to kill, and when its leader was started. */
  readonly group: number;
  readonly born: string | null;
  /** The folder of the command's cgroup, if it has one. */
  readonly cgroup: string | null;
  /** When to kill, on the monotonic clock of this machine and on its wall clock; the earlier counts. */
  readonly killAtMonoMs: number;
  readonly killAtWallMs: number;
  readonly graceMs: number;
  /** What tells the command to stop. */
  readonly signal: NodeJS.Signals;
  /** It was told already. */
  readonly isTold: boolean;
}

/** `tenure run` tells the command to stop; the switch does so only if it has not for so long. */
const AFTER_YOU_MS = 250;

/** So long before it kills, the switch tells the command to stop. */
export function tellsBeforeMs(graceMs: number): number {
  return graceMs - Math.min(AFTER_YOU_MS, graceMs / 4);
}

/** A guard's word before it tells the command to stop, or kills it. A process that sees the command end has then heard it. */
export const ACTS = 'acts';

/** How a guard ends that had to kill. */
export const FIRED = 3;

/** The monotonic clock of the machine: all its processes count from the same instant, unlike with `performance.now()`. */
export function machineMonoMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}
