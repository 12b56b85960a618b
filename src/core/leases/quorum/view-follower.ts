/**
 * In which view this node asks. A voter in a higher view says so, and the node goes there at once. Where most voters of a name are
 * in lower views, the node goes back to the highest of these: perhaps no other process knows the view that it heard of.
 */
import { monoAfter, monoUs, type MonoUs, type NodeId } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import type { LeaseCommand } from '../contract.ts';
import { retime, timingFor, type Timing } from '../timing.ts';
import { viewBytes, viewIn } from '../view-snapshots.ts';
import { compareViews, decodeView, rateErrorPpmOf, termUsMaxOf, longestTermUsOf, type View } from '../views.ts';
import type { Acceptor } from './acceptor.ts';
import type { AskingRoles } from './asking-roles.ts';
import type { Checks } from './checks.ts';
import type { QuorumStep } from './config.ts';
import type { Holders } from './holders.ts';
import { VIEWED, type QuorumMessage } from './messages.ts';
import type { QuorumOutbox } from './outbox.ts';
import type { Proposer } from './proposer.ts';
import { ViewElectorate } from './view-electorate.ts';

interface FollowerGround {
  readonly out: QuorumOutbox;
  readonly proposer: Proposer;
  readonly holder: Holders;
  readonly asking: AskingRoles;
  readonly checks: Checks;
  readonly acceptor: Acceptor | null;
}

type FollowerSnapshot = readonly [
  /** Null: the view that it was built with. */
  bytes: readonly number[] | null,
  stated: readonly (readonly [NodeId, readonly number[]])[],
  left: readonly [number, number],
  leftUntil: MonoUs,
];

export class ViewFollower {
  readonly #ground: FollowerGround;
  readonly #configured: Timing;
  readonly #first: View;
  /** What members have said since it is in this view that are in others. */
  readonly #stated = new Map<NodeId, View>();
  /** It went back from this one, and does not go there again for a while on the word of one member. */
  #left: Pick<View, 'epoch' | 'id'> = { epoch: 0, id: 0 };
  #leftUntil: MonoUs = monoUs(-Infinity);

  constructor(ground: FollowerGround) {
    this.#ground = ground;
    this.#configured = ground.out.setUp;
    this.#first = ground.out.view;
    this.#applyTimes(ground.out.view);
  }

  /** Goes on in a view that is higher. */
  follow(view: View, step: QuorumStep): void {
    if (compareViews(view, this.#ground.out.view) <= 0) return;
    if (step.monoUs < this.#leftUntil && compareViews(view, this.#left) <= 0) return;
    this.#enter(view, step);
  }

  /** The caller of this node has made the view, or has heard of it. Its own member hears by a vote of a view that the caller has made. */
  heard({ kind, view }: Extract<LeaseCommand, { kind: 'enter-view' | 'hear-view' }>, step: QuorumStep): void {
    if (kind === 'hear-view') this.#ground.acceptor?.views.consider(view, step);
    this.follow(view, step);
  }

  /** A member says which view it is in. */
  told(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const { acceptor } = this.#ground;
    acceptor?.views.told(from, message, step);
    const view = decodeView(message.meta, message.metaStart, message.metaEnd);
    if (view !== null) this.follow(view, step);
  }

  /** A voter is in this view by now, whatever it said before. A vote on the lease of views also says which view its member has stored. */
  voted(member: NodeId, { flags, lease, viewEpoch: epoch, viewId: id, clock: highest }: QuorumMessage, step: QuorumStep): void {
    this.#stated.delete(member);
    if ((flags & VIEWED) !== 0) step.emit({ kind: 'view-vote', lease, member, epoch, id, highest });
  }

  /** A voter is in another view, which comes with its refusal. */
  refused(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const { out, acceptor, proposer, holder } = this.#ground;
    const view = decodeView(message.meta, message.metaStart, message.metaEnd);
    if (view === null) return;
    acceptor?.views.consider(view, step);
    if (compareViews(view, out.view) > 0) this.follow(view, step);
    const side = Math.sign(compareViews(view, out.view));
    if (side < 0) acceptor?.views.tell(from, step);
    // It is there by now, or most voters of the name must say the same before it goes.
    if (side === 0 || (side < 0 && !out.rules.wayBack)) return;
    this.#stated.set(from, view);
    const voters = proposer.votersOf(message.lease) ?? holder.votersOf(message.lease) ?? [];
    const alike = voters.flatMap((voter) => this.#stated.get(voter) ?? []).filter((one) => Math.sign(compareViews(one, out.view)) === side);
    if (alike.length * 2 <= voters.length) return;
    if (side < 0) {
      this.#left = out.view;
      this.#leftUntil = monoAfter(step.monoUs, out.timing.refreshUs);
    }
    this.#enter(
      alike.reduce((highest, one) => (compareViews(one, highest) > 0 ? one : highest)),
      step,
    );
  }

  #enter(view: View, step: QuorumStep): void {
    const { out, proposer, holder, asking } = this.#ground;
    out.view = view;
    out.electorate = new ViewElectorate(view, out.rules);
    this.#stated.clear();
    this.#applyTimes(view);
    step.emit({ kind: 'view', view });
    proposer.viewChanged(step);
    holder.viewChanged(step);
    asking.viewChanged(step);
  }

  #applyTimes(view: View): void {
    const { out, checks, acceptor } = this.#ground;
    const termUsMax = out.rules.jointTerms ? termUsMaxOf(view) : longestTermUsOf(view);
    const { rttUs } = out.timing;
    out.setUp = timingFor(this.#configured, termUsMax, rateErrorPpmOf(view));
    out.timing = retime(out.setUp, rttUs);
    checks.allow(longestTermUsOf(view));
    acceptor?.retime(out.timing);
  }

  snapshot(): Snapshot {
    const { view } = this.#ground.out;
    const stated = [...this.#stated].sort(([a], [b]) => a - b).map(([member, said]) => [member, viewBytes(said)] as const);
    return [view === this.#first ? null : viewBytes(view), stated, [this.#left.epoch, this.#left.id], this.#leftUntil];
  }

  restore(snapshot: Snapshot): void {
    const { out } = this.#ground;
    const [bytes, stated, [epoch, id], leftUntil] = snapshot as unknown as FollowerSnapshot;
    const view = bytes === null ? null : viewIn(bytes);
    if (view !== null) {
      out.view = view;
      out.electorate = new ViewElectorate(view, out.rules);
      this.#applyTimes(view);
    }
    for (const [member, told] of stated) {
      const said = viewIn(told);
      if (said !== null) this.#stated.set(member, said);
    }
    this.#left = { epoch, id };
    this.#leftUntil = leftUntil;
  }
}
