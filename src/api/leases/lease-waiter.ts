/** A waiter for a name, as callers are told. */
import type { LeaseMode } from '../../kernel/index.ts';

/** A request of some process that waits for a name. */
export interface LeaseWaiter {
  /** Which start of which process. */
  readonly incarnation: number;
  /** Of its requests, which one. */
  readonly request: number;
  readonly mode: LeaseMode;
  /** It waits for any of so many slots. */
  readonly slots?: number;
}
