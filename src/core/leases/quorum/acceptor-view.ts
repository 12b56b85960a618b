/**
 * The view that a member is in: the member votes in this view and no other. Which messages may move it to a higher view, where the view is
 * stored, and what changes with it. Members tell each other their views, so that a member that was away hears of a new one. A view is
 * *stored* once no later start of this member begins below it.
 */
import { monoAfter, NEVER, NO_BALLOT, type BallotTime, type MonoUs, type NodeId } from '../../../kernel/index.ts';
import type { Boot, Snapshot } from '../../contract.ts';
import type { Horizon } from '../horizon.ts';
import type { Roster } from '../roster.ts';
import { Succession, type SuccessionSide } from '../succession.ts';
import { stretch, type Timing } from '../timing.ts';
import { viewBytes, viewIn } from '../view-snapshots.ts';
import {
  compareViews,
  configsOf,
  decodeView,
  encodeView,
  longestTermUsOf,
  membersOf,
  nameQuorumOf,
  rateErrorPpmOf,
  termUsMaxOf,
  type View,
} from '../views.ts';
import type { QuorumConfig, QuorumStep } from './config.ts';
import type { Floors } from './floors.ts';
import type { Ledger } from './ledger.ts';
import { QuorumMessage, VIEW_TOLD } from './messages.ts';
import type { QuorumRules } from './rules.ts';
import type { VotingState } from './voting-state.ts';

/** Whose vote on the lease of views is live here: none, the asking process's own, or another process's. */
export type ViewVote = 'none' | 'own' | 'others';

interface AcceptorViewGround {
  readonly config: Pick<QuorumConfig, 'memberKeys' | 'replication' | 'timing' | 'view' | 'isViewStored' | 'viewsKeptBy'>;
  readonly boot: Pick<Boot, 'self' | 'incarnation'>;
  readonly rules: QuorumRules;
  readonly ledger: Ledger | null;
  readonly voting: VotingState;
  readonly succession: Succession | null;
  readonly floors: Floors;
  readonly horizon: Horizon;
  /** Where the floor of the lease of views is. */
  readonly viewHash: number;
  readonly viewVote: (message: QuorumMessage | null, step: QuorumStep) => ViewVote;
  /** Lets all votes go: what a rule forbids. */
  readonly dropVotes: (step: QuorumStep) => void;
  /** This node proposes in it, too. */
  readonly adopted: (view: View, step: QuorumStep) => void;
}

/** No bytes: the view that it was built with. */
type AcceptorViewSnapshot = readonly [bytes: readonly number[] | null, epoch: number, id: number, tellAt: MonoUs, isToBeKept: boolean];

/** The view that a cell is set up with. */
export function firstView({ memberKeys, replication, timing, view }: AcceptorViewGround['config']): View {
  const { maxTermUs, rateErrorPpm } = timing;
  const members = memberKeys.map((key, number) => ({ number, key, text: '' }));
  const cur = { members, replication: replication ?? memberKeys.length, maxTermUs, rateErrorPpm };
  return view ?? { epoch: 0, id: 0, cur, old: null, floor: NO_BALLOT, isMoved: false };
}

/** The members that must note a life in the view, by side. */
function successionSidesOf(view: View): SuccessionSide[] {
  return configsOf(view).map((config) => ({ members: config.members.map(({ number }) => number), quorum: nameQuorumOf(config) }));
}

/** How a member that was started takes the place of its earlier life; null where the operator ensures one process per member. */
export function successionOf(
  { succession: mode, timing, keeps = 'nothing' }: QuorumConfig,
  view: View,
  boot: Boot,
  roster: Roster,
): Succession | null {
  if (mode === undefined) return null;
  const { attemptUs: resendUs, refreshUs: resendUsMax } = timing;
  // A directory serves one process at a time: a process that has found its own directory again is alone. A disk that keeps nothing proves nothing.
  const diskKept = boot.diskKept && keeps !== 'nothing';
  return new Succession({ mode, sides: successionSidesOf(view), resendUs, resendUsMax }, { ...boot, diskKept }, roster);
}

export class AcceptorView {
  view: View;
  /** The longest term it votes for, and the rate error votes are stretched by, both of the view. */
  termUsMax: number;
  rateErrorPpm: number;
  readonly #ground: AcceptorViewGround;
  readonly #message = new QuorumMessage();
  readonly #timing: Timing;
  readonly #first: View;
  /** No later start is below this one. */
  #stored: Pick<View, 'epoch' | 'id'>;
  #bytes: Uint8Array | null = null;
  #tellAt: MonoUs = NEVER;
  /** It was started with a view that is not stored: its disk keeps it as soon as it has been read. */
  #isToBeKept: boolean;

  constructor(ground: AcceptorViewGround) {
    this.#ground = ground;
    this.#timing = ground.config.timing;
    this.#first = firstView(ground.config);
    this.view = this.#first;
    this.#stored = ground.config.isViewStored === false ? { epoch: 0, id: 0 } : this.view;
    this.#isToBeKept = ground.config.isViewStored === false && this.view.epoch > 0;
    this.termUsMax = ground.rules.jointTerms ? termUsMaxOf(this.view) : longestTermUsOf(this.view);
    this.rateErrorPpm = rateErrorPpmOf(this.view);
  }

  get wakeAt(): MonoUs {
    return this.#tellAt;
  }

  /** A later view than the first that it is started with asks for its own silence, too. */
  start(step: QuorumStep): void {
    if (this.view.epoch > 0) this.#enter(this.view, step);
  }

  isIn({ viewEpoch, viewId }: QuorumMessage): boolean {
    return viewEpoch === this.view.epoch && viewId === this.view.id;
  }

  /** A proposal by the holder of the lease of views, or by a proposer that may become it: its metadata is the view to be in. */
  proposed(message: QuorumMessage, step: QuorumStep): void {
    const view = decodeView(message.meta, message.metaStart, message.metaEnd);
    if (view !== null && this.#ground.viewVote(message, step) !== 'others') this.#adopt(view, step);
  }

  /** A member says which view it is in. */
  told(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const view = decodeView(message.meta, message.metaStart, message.metaEnd);
    if (view === null) return;
    if (compareViews(view, this.view) < 0) this.tell(from, step);
    else this.consider(view, step);
  }

  /** The member has heard of a view. While it has a live vote for a view initiator, it takes views from that initiator only. */
  consider(view: View, step: QuorumStep): void {
    const { rules, viewVote } = this.#ground;
    if (!rules.gossipYields || viewVote(null, step) === 'none') this.#adopt(view, step);
  }

  #adopt(view: View, step: QuorumStep): void {
    const { ledger, rules, voting, config, adopted, dropVotes } = this.#ground;
    if (voting.isLoading || compareViews(view, this.view) <= 0) return;
    const before = this.view;
    this.#enter(view, step);
    if (!rules.rowsStay) dropVotes(step);
    const isKept = ledger !== null && config.viewsKeptBy !== 'caller';
    if (isKept) ledger.keepView(this.bytes, this.#silenceUs, step);
    this.#isToBeKept = false;
    if (!rules.sealStored) this.#stored = view;
    step.emit({ kind: 'view-adopted', view, isKept });
    for (const member of new Set([...membersOf(before), ...membersOf(view)])) this.tell(member as NodeId, step);
    this.#tellAt = monoAfter(step.monoUs, this.#timing.refreshUs);
    adopted(view, step);
  }

  #enter(view: View, step: QuorumStep): void {
    const { rules, voting, succession, floors, horizon, viewHash } = this.#ground;
    this.view = view;
    this.#bytes = null;
    // The holder of the lease of views in this view has a token above the view's id.
    floors.raise(viewHash, view.id as BallotTime);
    this.termUsMax = rules.jointTerms ? termUsMaxOf(view) : longestTermUsOf(view);
    this.rateErrorPpm = rateErrorPpmOf(view);
    if (rules.viewFloor) {
      horizon.observe(view.floor, step);
      floors.raiseAll(view.floor);
    }
    if (rules.silenceOfView) voting.inView(this.#silenceUs, step);
    succession?.setSides(successionSidesOf(view), step);
    if (this.#tellAt === NEVER) this.#tellAt = monoAfter(step.monoUs, this.#timing.refreshUs);
  }

  get #silenceUs(): number {
    return stretch(longestTermUsOf(this.view), this.rateErrorPpm);
  }

  get bytes(): Uint8Array {
    // The initiator of the view has encoded it already, so it can be encoded.
    return (this.#bytes ??= encodeView(this.view) ?? new Uint8Array(0));
  }

  // ── Where it is stored ─────────────────────────────────────────────────────────────────────────────

  /** The last life had stored it. */
  restoreView(view: View, step: QuorumStep): void {
    if (compareViews(view, this.view) <= 0) return;
    this.#enter(view, step);
    this.#stored = view;
    step.emit({ kind: 'view-adopted', view, isKept: true });
    this.#ground.adopted(view, step);
  }

  /** The view that is on its disk; none while that is the first. */
  viewKept(bytes: readonly number[]): void {
    const view = decodeView(Uint8Array.from(bytes), 0, bytes.length);
    if (view !== null) this.viewStored(view);
  }

  /** Its caller has stored a view. */
  viewStored(stored: Pick<View, 'epoch' | 'id'>): void {
    if (compareViews(stored, this.#stored) > 0) this.#stored = stored;
  }

  /** What a vote on the lease of views tells of it: nothing before enough members have noted this life in the view. */
  fillStored(vote: QuorumMessage): void {
    const { succession, horizon } = this.#ground;
    vote.setView(succession === null || succession.hasEnough ? this.#stored : { epoch: 0, id: 0 });
    vote.clock = horizon.highest;
  }

  /** No later start of this member is below this view. */
  get stored(): Pick<View, 'epoch' | 'id'> {
    return this.#stored;
  }

  // ── Telling the others ─────────────────────────────────────────────────────────────────────────────

  /** Tells a node that is behind, or may be; nothing as long as the cell is in the view that it was set up with. */
  tell(to: NodeId, step: QuorumStep): void {
    const { self, incarnation } = this.#ground.boot;
    if (to === self || this.view.epoch === 0) return;
    const message = this.#message;
    message.kind = VIEW_TOLD;
    message.flags = 0;
    message.owner = incarnation;
    message.lease = 0;
    message.setMeta(this.bytes);
    step.send(to, message);
  }

  wake(step: QuorumStep): void {
    if (step.monoUs < this.#tellAt) return;
    this.#keepStart(step);
    for (const member of membersOf(this.view)) this.tell(member as NodeId, step);
    this.#tellAt = monoAfter(step.monoUs, this.#timing.refreshUs);
  }

  #keepStart(step: QuorumStep): void {
    const { ledger, config, voting } = this.#ground;
    if (!this.#isToBeKept || voting.isLoading) return;
    this.#isToBeKept = false;
    if (ledger !== null && config.viewsKeptBy !== 'caller') ledger.keepView(this.bytes, this.#silenceUs, step);
  }

  snapshot(): Snapshot {
    return [this.view === this.#first ? null : viewBytes(this.view), this.#stored.epoch, this.#stored.id, this.#tellAt, this.#isToBeKept];
  }

  restore(snapshot: Snapshot): void {
    const [bytes, epoch, id, tellAt, isToBeKept] = snapshot as unknown as AcceptorViewSnapshot;
    this.#isToBeKept = isToBeKept;
    const view = bytes === null ? null : viewIn(bytes);
    if (view !== null) {
      this.view = view;
      this.#bytes = null;
      this.termUsMax = this.#ground.rules.jointTerms ? termUsMaxOf(view) : longestTermUsOf(view);
      this.rateErrorPpm = rateErrorPpmOf(view);
      this.#ground.succession?.restoreSides(successionSidesOf(view));
    }
    this.#stored = { epoch, id };
    this.#tellAt = tellAt;
  }
}
