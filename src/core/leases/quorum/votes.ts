/** The votes of one acceptor as rows: for each name the lease that has the vote, until when, and the holder's metadata. The acceptor decides what they mean. */
import { equalBytes, type BallotTime, type Incarnation } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { LeaseTable, OwnerTable, type NameTable } from '../../tables/index.ts';
import { LeaseRoom, unitsOfMeta } from './lease-room.ts';
import { MEMBER_LIMITS } from '../limits.ts';
import type { QuorumMessage } from './messages.ts';
import type { VoteRecord } from './records.ts';
import type { QuorumRules } from './rules.ts';
import { internText, namesInOrder } from '../snapshots.ts';
import { EXCLUSIVE } from './modes.ts';
import type { VoteBundle, VoteBundles } from './vote-bundles.ts';

type RowSnapshot = readonly [string, Incarnation, number, number, number, number, readonly number[], number];

/** Where the owner of a row would be there is the bundle it is in, from here on; the bundle knows its owner. */
const IN_BUNDLE = 2 ** 31;

const NO_BYTES = new Uint8Array(0);

export class Votes {
  readonly leases: LeaseTable;
  readonly #names: NameTable;
  readonly #rules: QuorumRules;
  readonly #owners: OwnerTable;
  readonly #metas = new Map<number, Uint8Array>();
  readonly #room: LeaseRoom;
  readonly #bundles: VoteBundles;

  constructor(names: NameTable, rules: QuorumRules, bundles: VoteBundles, leasesMax: number = MEMBER_LIMITS.leases) {
    this.#room = new LeaseRoom(leasesMax);
    this.#owners = new OwnerTable(names.key);
    this.#names = names;
    this.#bundles = bundles;
    this.#rules = rules;
    this.leases = new LeaseTable(names);
  }

  ownerOf(id: number): Incarnation {
    const owner = this.leases.owner(id);
    return owner < IN_BUNDLE ? this.#owners.incarnationOf(owner) : this.#bundles.at(owner - IN_BUNDLE).owner;
  }

  /** Until when the vote stands, by itself or by its bundle. */
  endOf(id: number): number {
    const endsAt = this.leases.expiresAt(id);
    const owner = this.leases.owner(id);
    return owner < IN_BUNDLE ? endsAt : Math.max(endsAt, this.#bundles.at(owner - IN_BUNDLE).until);
  }

  // ── Bundles ────────────────────────────────────────────────────────────────────────────────────────

  bundleOf(id: number): VoteBundle | null {
    const owner = this.leases.owner(id);
    return owner < IN_BUNDLE ? null : this.#bundles.at(owner - IN_BUNDLE);
  }

  join(id: number, bundle: VoteBundle): void {
    if (this.bundleOf(id) === bundle) return;
    this.leave(id);
    this.#bundles.add(bundle, this.#bundled(id));
    this.leases.setOwner(id, IN_BUNDLE + bundle.index);
  }

  /** The vote stands for as long as it did. */
  leave(id: number): void {
    const bundle = this.bundleOf(id);
    if (bundle === null) return;
    this.leases.setExpiresAt(id, this.endOf(id));
    this.leases.setOwner(id, this.#owners.find(bundle.owner));
    this.#bundles.take(bundle, this.#bundled(id));
  }

  #bundled(id: number): { lease: number; token: number; mode: number } {
    return { lease: this.leases.lease(id), token: this.leases.token(id), mode: EXCLUSIVE };
  }

  /** Whether its number is the number of the message's lease. */
  isOf(id: number, { lease }: QuorumMessage): boolean {
    const number = this.leases.lease(id);
    return this.#rules.wholeNumbers ? number === lease : number >>> 0 === lease >>> 0;
  }

  /** Another lease of the same incarnation is another owner's (rule 3). */
  isSameLease(id: number, message: QuorumMessage): boolean {
    return this.ownerOf(id) === message.owner && (!this.#rules.handlesApart || this.isOf(id, message));
  }

  /** Whether a release of its owner ends it. */
  isReleasable(id: number, message: QuorumMessage): boolean {
    if (this.ownerOf(id) !== message.owner) return false;
    if (!this.#rules.releaseByBallot) return true;
    return this.leases.ballot(id) <= message.ballot && (this.isOf(id, message) || !this.#rules.handlesApart);
  }

  metaOf(id: number): Uint8Array | undefined {
    return this.#metas.get(id);
  }

  /** Whether the client has room for its proposal, besides its other votes. A proposal that takes no more always has room. */
  hasRoom(id: number, { owner, metaStart, metaEnd }: QuorumMessage, sideMetaBytes: number): boolean {
    const isOwn = id >= 0 && this.leases.has(id) && this.ownerOf(id) === owner;
    const ownBytes = isOwn ? (this.#metas.get(id)?.length ?? 0) : sideMetaBytes;
    const units = unitsOfMeta(metaEnd - metaStart) + (ownBytes < 0 ? 1 : -unitsOfMeta(ownBytes));
    if (units <= 0 || this.#room.isWide(units, this.#owners.count + 1)) return true;
    const client = this.#owners.find(owner);
    return this.#room.has(units, client, this.#owners.count + (client < 0 ? 1 : 0));
  }

  /** A vote of another mode came, or went. */
  countSide(owner: Incarnation, metaBytes: number, sign: 1 | -1): void {
    const index = this.#owners.indexOf(owner);
    if (sign > 0) this.#owners.retain(index);
    this.#room.add(index, sign * (1 + unitsOfMeta(metaBytes)));
    if (sign < 0) this.#owners.release(index);
  }

  /** A row for the name; it replaces an earlier row. */
  put(id: number, owner: Incarnation, lease: number, ballot: number, token: number, expiresAt: number): void {
    const index = this.#owners.indexOf(owner);
    this.#owners.retain(index);
    if (this.leases.has(id)) this.#clear(id);
    this.#room.add(index, 1);
    this.leases.add(id, index, lease, ballot, token, expiresAt);
  }

  /** The row's lease, anew. True if it is for another try of its holder, or says something else of it. */
  extend(id: number, message: QuorumMessage, expiresAt: number): boolean {
    const { leases } = this;
    // Renewals bring the token of the try that won. The releases of earlier tries may still be under way.
    const isOtherTry = leases.token(id) !== message.token;
    if (isOtherTry || leases.lease(id) !== message.lease) {
      this.leave(id);
      leases.setToken(id, message.token);
      leases.setLease(id, message.lease);
    }
    leases.setBallot(id, message.ballot);
    leases.setExpiresAt(id, expiresAt);
    // Renewals repeat what the holder says of itself.
    return this.keepMeta(id, message) || isOtherTry;
  }

  remove(id: number): void {
    this.#clear(id);
    this.leases.remove(id);
  }

  #clear(id: number): void {
    this.leave(id);
    const client = this.leases.owner(id);
    this.#setMeta(id, NO_BYTES);
    this.#room.add(client, -1);
    this.#owners.release(client);
  }

  /** True if there was some, or is now. */
  #setMeta(id: number, meta: Uint8Array): boolean {
    const old = this.#metas.size > 0 ? this.#metas.get(id) : undefined;
    if (old === undefined && meta.length === 0) return false;
    this.#room.add(this.#owners.find(this.ownerOf(id)), unitsOfMeta(meta.length) - unitsOfMeta(old?.length ?? 0));
    if (meta.length > 0) this.#metas.set(id, meta);
    else this.#metas.delete(id);
    return true;
  }

  /** True if that is something else than before. */
  keepMeta(id: number, { meta, metaStart, metaEnd }: QuorumMessage): boolean {
    if (metaEnd === metaStart) return this.#setMeta(id, NO_BYTES);
    const old = this.#metas.get(id);
    if (old && equalBytes(old, 0, old.length, meta, metaStart, metaEnd)) return false;
    return this.#setMeta(id, meta.slice(metaStart, metaEnd));
  }

  record(id: number): Omit<VoteRecord, 'since' | 'spanUs'> {
    const { leases } = this;
    return {
      owner: this.ownerOf(id),
      lease: leases.lease(id),
      ballot: leases.ballot(id) as BallotTime,
      token: leases.token(id),
      mode: 0,
      name: this.#names.toBytes(id),
      meta: this.#metas.get(id) ?? NO_BYTES,
    };
  }

  /** A vote that was read back. Of two for one name the later counts, unless told otherwise: it was given after the other had ended. */
  take({ name, owner, lease, ballot, token, meta }: VoteRecord, expiresAt: number, laterCounts: boolean): number {
    const id = this.#names.intern(name, 0, name.length);
    if (this.leases.has(id) && ballot > this.leases.ballot(id) !== laterCounts) return -1;
    this.put(id, owner, lease, ballot, token, expiresAt);
    this.#setMeta(id, meta);
    return id;
  }

  snapshot(): Snapshot {
    const { leases } = this;
    return namesInOrder(this.#names, (id) => leases.has(id)).map(({ id, text }) => [
      text,
      this.ownerOf(id),
      leases.lease(id),
      leases.ballot(id),
      leases.token(id),
      leases.expiresAt(id),
      [...(this.#metas.get(id) ?? [])],
      this.bundleOf(id)?.number ?? 0,
    ]);
  }

  restore(snapshot: Snapshot): void {
    for (const [text, owner, lease, ballot, token, expiresAt, meta, number] of snapshot as unknown as readonly RowSnapshot[]) {
      const id = internText(this.#names, text);
      this.put(id, owner, lease, ballot, token, expiresAt);
      this.#setMeta(id, Uint8Array.from(meta));
      const bundle = number === 0 ? undefined : this.#bundles.numbered(number);
      if (bundle) this.join(id, bundle);
    }
  }
}
