/**
 * The claims of one process: by the number of the caller, in line for each name, by the accesses they wait for, and
 * by when to look at each. The first in line for a name is the only writer of this process that touches its records. Readers stand in no
 * line: each contends for itself.
 */
import { NumberMap, type MonoUs } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { DueHeap } from '../../tables/index.ts';
import { fromPlain, toPlain, type StorageClaim, type Doing } from './claim.ts';

interface DeskSnapshot {
  readonly lastOp: number;
  readonly lastSeq: number;
  readonly lastToken: number;
  readonly claims: readonly Snapshot[];
  readonly lines: readonly (readonly [string, readonly number[]])[];
}

export class ClaimDesk<Does extends Doing> {
  readonly #claims = new NumberMap<StorageClaim<Does>>();
  /** In line for a name, the first in line first. */
  readonly #lines = new Map<string, number[]>();
  /** Claims that read a name, or want to. */
  readonly #readers = new Map<string, number[]>();
  /** Whose answer an access brings. */
  readonly #asking = new NumberMap<number>();
  readonly #due = new DueHeap();
  #lastOp = 0;
  #lastSeq = 0;
  #lastToken = 0;

  get nextAt(): MonoUs {
    return this.#due.nextAt;
  }

  /** Never the same twice in one incarnation: an answer belongs to one access, a uid to one write. */
  nextOp(): number {
    return ++this.#lastOp;
  }

  nextSeq(): number {
    return ++this.#lastSeq;
  }

  /** Readers of one name may see the same token before theirs; the leases of one process are told apart by tokens. */
  readersToken(least: number): number {
    this.#lastToken = Math.max(least, this.#lastToken + 1);
    return this.#lastToken;
  }

  get(lease: number): StorageClaim<Does> | undefined {
    return this.#claims.get(lease);
  }

  all(): readonly StorageClaim<Does>[] {
    return this.#claims.values().sort((a, b) => a.lease - b.lease);
  }

  add(claim: StorageClaim<Does>): void {
    this.#claims.set(claim.lease, claim);
  }

  /** Behind all that wait for the name already. */
  enqueue(claim: StorageClaim<Does>): void {
    this.add(claim);
    const lines = claim.mode === 'shared' ? this.#readers : this.#lines;
    const line = lines.get(claim.name);
    if (line) line.push(claim.lease);
    else lines.set(claim.name, [claim.lease]);
  }

  firstFor(name: string): StorageClaim<Does> | undefined {
    const first = this.#lines.get(name)?.[0];
    return first === undefined ? undefined : this.#claims.get(first);
  }

  readersOf(name: string): readonly StorageClaim<Does>[] {
    return (this.#readers.get(name) ?? []).flatMap((lease) => this.#claims.get(lease) ?? []);
  }

  /** How many are in line for a name. */
  wantedBy(name: string): number {
    return this.#lines.get(name)?.length ?? 0;
  }

  /** Removes the claim; returns the exclusive claim that has become first in line, if any. */
  remove(claim: StorageClaim<Does>): StorageClaim<Does> | undefined {
    this.#forget(claim);
    this.#claims.delete(claim.lease);
    const lines = claim.mode === 'shared' ? this.#readers : this.#lines;
    const line = lines.get(claim.name);
    const place = line?.indexOf(claim.lease) ?? -1;
    if (!line || place < 0) return undefined;
    line.splice(place, 1);
    if (line.length === 0) lines.delete(claim.name);
    return place === 0 && claim.mode === 'exclusive' ? this.firstFor(claim.name) : undefined;
  }

  /** From here on the claim does this, and waits for nothing that it did before. */
  turn(claim: StorageClaim<Does>, doing: Does, at: MonoUs): void {
    this.#forget(claim);
    claim.doing = doing;
    for (const op of doing.ops) this.#asking.set(op, claim.lease);
    this.plan(claim, at);
  }

  plan(claim: StorageClaim<Does>, at: MonoUs): void {
    claim.at = at;
    if (at === Infinity) return;
    this.#due.push(at, claim.lease);
    if (!this.#due.isOvergrown(this.#claims.size, 0)) return;
    this.#due.clear();
    for (const one of this.#claims.values()) if (one.at !== Infinity) this.#due.push(one.at, one.lease);
  }

  /** The claim that waits for this answer. It is heard once. */
  answered(op: number): StorageClaim<Does> | undefined {
    const lease = this.#asking.get(op);
    if (lease === undefined) return undefined;
    this.#asking.delete(op);
    return this.#claims.get(lease);
  }

  /** The next claim whose time has come. Skips stale entries: a claim keeps only its current instant. */
  take(now: MonoUs): StorageClaim<Does> | null {
    for (let at = this.#due.nextAt; at <= now; at = this.#due.nextAt) {
      const claim = this.#claims.get(this.#due.take(now));
      if (claim?.at === at) return claim;
    }
    return null;
  }

  #forget({ doing }: StorageClaim<Does>): void {
    for (const op of doing.ops) this.#asking.delete(op);
  }

  snapshot(): Snapshot {
    const lines = [...this.#lines].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, line]) => [name, [...line]] as const);
    const last = { lastOp: this.#lastOp, lastSeq: this.#lastSeq, lastToken: this.#lastToken };
    return { ...last, claims: this.all().map(toPlain), lines };
  }

  restore(snapshot: Snapshot): void {
    const { lastOp, lastSeq, lastToken, claims, lines } = snapshot as unknown as DeskSnapshot;
    this.#lastOp = lastOp;
    this.#lastSeq = lastSeq;
    this.#lastToken = lastToken;
    this.#claims.clear();
    this.#asking.clear();
    this.#due.clear();
    this.#lines.clear();
    this.#readers.clear();
    for (const [name, line] of lines) this.#lines.set(name, [...line]);
    for (const one of claims) {
      const claim = fromPlain(one) as StorageClaim<Does>;
      if (claim.mode === 'shared') this.enqueue(claim);
      else this.add(claim);
      // Answers that came already are not awaited again.
      for (const op of claim.doing.ops) this.#asking.set(op, claim.lease);
      if (claim.at !== Infinity) this.#due.push(claim.at, claim.lease);
    }
  }
}
