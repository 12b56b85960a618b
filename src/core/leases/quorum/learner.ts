/**
 * The learner: the holders that this node was told of. Hints only: a learner that must be sure asks a
 * quorum. Rows are as small as an acceptor's and go away when the lease they tell of has run out.
 */
import {
  equalBytes,
  monoAfter,
  monoUs,
  NEVER,
  NO_BALLOT,
  spanUs,
  type BallotTime,
  type Incarnation,
  type MonoUs,
  type NodeId,
} from '../../../kernel/index.ts';
import { LearnTable, OwnerTable, type NameTable } from '../../tables/index.ts';
import type { Snapshot } from '../../contract.ts';
import { WatchedPrefixes, type WatchedPrefix, type WatchedSnapshot } from '../watched-prefixes.ts';
import type { HolderHint } from '../contract.ts';
import type { QuorumStep } from './config.ts';
import { BUNDLE, LET_GO, WATCH, type QuorumMessage } from './messages.ts';
import { EXCLUSIVE } from './modes.ts';
import type { QuorumOutbox } from './outbox.ts';
import { internText, namesInOrder } from '../snapshots.ts';
import type { ToldVote } from './told-votes.ts';

const SWEEP_ROWS = 4096;
const NO_BYTES = new Uint8Array(0);
/** `until` of a lease that was let go: its row stays until it is swept, so that an older word come late does not bring it back. */
const LET_GO_ALREADY = monoUs(0);
/** Added to the owner of a row whose holder renews it in a bundle: then it lasts as long as the holder's last renewal of a bundle says. */
const IN_BUNDLE = 2 ** 31;

interface LearnerSnapshot {
  readonly rows: readonly (readonly [string, Incarnation, number, number, BallotTime, readonly number[], boolean])[];
  readonly bundles: readonly (readonly [Incarnation, MonoUs])[];
  readonly watched: WatchedSnapshot;
  readonly refreshAt: MonoUs;
  readonly sweepAt: MonoUs;
  readonly sweepFrom: number;
}

export class Learner {
  readonly #out: QuorumOutbox;
  readonly #names: NameTable;
  readonly #known: LearnTable;
  readonly #owners: OwnerTable;
  /** Metadata of the holders that publish any. */
  readonly #published = new Map<number, { readonly ballot: BallotTime; readonly meta: Uint8Array }>();
  /** Until when the bundles of an owner last, by owner; only owners with bundles. */
  readonly #bundles = new Map<number, MonoUs>();
  readonly #watched = new WatchedPrefixes();
  #refreshAt: MonoUs = NEVER;
  #sweepAt: MonoUs = NEVER;
  #sweepFrom = 0;

  constructor(out: QuorumOutbox, names: NameTable) {
    this.#owners = new OwnerTable(names.key);
    this.#out = out;
    this.#names = names;
    this.#known = new LearnTable(names);
  }

  get wakeAt(): MonoUs {
    return monoUs(Math.min(this.#refreshAt, this.#sweepAt));
  }

  get count(): number {
    return this.#known.count;
  }

  /** What this node believes, as a hint. */
  hint(name: Uint8Array, mono: MonoUs): HolderHint | null {
    const id = this.#names.find(name, 0, name.length);
    if (id < 0 || !this.#known.has(id) || this.#untilOf(id) <= mono) return null;
    return {
      owner: this.#ownerOf(id),
      token: this.#known.token(id),
      remainingUsMax: this.#untilOf(id) - mono,
    };
  }

  #ownerOf(id: number): Incarnation {
    return this.#owners.incarnationOf(this.#known.owner(id) % IN_BUNDLE);
  }

  #untilOf(id: number): number {
    const until = this.#known.until(id);
    const owner = this.#known.owner(id);
    return owner < IN_BUNDLE || until === LET_GO_ALREADY ? until : Math.max(until, this.#bundles.get(owner - IN_BUNDLE) ?? 0);
  }

  /** A holder has renewed a bundle. */
  learnedBundle({ holder, remainingUs }: QuorumMessage, step: QuorumStep): void {
    const owner = this.#owners.find(holder);
    if (owner < 0) return;
    const until = monoAfter(step.monoUs, spanUs(Math.min(remainingUs, this.#out.timing.silenceUs)));
    this.#bundles.set(owner, monoUs(Math.max(until, this.#bundles.get(owner) ?? 0)));
  }

  watch(prefix: Uint8Array, step: QuorumStep): void {
    this.#announce(this.#watched.watch(prefix), true, step);
    if (this.#refreshAt === NEVER) this.#refreshAt = monoAfter(step.monoUs, this.#out.timing.refreshUs);
  }

  /** New members soon hear of the watches. */
  viewChanged(step: QuorumStep): void {
    if (this.#refreshAt !== NEVER) this.#refreshAt = step.monoUs;
  }

  unwatch(prefix: Uint8Array, step: QuorumStep): void {
    const ended = this.#watched.unwatch(prefix);
    if (ended) this.#end(ended, step);
  }

  /** A member has no room for one of the prefixes. */
  refused(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const ended = this.#watched.refuse(message.lease, from, this.#out.electorate.members);
    if (!ended) return;
    this.#end(ended, step);
    step.emit({ kind: 'watch-refused', prefix: ended.prefix });
  }

  #end(ended: WatchedPrefix, step: QuorumStep): void {
    this.#announce(ended, false, step);
    if (this.#watched.size === 0) this.#refreshAt = NEVER;
  }

  learned(message: QuorumMessage, step: QuorumStep): void {
    const { name, nameStart, nameEnd, token, holder } = message;
    const found = this.#names.find(name, nameStart, nameEnd);
    const knows = found >= 0 && this.#known.has(found);
    const knownToken = knows ? this.#known.token(found) : 0;
    // Several members pass the same word on, and late: a lower token is no news.
    if (token < knownToken) return;
    if ((message.flags & LET_GO) !== 0) {
      // Other readers may hold it, too: that is over when no holder has told of it for a term.
      if (message.mode !== EXCLUSIVE) return;
      if (!knows || token !== knownToken || this.#known.until(found) === LET_GO_ALREADY) return;
      this.#known.setUntil(found, LET_GO_ALREADY);
      step.emit({ kind: 'learned', name: name.slice(nameStart, nameEnd), holder: null, meta: null });
      return;
    }
    const isShared = message.mode !== EXCLUSIVE;
    const hint: HolderHint = { owner: holder, token, remainingUsMax: message.remainingUs, ...(isShared ? { mode: 'shared' } : {}) };
    this.#believe(
      found,
      name.slice(nameStart, nameEnd),
      hint,
      message.ballot,
      message.meta.slice(message.metaStart, message.metaEnd),
      (message.flags & BUNDLE) !== 0,
      step,
    );
  }

  /** The result of a question. Only results for watched names are kept: watchers must hear of the end as well. */
  found(name: Uint8Array, holder: HolderHint, { ballot, meta, inBundle }: ToldVote, step: QuorumStep): void {
    if (!this.#watched.hasPrefixOf(name, 0, name.length)) return;
    const id = this.#names.find(name, 0, name.length);
    if (id >= 0 && this.#known.has(id) && this.#known.token(id) > holder.token) return;
    this.#believe(id, name, holder, ballot, meta, inBundle, step);
  }

  /** Nothing newer is known. `ballot` is of the proposal that carried `meta`, or a later one with the same. */
  #believe(
    found: number,
    name: Uint8Array,
    holder: HolderHint,
    ballot: BallotTime,
    meta: Uint8Array,
    inBundle: boolean,
    step: QuorumStep,
  ): void {
    const until = monoAfter(step.monoUs, spanUs(holder.remainingUsMax));
    const told = meta.length > 0 ? meta : null;
    if (found >= 0 && this.#known.has(found) && this.#known.token(found) === holder.token) {
      const knownUntil = this.#known.until(found);
      if (knownUntil === LET_GO_ALREADY) return;
      if (until > knownUntil) this.#known.setUntil(found, until);
      this.#known.setOwner(found, (this.#known.owner(found) % IN_BUNDLE) + (inBundle ? IN_BUNDLE : 0));
      const known = this.#published.get(found);
      if (known ? known.ballot >= ballot : told === null) return;
      const isNews = !isSame(known?.meta ?? NO_BYTES, meta);
      this.#published.set(found, { ballot, meta });
      if (isNews) step.emit({ kind: 'learned', name, holder, meta: told });
      return;
    }
    if (found >= 0 && this.#known.has(found)) this.#forget(found);
    const id = this.#names.intern(name, 0, name.length);
    const owner = this.#owners.indexOf(holder.owner);
    this.#owners.retain(owner);
    this.#known.add(id, owner + (inBundle ? IN_BUNDLE : 0), holder.token, until);
    if (told) this.#published.set(id, { ballot, meta });
    this.#scheduleSweep(step);
    step.emit({ kind: 'learned', name, holder, meta: told });
  }

  wake(step: QuorumStep): void {
    if (step.monoUs >= this.#refreshAt) {
      for (const watched of this.#watched.all()) this.#announce(watched, true, step);
      this.#refreshAt = monoAfter(step.monoUs, this.#out.timing.refreshUs);
    }
    if (step.monoUs >= this.#sweepAt) this.#sweep(step);
  }

  snapshot(): Snapshot {
    const known = this.#known;
    const rows = namesInOrder(this.#names, (id) => known.has(id)).map(({ id, text }) => [
      text,
      this.#ownerOf(id),
      known.token(id),
      known.until(id),
      this.#published.get(id)?.ballot ?? NO_BALLOT,
      [...(this.#published.get(id)?.meta ?? [])],
      known.owner(id) >= IN_BUNDLE,
    ]);
    return {
      rows,
      bundles: [...this.#bundles].map(([owner, until]) => [this.#owners.incarnationOf(owner), until] as const).sort(([a], [b]) => a - b),
      watched: this.#watched.snapshot(),
      refreshAt: this.#refreshAt,
      sweepAt: this.#sweepAt,
      sweepFrom: this.#sweepFrom,
    };
  }

  restore(snapshot: Snapshot): void {
    const { rows, bundles, watched, refreshAt, sweepAt, sweepFrom } = snapshot as unknown as LearnerSnapshot;
    for (const [text, incarnation, token, until, ballot, meta, inBundle] of rows) {
      const owner = this.#owners.indexOf(incarnation);
      this.#owners.retain(owner);
      const id = internText(this.#names, text);
      this.#known.add(id, owner + (inBundle ? IN_BUNDLE : 0), token, until);
      if (ballot !== NO_BALLOT) this.#published.set(id, { ballot, meta: Uint8Array.from(meta) });
    }
    for (const [incarnation, until] of bundles) this.#bundles.set(this.#owners.find(incarnation), until);
    this.#watched.restore(watched);
    this.#refreshAt = refreshAt;
    this.#sweepAt = sweepAt;
    this.#sweepFrom = sweepFrom;
  }

  #announce({ prefix, number, refusedBy }: WatchedPrefix, on: boolean, step: QuorumStep): void {
    refusedBy.clear();
    this.#out.compose(WATCH, number, prefix).termUs = on ? 1 : 0;
    this.#out.sendTo(this.#out.electorate.members, step);
  }

  #forget(id: number): void {
    this.#published.delete(id);
    const owner = this.#known.owner(id) % IN_BUNDLE;
    if (this.#owners.release(owner)) this.#bundles.delete(owner);
    this.#known.remove(id);
  }

  #sweep(step: QuorumStep): void {
    const end = Math.min(this.#sweepFrom + SWEEP_ROWS, this.#names.idLimit);
    for (let id = this.#sweepFrom; id < end; id++) {
      if (!this.#known.has(id) || this.#untilOf(id) > step.monoUs) continue;
      const name = this.#names.toBytes(id);
      const wasTold = this.#known.until(id) === LET_GO_ALREADY;
      this.#forget(id);
      if (!wasTold) step.emit({ kind: 'learned', name, holder: null, meta: null });
    }
    this.#sweepFrom = end >= this.#names.idLimit ? 0 : end;
    this.#sweepAt = NEVER;
    this.#scheduleSweep(step);
  }

  #scheduleSweep(step: QuorumStep): void {
    if (this.#known.count === 0 || this.#sweepAt !== NEVER) return;
    const slices = Math.ceil(this.#names.idLimit / SWEEP_ROWS);
    this.#sweepAt = monoAfter(step.monoUs, spanUs(Math.max(1000, Math.floor(this.#out.timing.maxTermUs / slices))));
  }
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return equalBytes(a, 0, a.length, b, 0, b.length);
}
