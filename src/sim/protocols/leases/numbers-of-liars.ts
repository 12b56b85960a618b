/** What liars put into the fields of messages, whatever the protocol: near misses, edges, and the absurd. */
import { BALLOT_TIME_MAX, encodeName, incarnation, type Incarnation } from '../../../kernel/index.ts';
import type { QuorumMessage, RoundMessage } from '../../../core/index.ts';
import type { LiarGround } from '../../protocol.ts';

const TERM_US = 1_000_000;
/** A node that believes it and goes on from there can still say so. */
const FAR = BALLOT_TIME_MAX - 1_000_000;

/** Names that no honest node asks for: enough of them that a table which kept them all would be noticed. */
const NAMES = 100_000;
const REASONS = 11;

/** How often a field is changed, in lies that are nearly true, half true and made up. */
const CHANGED_ONE_IN = [24, 4, 1] as const;

export class LiarNumbers {
  readonly #ground: LiarGround;
  readonly #aheadUsMax: number;
  readonly #changedOneIn: number;

  constructor(ground: LiarGround, aheadUsMax: number, isMadeUp: boolean) {
    this.#ground = ground;
    this.#aheadUsMax = aheadUsMax;
    this.#changedOneIn = isMadeUp ? 1 : (CHANGED_ONE_IN[ground.choose(CHANGED_ONE_IN.length)] ?? 1);
  }

  /** Whether this field is to be changed. */
  get isChanged(): boolean {
    return this.#ground.choose(this.#changedOneIn) === 0;
  }

  one(outOf: number): boolean {
    return this.#ground.choose(outOf) === 0;
  }

  /** One of these, or the value as it was. */
  either(value: number, others: readonly number[]): number {
    return this.isChanged ? (others[this.#ground.choose(others.length)] ?? value) : value;
  }

  /** A ballot, a clock or a token: near a number that was heard, at the edges of belief, beyond. */
  time(heard: number): number {
    const wall = Math.max(0, Math.floor(this.#ground.wallUs));
    const edge = wall + this.#aheadUsMax;
    const time = this.either(heard, [
      0,
      heard,
      heard + 1,
      heard - 1,
      wall,
      wall + TERM_US,
      edge - TERM_US,
      edge,
      edge + 1,
      edge + this.#ground.choose(8 * TERM_US),
      FAR,
    ]);
    return Math.min(Math.max(0, time), FAR);
  }

  span(heard: number): number {
    return this.either(heard, [0, 1, TERM_US, TERM_US / 2, 1000 * TERM_US, 2 ** 52]);
  }

  small(heard: number): number {
    return this.either(heard, [0, heard + 1, 1 + this.#ground.choose(8), this.#ground.choose(2 ** 31)]);
  }

  /** Any kind. A liar that heard a question can answer it, and a vote can be given back. */
  kind(heard: number, isMadeUp: boolean, last: number): number {
    if (isMadeUp || this.one(4)) return 1 + this.#ground.choose(last);
    return this.one(2) ? Math.min(heard + (this.one(2) ? 1 : 3), last) : heard;
  }

  /** The reason of a refusal, the name, and what a holder says of itself. */
  words(message: QuorumMessage | RoundMessage, resources: readonly Uint8Array[]): void {
    const choose = (bound: number): number => this.#ground.choose(bound);
    if (this.isChanged) message.reason = choose(REASONS);
    if (message.nameEnd === message.nameStart || this.isChanged) {
      const name = resources[choose(resources.length + 1)] ?? encodeName(`x${choose(NAMES)}`);
      message.setName(name, 0, name.length);
    }
    if (this.isChanged) message.setMeta(Uint8Array.from({ length: choose(64) }, () => choose(256)));
  }

  /** Its own as often as not, so that it is heard at all; or the incarnation of some process. */
  who(heard: Incarnation): Incarnation {
    const { boot, nodes } = this.#ground;
    if (!this.isChanged) return heard;
    return this.one(2) ? boot.incarnation : incarnation(1 + this.#ground.choose(nodes * 3));
  }
}
