/**
 * Promises of one acceptor: which proposer it will hear next on a name. They are about contention, not about
 * safety (rule 2 is), so each ends by itself, with the attempt it was made to.
 */
import { compareBallots, monoAfter, type BallotTime, type Incarnation, type MonoUs, type SpanUs } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { DueHeap, type NameTable } from '../../tables/index.ts';
import type { QuorumStep } from './config.ts';
import type { QuorumMessage } from './messages.ts';
import { internText, namesInOrder } from '../snapshots.ts';

/** This role's bit in the name table. */
const PROMISE_ROLE = 16;

interface Promised {
  readonly ballot: BallotTime;
  readonly owner: Incarnation;
  readonly until: MonoUs;
}

export class Promises {
  readonly #names: NameTable;
  /** How long a promise stands: not for ever, as in the paper. */
  readonly #standsUs: SpanUs;
  readonly #promises = new Map<number, Promised>();
  readonly #due = new DueHeap();

  constructor(names: NameTable, standsUs: SpanUs) {
    this.#names = names;
    this.#standsUs = standsUs;
  }

  get wakeAt(): MonoUs {
    return this.#due.nextAt;
  }

  make(message: QuorumMessage, step: QuorumStep): void {
    const id = this.#names.intern(message.name, message.nameStart, message.nameEnd);
    this.#names.retain(id, PROMISE_ROLE);
    this.#keep(id, { ballot: message.ballot, owner: message.owner, until: monoAfter(step.monoUs, this.#standsUs) });
  }

  /** A higher ballot was promised the name. */
  blocks(id: number, message: QuorumMessage, step: QuorumStep): boolean {
    const promise = this.#live(id, step);
    return promise !== null && compareBallots(message.ballot, message.owner, promise.ballot, promise.owner) < 0;
  }

  /** Whether a live promise is another process's, whatever the ballot. */
  isToAnother(id: number, message: QuorumMessage, step: QuorumStep): boolean {
    const promise = this.#live(id, step);
    return promise !== null && promise.owner !== message.owner;
  }

  wake(step: QuorumStep): void {
    for (let id = this.#due.take(step.monoUs); id >= 0; id = this.#due.take(step.monoUs)) {
      const promise = this.#promises.get(id);
      if (!promise || promise.until > step.monoUs) continue;
      this.#promises.delete(id);
      this.#names.drop(id, PROMISE_ROLE);
    }
  }

  #live(id: number, step: QuorumStep): Promised | null {
    const promise = this.#promises.get(id);
    return promise && step.monoUs < promise.until ? promise : null;
  }

  #keep(id: number, promise: Promised): void {
    this.#promises.set(id, promise);
    this.#due.push(promise.until, id);
  }

  snapshot(): Snapshot {
    return namesInOrder(this.#names, (id) => this.#promises.has(id)).map(({ id, text }) => {
      const { ballot, owner, until } = this.#promises.get(id) as Promised;
      return [text, ballot, owner, until];
    });
  }

  restore(snapshot: Snapshot): void {
    for (const [text, ballot, owner, until] of snapshot as unknown as [string, BallotTime, Incarnation, MonoUs][]) {
      const id = internText(this.#names, text);
      this.#names.retain(id, PROMISE_ROLE);
      this.#keep(id, { ballot, owner, until });
    }
  }
}
