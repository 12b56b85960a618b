/**
 * All that this node holds, in two parts: exclusive leases as they were acquired, by name; and leases that are or were something else, by number.
 * A lease that becomes a reader's goes from the first to the second, and stays there.
 */
import { hashName, monoUs, NO_BALLOT, type BallotTime, type MonoUs, type NodeId, type WallUs } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import type { NameTable } from '../../tables/index.ts';
import type { LeaseCommand } from '../contract.ts';
import { BundleRounds } from './bundle-rounds.ts';
import type { QuorumStep } from './config.ts';
import { LeaseKeys, NameKeys, type SideHoldSnapshot } from './hold-keys.ts';
import { HoldLimits, type HoldLimit } from './hold-limits.ts';
import { Holder } from './holder.ts';
import { WANTED_TOLD, type QuorumMessage } from './messages.ts';
import { EXCLUSIVE, SHARED } from './modes.ts';
import { Offers, type OfferedHolds } from './offers.ts';
import type { Heir, QuorumOutbox } from './outbox.ts';
import { Publications, type PublicationsSnapshot } from './publications.ts';
import type { Pursuit } from './pursuit.ts';

type CommandOf<Kind extends LeaseCommand['kind']> = Extract<LeaseCommand, { kind: Kind }>;

interface HoldersSnapshot {
  readonly side: Snapshot;
  readonly keys: readonly SideHoldSnapshot[];
  readonly published: PublicationsSnapshot;
  readonly limits: readonly (readonly [number, HoldLimit])[];
  readonly offers: Snapshot;
  readonly rounds: Snapshot;
}

export class Holders implements OfferedHolds {
  readonly #out: QuorumOutbox;
  readonly #exclusive: Holder;
  readonly #side: Holder;
  readonly #keys: LeaseKeys;
  readonly #published = new Publications();
  readonly #limits = new HoldLimits();
  readonly #offers: Offers;
  readonly rounds: BundleRounds;
  /** Called with the number of a lease that was not exclusive and is not held any more. */
  #ended: (lease: number, step: QuorumStep) => void = () => {};

  constructor(out: QuorumOutbox, names: NameTable, hasBundles: boolean) {
    this.#out = out;
    this.rounds = new BundleRounds(out, hasBundles, () => [this.#exclusive, this.#side]);
    this.#keys = new LeaseKeys((name) => hashName(name, 0, name.length));
    const shared = { out, limits: this.#limits, published: this.#published, rounds: this.rounds };
    this.#offers = new Offers(out, this);
    const endOffer = (lease: number, step: QuorumStep): void => {
      if (!this.#offers.isEmpty) this.#offers.ended(lease, step);
    };
    this.#exclusive = new Holder({ ...shared, keys: new NameKeys(names), ended: endOffer }, 0);
    const ended = (lease: number, step: QuorumStep): void => {
      endOffer(lease, step);
      this.#ended(lease, step);
    };
    this.#side = new Holder({ ...shared, keys: this.#keys, ended }, 1);
  }

  onEnded(ended: (lease: number, step: QuorumStep) => void): void {
    this.#ended = ended;
  }

  get wakeAt(): MonoUs {
    return monoUs(Math.min(this.#exclusive.wakeAt, this.#side.wakeAt, this.#offers.wakeAt, this.rounds.wakeAt));
  }

  tokenOf(name: Uint8Array): number {
    return this.#exclusive.tokenOf(name);
  }

  remainingUs(lease: number, name: Uint8Array, mono: MonoUs, wall: WallUs): number {
    return this.#of(lease, name).remainingUs(lease, name, mono, wall);
  }

  hold(pursuit: Pursuit, deadlineMono: MonoUs, deadlineWall: WallUs, step: QuorumStep): void {
    const { lease, name, mode, quarantineUs } = pursuit;
    if (mode === EXCLUSIVE) {
      this.#exclusive.hold(pursuit, deadlineMono, deadlineWall, step);
      return;
    }
    this.#keys.enter(lease, name, mode, quarantineUs);
    this.#side.hold(pursuit, deadlineMono, deadlineWall, step);
  }

  renew(command: CommandOf<'renew'>, step: QuorumStep): void {
    this.#of(command.lease, command.name).renew(command, step);
  }

  proclaim(command: CommandOf<'proclaim'>, step: QuorumStep): void {
    this.#of(command.lease, command.name).proclaim(command, step);
  }

  lapse(command: CommandOf<'lapse'>): void {
    this.#of(command.lease, command.name).lapse(command);
  }

  release(command: CommandOf<'release'>, step: QuorumStep): void {
    this.#of(command.lease, command.name).release(command, step);
  }

  forfeit(step: QuorumStep): void {
    this.#exclusive.forfeit(step);
    this.#side.forfeit(step);
  }

  accepted(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    this.#exclusive.accepted(from, message, step);
    if (!this.#side.isIdle) this.#side.accepted(from, message, step);
  }

  /** Answers about bundles. */
  bulk(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    if (message.kind !== WANTED_TOLD) {
      this.rounds.receive(from, message, step);
      return;
    }
    const name = message.name.slice(message.nameStart, message.nameEnd);
    this.#of(message.lease, name).wanted(message.lease, name, step);
  }

  refused(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    // A refusal to a bundle names no single lease.
    if (message.lease === 0) this.rounds.refused(from, step);
    this.#exclusive.refused(from, message, step);
    if (!this.#side.isIdle) this.#side.refused(from, message, step);
  }

  released(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    this.#exclusive.released(from, message, step);
    if (!this.#side.isIdle) this.#side.released(from, message, step);
  }

  uncount(voter: NodeId): void {
    this.#exclusive.uncount(voter);
    this.#side.uncount(voter);
    this.rounds.uncount(voter);
  }

  viewChanged(step: QuorumStep): void {
    this.rounds.viewChanged();
    this.#exclusive.viewChanged(step);
    this.#side.viewChanged(step);
  }

  votersOf(lease: number): readonly NodeId[] | undefined {
    return this.#exclusive.votersOf(lease) ?? this.#side.votersOf(lease);
  }

  wake(step: QuorumStep): void {
    // First: a round that is due begins before any row asks for it, and a restored core, which has all rows in its agendas, does the same.
    this.rounds.wake(step);
    this.#exclusive.wake(step);
    this.#side.wake(step);
    this.#offers.wake(step);
  }

  // ── Hand-over ──────────────────────────────────────────────────────────────────────────────────────

  offer(command: CommandOf<'hand-over'>, step: QuorumStep): void {
    this.#offers.begin(command, step);
  }

  ready(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    this.#offers.ready(from, message, step);
  }

  modeOf(lease: number, name: Uint8Array): number {
    return this.#of(lease, name) === this.#side ? this.#keys.modeOf(this.#side.find(lease, name)) : EXCLUSIVE;
  }

  quarantineUsOf(lease: number, name: Uint8Array): number {
    return this.#of(lease, name).quarantineUsOf(lease, name);
  }

  leftUs(lease: number, name: Uint8Array, step: QuorumStep): number {
    return this.#of(lease, name).leftUs(lease, name, step);
  }

  beginOffer(lease: number, name: Uint8Array, step: QuorumStep): boolean {
    const holder = this.#of(lease, name);
    return holder.canChange(lease, name, step) && holder.beginChange(lease, name, holder.ballotOf(lease, name), step);
  }

  endOffer(lease: number, name: Uint8Array, step: QuorumStep): void {
    this.#of(lease, name).turnBack(lease, name, step);
  }

  handOver(lease: number, name: Uint8Array, to: Heir, step: QuorumStep): boolean {
    return this.#of(lease, name).handOver(lease, name, to, step);
  }

  // ── Other modes ────────────────────────────────────────────────────────────────────────────────────

  /** Whether the lease is a reader's, and may become the only one. */
  canUpgrade(lease: number, name: Uint8Array, step: QuorumStep): boolean {
    const id = this.#side.find(lease, name);
    return id >= 0 && this.#keys.modeOf(id) === SHARED && this.#side.canChange(lease, name, step);
  }

  termUsOf(lease: number, name: Uint8Array): number {
    return this.#side.termUsOf(lease, name);
  }

  /** The last ballot of a lease: its next proposal must be above. */
  ballotOf(lease: number, name: Uint8Array): BallotTime {
    return this.#side.count === 0 ? NO_BALLOT : this.#side.ballotOf(lease, name);
  }

  beginUpgrade({ lease, name, ballot }: Pursuit, step: QuorumStep): boolean {
    return this.#side.beginChange(lease, name, ballot, step);
  }

  fillUpgrade({ lease, name }: Pursuit, message: QuorumMessage): void {
    this.#side.fillChange(lease, name, message);
  }

  turnBack({ lease, name }: Pursuit, step: QuorumStep): void {
    this.#side.turnBack(lease, name, step);
  }

  /** False if it is not held any more. */
  upgrade(pursuit: Pursuit, step: QuorumStep): boolean {
    const { lease, name } = pursuit;
    const id = this.#side.find(lease, name);
    if (id < 0) return false;
    const before = this.#keys.modeOf(id);
    // Before its caller is told.
    this.#keys.setMode(id, EXCLUSIVE);
    if (this.#side.upgrade(pursuit, step)) return true;
    if (this.#side.find(lease, name) >= 0) this.#keys.setMode(id, before);
    return false;
  }

  downgrade({ lease, name }: CommandOf<'downgrade'>, step: QuorumStep): void {
    const holder = this.#of(lease, name);
    const isReader = holder === this.#side && this.#keys.modeOf(this.#side.find(lease, name)) !== EXCLUSIVE;
    // Where too few voters know of readers it keeps its mode: as a reader's it could not be renewed.
    if (isReader || !holder.canChange(lease, name, step) || this.#out.isMostlyPlain(this.#out.placementOf(name))) return;
    if (holder === this.#exclusive) {
      const moved = this.#exclusive.moveOut(lease, name);
      if (moved === null) return;
      this.#keys.enter(lease, name, SHARED, 0);
      this.#side.moveIn(lease, name, moved);
    } else {
      this.#side.bundled.leave(this.#side.find(lease, name));
      this.#keys.setMode(this.#side.find(lease, name), SHARED);
    }
    this.#side.downgrade(lease, name, step);
  }

  #of(lease: number, name: Uint8Array): Holder {
    return !this.#side.isIdle && (this.#side.find(lease, name) >= 0 || this.#side.isReleasing(lease)) ? this.#side : this.#exclusive;
  }

  snapshot(): Snapshot {
    return {
      ...(this.#exclusive.snapshot() as object),
      side: this.#side.isIdle ? null : this.#side.snapshot(),
      keys: this.#keys.snapshot(),
      published: this.#published.snapshot(),
      limits: this.#limits.snapshot(),
      offers: this.#offers.snapshot(),
      rounds: this.rounds.snapshot(),
    } as unknown as Snapshot;
  }

  restore(snapshot: Snapshot): void {
    const { side, keys, published, limits, offers, rounds } = snapshot as unknown as HoldersSnapshot;
    this.#published.restore(published);
    this.#limits.restore(limits);
    this.#exclusive.restore(snapshot);
    if (side !== null) this.#side.restore(side);
    this.#keys.restoreModes(keys);
    this.#offers.restore(offers);
    this.rounds.restore(rounds);
  }
}
