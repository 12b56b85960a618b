/** A stage as whoever plays on it sees it, whatever its protocol. */
import type { HistoryRecord, Violation } from '../../check/index.ts';
import type { AnswerRef, MessageRef, StageAction } from './actions.ts';

/** What came of an action, for people, in the order in which it came. */
export interface StageNote {
  readonly kind: 'sent' | 'told' | 'asked' | 'recorded' | 'settled' | 'violation';
  readonly text: string;
  /** In true time. */
  readonly atUs: number;
  readonly record?: HistoryRecord;
}

/** A stage with its protocol's types closed over. */
export interface AnyStage {
  readonly names: readonly string[];
  readonly nowUs: number;
  readonly violations: readonly Violation[];
  /** Messages that can be delivered, oldest first; one with copies is listed once. */
  readonly underWay: readonly MessageRef[];
  startAll(): void;
  do(action: StageAction): readonly StageNote[];
  /** Reads one line and does it. */
  line(text: string): readonly StageNote[];
  parse(text: string): StageAction;
  format(action: StageAction): string;
  describe(message: MessageRef): string;
  /** The oldest message under way with just these bytes. */
  find(from: number, to: number, bytes: Uint8Array): MessageRef | null;
  /** The access that a process calls by this number, and the write to answer it with if it shall find this; a process that is gone is null. Null: there is none. */
  accessOf(node: number, incarnation: number | null, op: number, finding: Uint8Array | null | undefined): AnswerRef | null;
  /** The nodes that hold a resource, by their own clocks. */
  holdersOf(resource: string): readonly number[];
  isUp(node: number): boolean;
  /** Until a node wants to be woken, on its own clock; 0 or less: now. Infinity: it does not, or it is down. */
  wakesInUs(node: number): number;
}
