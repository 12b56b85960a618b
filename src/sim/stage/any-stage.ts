/** The face of a stage for scripts, shrinking and the explorer, the same for all protocols. */
import type { UnitId } from '../../core/index.ts';
import type { HistoryRecord, Violation } from '../../check/index.ts';
import type { AccessRequest } from '../registers.ts';
import type { AccessRef, AnswerRef, MessageRef, ProcessAccess, StageAction } from './actions.ts';

/** One thing that came of an action. */
export type StageOutcome =
  | { readonly kind: 'sent'; readonly message: MessageRef; readonly text: string }
  /** A core told its application something. */
  | { readonly kind: 'told'; readonly node: number; readonly text: string }
  | ({ readonly kind: 'asked'; readonly action: AccessRequest['action']; readonly key: string; readonly unit: UnitId } & AccessRef)
  | { readonly kind: 'recorded'; readonly record: HistoryRecord }
  /** How it went while all went well. */
  | { readonly kind: 'settled'; readonly text: string }
  | { readonly kind: 'violation'; readonly violation: Violation };

/** What came of an action, in the order in which it came, at an instant of true time. */
export type StageNote = StageOutcome & { readonly atUs: number };

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
  /** This access, and the change to answer it with if it shall find a record like this. Null: there is none. */
  accessOf(access: AccessRef<ProcessAccess>, finding: Uint8Array | null | undefined): AnswerRef | null;
  /** The nodes that hold a resource, by their own clocks. */
  holdersOf(resource: string): readonly number[];
  isUp(node: number): boolean;
  /** Until a node wants to be woken, on its own clock; 0 or less: now. Infinity: it does not, or it is down. */
  wakesInUs(node: number): number;
}
