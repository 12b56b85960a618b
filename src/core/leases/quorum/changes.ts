/**
 * Which votes of an acceptor began lately, and which ran out: whoever asks several acceptors hears them at different
 * instants, and must know whether what each tells was so when the question began. What is older than the time that is
 * kept is the same to everyone, so this stays small; where there is too much of it, all counts as having changed last.
 */
import { equalBytes, type MonoUs } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';

/** A member that grants 100,000 leases a second remembers the beginnings of some 40 ms. */
const BEGUN_MAX = 4096;
const RAN_OUT_MAX = 1024;
const LONG_AGO = -Infinity;

interface RanOut {
  readonly name: Uint8Array;
  readonly at: number;
}

type ChangesSnapshot = readonly [
  begun: readonly (readonly [number, number])[],
  ranOut: readonly (readonly [number, readonly number[], number])[],
  begunLost: number | null,
  ranOutLost: number | null,
];

export class Changes {
  readonly #keptUs: number;
  /** By the hash of the name, oldest first. */
  readonly #begun = new Map<number, number>();
  readonly #ranOut = new Map<number, RanOut>();
  /** No change that is not kept is later than these, or than the time that is kept. */
  #begunLost = LONG_AGO;
  #ranOutLost = LONG_AGO;

  constructor(keptUs: number) {
    this.#keptUs = keptUs;
  }

  /** A vote for the name began: for a lease that had none here, or for another try of its owner. */
  began(hash: number, mono: MonoUs): void {
    this.#begun.delete(hash);
    this.#begun.set(hash, mono);
    this.#forgetBegun(mono);
  }

  #forgetBegun(mono: MonoUs): void {
    for (const [oldest, at] of this.#begun) {
      if (at > mono - this.#keptUs && this.#begun.size <= BEGUN_MAX) return;
      this.#begunLost = Math.max(this.#begunLost, at);
      this.#begun.delete(oldest);
    }
  }

  /** A vote for the name was not given back: its time was over at `at`. */
  ranOut(hash: number, name: Uint8Array, at: number, mono: MonoUs): void {
    if (at <= mono - this.#keptUs) return;
    const known = this.#ranOut.get(hash);
    const isSame = known !== undefined && equalBytes(known.name, 0, known.name.length, name, 0, name.length);
    if (known && !isSame) this.#ranOutLost = Math.max(this.#ranOutLost, known.at);
    this.#ranOut.delete(hash);
    this.#ranOut.set(hash, { name, at: isSame ? Math.max(known.at, at) : at });
    this.#forgetRanOut(mono);
  }

  #forgetRanOut(mono: MonoUs): void {
    for (const [oldest, { at }] of this.#ranOut) {
      if (at > mono - this.#keptUs && this.#ranOut.size <= RAN_OUT_MAX) return;
      this.#ranOutLost = Math.max(this.#ranOutLost, at);
      this.#ranOut.delete(oldest);
    }
  }

  /** Lets go of what is so old that it makes no difference. */
  forget(mono: MonoUs): void {
    this.#forgetBegun(mono);
    this.#forgetRanOut(mono);
  }

  get isEmpty(): boolean {
    return this.#begun.size + this.#ranOut.size === 0;
  }

  /** An instant after which no vote for the name began. */
  begunSince(hash: number): number {
    return this.#begun.get(hash) ?? this.#begunLost;
  }

  /** An instant after which none ran out. */
  ranOutSince(hash: number): number {
    return Math.max(this.#ranOutLost, this.#ranOut.get(hash)?.at ?? LONG_AGO);
  }

  /** An instant after which none ran out of any name with the prefix, of those whose rows are gone. */
  ranOutUnder(bytes: Uint8Array, start: number, end: number): number {
    let since = this.#ranOutLost;
    for (const { name, at } of this.#ranOut.values()) {
      if (at > since && name.length >= end - start && equalBytes(name, 0, end - start, bytes, start, end)) since = at;
    }
    return since;
  }

  /** How long ago that is, as far as it is told. */
  agoUs(since: number, mono: MonoUs): number {
    return Math.max(0, Math.min(this.#keptUs, Math.floor(mono - since)));
  }

  snapshot(): Snapshot {
    return [
      [...this.#begun],
      [...this.#ranOut].map(([hash, { name, at }]) => [hash, [...name], at]),
      this.#begunLost === LONG_AGO ? null : this.#begunLost,
      this.#ranOutLost === LONG_AGO ? null : this.#ranOutLost,
    ];
  }

  restore(snapshot: Snapshot): void {
    const [begun, ranOut, begunLost, ranOutLost] = snapshot as unknown as ChangesSnapshot;
    for (const [hash, at] of begun) this.#begun.set(hash, at);
    for (const [hash, name, at] of ranOut) this.#ranOut.set(hash, { name: Uint8Array.from(name), at });
    this.#begunLost = begunLost ?? LONG_AGO;
    this.#ranOutLost = ranOutLost ?? LONG_AGO;
  }
}
