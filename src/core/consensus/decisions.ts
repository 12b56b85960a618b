/**
 * The decisions that a member knows: all up to `upTo`, and some after it. The last `kept` are there for members that are behind; older decisions are gone, and so are decisions that
 * this member has skipped itself: a member that asks for one is told so, since it may be asking the last member that could have told.
 */
import { invariant } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import type { ConsensusMessage, InstanceMessage } from './messages.ts';
import { valueBytes, valueText } from './values.ts';

export interface Decision {
  readonly round: number;
  readonly value: Uint8Array;
}

/** So many decisions are told to a member that is behind, at a time. */
const TOLD_AT_ONCE = 8;

export class Decisions {
  readonly #kept: number;
  readonly #known = new Map<number, Decision>();
  #upTo = 0;
  /** Decisions below this one are gone already. */
  #low = 1;
  /** Up to here decisions were skipped. */
  #skipped = 0;

  constructor(kept: number) {
    this.#kept = kept;
  }

  /** This instance and all before it are decided. */
  get upTo(): number {
    return this.#upTo;
  }

  /** The first instance whose decision can still be told, and all after it up to `upTo`. */
  get firstKept(): number {
    return Math.max(this.#skipped, this.#upTo - this.#kept, 0) + 1;
  }

  isDecided(instance: number): boolean {
    return instance <= this.#upTo || this.#known.has(instance);
  }

  /** Null if it is not known how, or not any more. */
  get(instance: number): Decision | null {
    return this.#known.get(instance) ?? null;
  }

  /** A member that has decided answers anything with the decision; to a member that asks for it, the next ones are told as well. */
  answersTo(message: InstanceMessage): ConsensusMessage[] {
    const { instance: first, kind } = message;
    const decision = this.get(first);
    if (decision === null) return [{ kind: 'gone', instance: this.firstKept }];
    // The decision is on its way to the member that acknowledged it.
    if (kind === 'ack' && message.round === decision.round) return [];
    const answers: ConsensusMessage[] = [];
    for (let instance = first; instance < first + (kind === 'begin' ? TOLD_AT_ONCE : 1); instance++) {
      const known = this.get(instance);
      if (known) answers.push({ kind: 'decide', instance, ...known });
    }
    return answers;
  }

  /** Decisions that no member can tell any more are left out. */
  skipTo(instance: number): void {
    if (instance <= this.#upTo) return;
    this.#upTo = instance;
    this.#skipped = instance;
    this.#advance();
  }

  add(instance: number, decision: Decision): void {
    invariant(!this.isDecided(instance), 'an instance is decided once');
    this.#known.set(instance, decision);
    this.#advance();
  }

  /** What an earlier life knew. */
  recall(instance: number, decision: Decision): void {
    if (instance < this.firstKept) return;
    this.#known.set(instance, decision);
    this.#advance();
  }

  #advance(): void {
    while (this.#known.has(this.#upTo + 1)) this.#upTo++;
    const { firstKept } = this;
    if (firstKept - this.#low > this.#known.size) {
      for (const instance of this.#known.keys()) if (instance < firstKept) this.#known.delete(instance);
    } else {
      for (let gone = this.#low; gone < firstKept; gone++) this.#known.delete(gone);
    }
    this.#low = firstKept;
  }

  snapshot(): Snapshot {
    const known = [...this.#known].sort(([one], [other]) => one - other);
    return {
      upTo: this.#upTo,
      skipped: this.#skipped,
      known: known.map(([instance, { round, value }]) => [instance, round, valueText(value)] as const),
    };
  }

  restore(snapshot: Snapshot): void {
    const { upTo, skipped, known } = snapshot as unknown as DecisionsSnapshot;
    this.#upTo = upTo;
    this.#skipped = skipped;
    this.#low = this.firstKept;
    for (const [instance, round, value] of known) this.#known.set(instance, { round, value: valueBytes(value) });
  }
}

interface DecisionsSnapshot {
  readonly upTo: number;
  readonly skipped: number;
  readonly known: readonly (readonly [number, number, string])[];
}
