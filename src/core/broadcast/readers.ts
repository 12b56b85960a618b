/**
 * Readers of the log that wait for its next messages: this process's readers, and clients' readers. Each has asked one question, and is answered once; a reader that wants more asks again, so a slow reader costs a
 * member nothing but its question.
 */
import type { Snapshot } from '../contract.ts';
import { valueBytes, valueText } from '../consensus/values.ts';
import type { MessageLog } from './log.ts';
import { pageOf, type LogPage, type LogQuestion } from './pages.ts';

interface Waiting {
  readonly node: number;
  readonly reader: number;
  /** As it was asked. */
  readonly after: number;
  /** Of the part of the log not yet looked at. */
  question: LogQuestion;
}

/** How a reader is answered. */
export interface ReaderOutlet<S> {
  /** `after` is the reader's own: as it asked. */
  page(node: number, reader: number, after: number, page: LogPage, step: S): void;
  gone(node: number, reader: number, after: number, first: number, step: S): void;
}

export class LogReaders<S> {
  readonly #log: MessageLog;
  readonly #outlet: ReaderOutlet<S>;
  readonly #most: number;
  /** By node and reader; the reader that asked last is at the end. */
  readonly #waiting = new Map<string, Waiting>();

  constructor(log: MessageLog, most: number, outlet: ReaderOutlet<S>) {
    this.#log = log;
    this.#most = most;
    this.#outlet = outlet;
  }

  /** Answers at once, or when there is something; the question replaces an earlier one of the same reader. False if it has to wait. */
  ask(node: number, reader: number, question: LogQuestion, step: S): boolean {
    const key = `${node}/${reader}`;
    this.#waiting.delete(key);
    const waiting = { node, reader, after: question.after, question };
    if (this.#answer(waiting, step)) return true;
    this.#waiting.set(key, waiting);
    if (this.#waiting.size > this.#most) for (const oldest of this.#waiting.keys()) return !this.#waiting.delete(oldest);
    return false;
  }

  forget(node: number, reader: number): void {
    this.#waiting.delete(`${node}/${reader}`);
  }

  /** The log has grown, or begins later. */
  advance(step: S): void {
    for (const [key, waiting] of this.#waiting) if (this.#answer(waiting, step)) this.#waiting.delete(key);
  }

  #answer(waiting: Waiting, step: S): boolean {
    const { node, reader, after, question } = waiting;
    const { firstPosition, position } = this.#log;
    if (question.after + 1 < firstPosition) {
      this.#outlet.gone(node, reader, after, firstPosition, step);
      return true;
    }
    if (question.after >= position) return false;
    const page = pageOf(this.#log, question);
    if (page.pieces.length === 0) {
      // Nothing of its name: it need not look there again.
      waiting.question = { ...question, after: page.upTo };
      return page.upTo < position ? this.#answer(waiting, step) : false;
    }
    this.#outlet.page(node, reader, after, page, step);
    return true;
  }

  snapshot(): Snapshot {
    return [...this.#waiting.values()].map(({ node, reader, after, question: { after: left, name, bytesMax } }) => ({
      node,
      reader,
      after,
      left,
      name: name && valueText(name),
      bytesMax,
    }));
  }

  restore(snapshot: Snapshot): void {
    this.#waiting.clear();
    for (const { node, reader, after, left, name, bytesMax } of snapshot as unknown as readonly WaitingSnapshot[]) {
      const question = { after: left, bytesMax, name: name === null ? null : valueBytes(name) };
      this.#waiting.set(`${node}/${reader}`, { node, reader, after, question });
    }
  }
}

interface WaitingSnapshot {
  readonly node: number;
  readonly reader: number;
  readonly after: number;
  readonly left: number;
  readonly name: string | null;
  readonly bytesMax: number;
}
