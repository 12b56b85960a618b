/** The states of a cell as one process sees it, what they follow from, and the events a cell emits. */
import { quorumOf, type TenureError } from '../../kernel/index.ts';
import type { CellView } from './told-view.ts';

/**
 * `silent`: this member gives no vote yet. `ready`: all members are connected. `degraded`:
 * a majority, but not all. `no-quorum`: fewer, or this node has failed, or its clock's rate is off; nothing can be acquired or renewed.
 */
export type CellState = 'silent' | 'ready' | 'degraded' | 'no-quorum';

export interface CellEvents {
  state: [state: CellState];
  /** A peer that could not be trusted or understood, or keeps to something else than the others. */
  refused: [who: string, error: TenureError];
  /** The cell is in another view: other members, or other terms. */
  view: [view: CellView];
  /** Something will go wrong unless it is changed; its code says what. */
  warning: [warning: TenureError];
  /**
   * It fell silent: it broke one of its own rules, its disk failed, another process has taken its place, or a majority keeps to something else than
   * what this client was told. Where `details.service` names a service, only that one did, and leases and the others go on.
   */
  failure: [error: TenureError];
}

/** What the state follows from. */
interface Condition {
  /** It runs, and nothing keeps it from acquiring. */
  readonly isWell: boolean;
  readonly isSilent: boolean;
  /** Members that are connected, this one included. */
  readonly connected: number;
  readonly members: number;
}

export function stateOf({ isWell, isSilent, connected, members }: Condition): CellState {
  if (!isWell || connected < quorumOf(members)) return 'no-quorum';
  if (isSilent) return 'silent';
  return connected < members ? 'degraded' : 'ready';
}

/** A listener that throws must not keep the cell from its work: it would lose connections and timers over it. */
export function announce(emit: () => void): void {
  try {
    emit();
  } catch (thrown) {
    process.emitWarning(thrown instanceof Error ? thrown : String(thrown));
  }
}
