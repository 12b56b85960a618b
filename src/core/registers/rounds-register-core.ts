/**
 * Flease's round-based register with both of its sides (F1, Algorithm 1): stores that keep one `RoundsRegister` each,
 * and clients that READ and WRITE over a majority of them, which commits or aborts. The engines ask in their own way;
 * this is the paper's, so that its lemmas R1–R5 can be judged on the register the engines use.
 */
import { ballotTime, compareBallots, NEVER, NO_BALLOT, NOBODY, nodeId, quorumOf, VoterSet } from '../../kernel/index.ts';
import type { BallotTime, Incarnation, MonoUs, NodeId } from '../../kernel/index.ts';
import type { Boot, Core, Sender, Snapshot, Step } from '../contract.ts';
import { RoundsRegister } from './round-based.ts';

export type RoundAction = 'read' | 'write';

/** Of an ackREAD: the last value written at this store, and its ballot; 0 is ⊥. Of a WRITE: `value`. */
export interface RoundsRegisterMessage {
  readonly kind: 'ask' | 'ack' | 'nack';
  readonly action: RoundAction;
  readonly time: BallotTime;
  readonly by: Incarnation;
  readonly written: BallotTime;
  readonly writer: Incarnation;
  readonly value: number;
}

/** The ballot is (`time`, this incarnation). WRITE(k, v) comes after a READ(k) that committed. A new operation gives up the last. */
export type RoundsRegisterCommand =
  | { readonly kind: 'read'; readonly op: number; readonly time: number }
  | { readonly kind: 'write'; readonly op: number; readonly time: number; readonly value: number };

/** `value` is what a READ found, 0 if nothing was ever written. */
export type RoundsRegisterEvent =
  | { readonly kind: 'committed'; readonly op: number; readonly action: RoundAction; readonly value: number }
  | { readonly kind: 'aborted'; readonly op: number; readonly action: RoundAction };

export interface RoundsRegisterConfig {
  /** Nodes from 0 on that store; the others ask. */
  readonly stores: number;
}

export interface RoundsRegisterRules {
  /** A READ below an earlier READ or WRITE is refused. */
  readonly readRefusesLower: boolean;
  /** A READ that was answered is remembered. */
  readonly readIsKept: boolean;
  /** A copy of a READ is answered as the first was. */
  readonly readCopyIsAnswered: boolean;
  /** A copy of a READ is judged like the first: a request in between may refuse it. */
  readonly readCopyIsJudged: boolean;
  /** A WRITE below an earlier READ or WRITE is refused. */
  readonly writeRefusesLower: boolean;
  /** A WRITE is kept with its ballot. */
  readonly writeKeepsBallot: boolean;
  /** A copy of a WRITE is answered as the first was. */
  readonly writeCopyIsAnswered: boolean;
  /** Of what a majority has, the value with the highest ballot is read. */
  readonly readsHighest: boolean;
  /** Stores are counted, not messages. */
  readonly distinctStores: boolean;
  /** One refusal aborts. */
  readonly nackAborts: boolean;
  /** A store that has forgotten everything answers no request: the paper's stores do not come back. */
  readonly restartedIsSilent: boolean;
}

export const ALL_ROUNDS_REGISTER_RULES: RoundsRegisterRules = {
  readRefusesLower: true,
  readIsKept: true,
  readCopyIsAnswered: true,
  readCopyIsJudged: true,
  writeRefusesLower: true,
  writeKeepsBallot: true,
  writeCopyIsAnswered: true,
  readsHighest: true,
  distinctStores: true,
  nackAborts: true,
  restartedIsSilent: true,
};

type RegisterStep = Step<RoundsRegisterMessage, RoundsRegisterEvent>;

/** The operation under way. */
interface Operation {
  readonly op: number;
  readonly action: RoundAction;
  readonly time: BallotTime;
  answers: number;
  isRefused: boolean;
  /** Of the answers so far. */
  written: BallotTime;
  writer: Incarnation;
  value: number;
}

export class RoundsRegisterCore implements Core<RoundsRegisterMessage, RoundsRegisterCommand, RoundsRegisterEvent> {
  readonly wakeAt: MonoUs = NEVER;
  readonly #stores: number;
  readonly #incarnation: Incarnation;
  readonly #rules: RoundsRegisterRules;
  readonly #register: RoundsRegister<number> | null;
  readonly #heard = new VoterSet();
  #operation: Operation | null = null;
  /** READs that were answered, by ballot. Only a mutant remembers them. */
  #answered: string[] = [];

  constructor(
    { stores }: RoundsRegisterConfig,
    { self, incarnation, restarted }: Boot,
    rules: RoundsRegisterRules = ALL_ROUNDS_REGISTER_RULES,
  ) {
    this.#stores = stores;
    this.#incarnation = incarnation;
    this.#rules = rules;
    this.#register = self < stores && !(restarted && rules.restartedIsSilent) ? new RoundsRegister() : null;
  }

  start(): void {}
  wake(): void {}
  completed(): void {}

  // ── Asking ─────────────────────────────────────────────────────────────────────────────────────────

  command(command: RoundsRegisterCommand, step: RegisterStep): void {
    const { kind: action, op } = command;
    const time = ballotTime(command.time);
    this.#heard.clear();
    this.#operation = { op, action, time, answers: 0, isRefused: false, written: NO_BALLOT, writer: NOBODY, value: 0 };
    const value = command.kind === 'write' ? command.value : 0;
    const message = { kind: 'ask', action, time, by: this.#incarnation, written: NO_BALLOT, writer: NOBODY, value } as const;
    for (let store = 0; store < this.#stores; store++) step.send(nodeId(store), message);
  }

  /** An asker speaks in its own name; only stores answer. */
  admits({ node, incarnation }: Sender, { kind, by }: RoundsRegisterMessage): boolean {
    return kind === 'ask' ? by === incarnation : node < this.#stores;
  }

  receive(from: NodeId, message: RoundsRegisterMessage, step: RegisterStep): void {
    if (message.kind === 'ask') this.#serve(from, message, step);
    else if (message.by === this.#incarnation) this.#hear(from, message, step);
  }

  /** Waits for a majority; one refusal among its answers aborts. */
  #hear(from: NodeId, { kind, action, time, written, writer, value }: RoundsRegisterMessage, step: RegisterStep): void {
    const operation = this.#operation;
    const { distinctStores, nackAborts, readsHighest } = this.#rules;
    if (operation === null || operation.action !== action || operation.time !== time) return;
    if (!this.#heard.add(from) && distinctStores) return;
    operation.answers++;
    if (kind === 'nack' && nackAborts) operation.isRefused = true;
    const isFirst = operation.answers === 1;
    if (readsHighest ? compareBallots(written, writer, operation.written, operation.writer) > 0 : isFirst) {
      Object.assign(operation, { written, writer, value });
    }
    if (operation.answers < quorumOf(this.#stores)) return;
    this.#operation = null;
    this.#heard.clear();
    const { op } = operation;
    step.emit(operation.isRefused ? { kind: 'aborted', op, action } : { kind: 'committed', op, action, value: operation.value });
  }

  // ── Storing ────────────────────────────────────────────────────────────────────────────────────────

  #serve(from: NodeId, message: RoundsRegisterMessage, step: RegisterStep): void {
    const register = this.#register;
    if (register === null) return;
    const { writeTime: written, writeBy: writer, value } = register;
    const { action } = message;
    const isDone = action === 'read' ? this.#read(register, message) : this.#write(register, message);
    const found = action === 'read' && isDone ? { written, writer, value: value ?? 0 } : { written: NO_BALLOT, writer: NOBODY, value: 0 };
    step.send(from, { ...message, ...found, kind: isDone ? 'ack' : 'nack' });
  }

  #read(register: RoundsRegister<number>, { time, by }: RoundsRegisterMessage): boolean {
    const { readRefusesLower, readIsKept, readCopyIsAnswered, readCopyIsJudged } = this.#rules;
    const { readTime, readBy } = register;
    if (!readCopyIsAnswered && compareBallots(readTime, readBy, time, by) === 0) return false;
    const isDone = register.read(time, by, compareBallots);
    if (!readCopyIsJudged) {
      if (this.#answered.includes(`${time}.${by}`)) return true;
      if (isDone) this.#answered = [...this.#answered, `${time}.${by}`].sort();
    }
    if (!readIsKept) Object.assign(register, { readTime, readBy });
    return isDone || !readRefusesLower;
  }

  #write(register: RoundsRegister<number>, { time, by, value }: RoundsRegisterMessage): boolean {
    const { writeRefusesLower, writeKeepsBallot, writeCopyIsAnswered } = this.#rules;
    const { writeTime, writeBy } = register;
    if (!writeCopyIsAnswered && compareBallots(writeTime, writeBy, time, by) === 0) return false;
    if (!register.mayWrite(time, by, compareBallots) && writeRefusesLower) return false;
    register.write(time, by, value);
    if (!writeKeepsBallot) Object.assign(register, { writeTime, writeBy });
    return true;
  }

  // ── Snapshots ──────────────────────────────────────────────────────────────────────────────────────

  snapshot(): Snapshot {
    const register = this.#register;
    return {
      register: register && [register.readTime, register.readBy, register.writeTime, register.writeBy, register.value],
      operation: this.#operation && { ...this.#operation },
      heard: this.#heard.toArray(),
      answered: [...this.#answered],
    };
  }

  restore(snapshot: Snapshot): void {
    const { register, operation, heard, answered } = snapshot as unknown as {
      register: [BallotTime, Incarnation, BallotTime, Incarnation, number | null] | null;
      operation: Operation | null;
      heard: readonly number[];
      answered: readonly string[];
    };
    if (register !== null && this.#register !== null) {
      const [readTime, readBy, writeTime, writeBy, value] = register;
      Object.assign(this.#register, { readTime, readBy, writeTime, writeBy, value });
    }
    this.#operation = operation && { ...operation };
    this.#heard.clear();
    for (const store of heard) this.#heard.add(store);
    this.#answered = [...answered];
  }
}
