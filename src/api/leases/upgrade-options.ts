/** How a reader asks to be the only one. */
import type { Duration } from '../../kernel/index.ts';

export interface UpgradeOptions {
  /** How long to wait for other readers to let go; without it, as long as it takes. 0 asks once. */
  readonly wait?: Duration;
  readonly signal?: AbortSignal;
}
