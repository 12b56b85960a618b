/**
 * Which votes of an acceptor began lately, and which ran out. An asker hears several acceptors at different instants, and must know whether
 * each answer was true when the question began. A change older than the kept time is the same to every asker, so this stays small; where
 * there are too many changes, every vote counts as changed at the last of them.
 */
import { equalBytes, type MonoUs } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';

const RAN_OUT_MAX = 1024;
const LONG_AGO = -Infinity;

interface RanOut {
  readonly name: Uint8Array;
  readonly at: number;
}

type ChangesSnapshot = readonly [
  begun: readonly (readonly [bucket: number, at: number])[],
  ranOut: readonly (readonly [number, readonly number[], number])[],
  ranOutLost: number | null,
];

export class Changes {
  readonly #keptUs: number;
  readonly #buckets: number;
  /** When a vote last began for any name of the bucket: a member grants too many leases to keep them apart. Null before the first. */
  #begun: Float64Array | null = null;
  #newestBegun = LONG_AGO;
  /** By the hash of the name, oldest first. */
  readonly #ranOut = new Map<number, RanOut>();
  /** None that is not kept ran out later than this, or than the time that is kept. */
  #ranOutLost = LONG_AGO;

  /** `buckets` is a power of two. */
  constructor(keptUs: number, buckets: number) {
    this.#keptUs = keptUs;
    this.#buckets = buckets;
  }

  /** A vote for the name began: for a lease that had none here, or for another try of its owner. */
  began(hash: number, mono: MonoUs): void {
    this.#begun ??= this.#emptyBuckets();
    this.#begun[this.#bucketOf(hash)] = mono;
    this.#newestBegun = mono;
  }

  #emptyBuckets(): Float64Array {
    return new Float64Array(this.#buckets).fill(LONG_AGO);
  }

  #bucketOf(hash: number): number {
    return hash & (this.#buckets - 1);
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

  /** Lets go of changes so old that they make no difference. */
  forget(mono: MonoUs): void {
    const old = mono - this.#keptUs;
    if (this.#newestBegun > LONG_AGO) this.#begun?.forEach((at, bucket, begun) => at <= old && (begun[bucket] = LONG_AGO));
    if (this.#newestBegun <= old) this.#newestBegun = LONG_AGO;
    this.#forgetRanOut(mono);
  }

  get isEmpty(): boolean {
    return this.#newestBegun === LONG_AGO && this.#ranOut.size === 0;
  }

  /** An instant after which no vote for the name began. */
  begunSince(hash: number): number {
    return this.#begun === null ? LONG_AGO : (this.#begun[this.#bucketOf(hash)] as number);
  }

  /** An instant after which none ran out. */
  ranOutSince(hash: number): number {
    return Math.max(this.#ranOutLost, this.#ranOut.get(hash)?.at ?? LONG_AGO);
  }

  /** An instant after which no vote ran out under the prefix, among votes whose rows are gone. */
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
    const begun: [bucket: number, at: number][] = [];
    if (this.#newestBegun > LONG_AGO) this.#begun?.forEach((at, bucket) => at > LONG_AGO && begun.push([bucket, at]));
    return [
      begun,
      [...this.#ranOut].map(([hash, { name, at }]) => [hash, [...name], at]),
      this.#ranOutLost === LONG_AGO ? null : this.#ranOutLost,
    ];
  }

  restore(snapshot: Snapshot): void {
    const [begun, ranOut, ranOutLost] = snapshot as unknown as ChangesSnapshot;
    for (const [bucket, at] of begun) {
      this.#begun ??= this.#emptyBuckets();
      this.#begun[bucket] = at;
      this.#newestBegun = Math.max(this.#newestBegun, at);
    }
    for (const [hash, name, at] of ranOut) this.#ranOut.set(hash, { name: Uint8Array.from(name), at });
    this.#ranOutLost = ranOutLost ?? LONG_AGO;
  }
}
