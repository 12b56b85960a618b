/**
 * The view initiator changes a cell: it takes the lease of views, makes one view after the other until the cell is as it should be, and tells
 * what it waits for. It is no part of a core but its caller, so it can die anywhere: the next initiator, of whatever process, finishes a
 * joint view that it finds before it makes one of its own. A joint view is never undone.
 */
import { invariant, monoUs, NEVER, type BallotTime, type MonoUs } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import type { LeaseCommand, LeaseEvent } from '../contract.ts';
import { stretch } from '../timing.ts';
import {
  compareViews,
  encodeView,
  haveSameMembers,
  isIn,
  longestTermUsOf,
  nameQuorumOf,
  rateErrorPpmOf,
  termUsMaxOf,
  VIEW_NAME,
  type View,
  type ViewConfig,
} from '../views.ts';
import { ALL_RULES, type QuorumRules } from './rules.ts';
import { ViewElectorate } from './view-electorate.ts';

/** What an initiator asks of the node it runs on. */
export interface InitiatorHost {
  /** In which view the node asks. */
  readonly view: View;
  /** Of a lease that it asks for: never used before. */
  nextLease(): number;
  /** A ballot by the clock of the node: the id of a view, where that is not its token. Only the simulator has it so. */
  clockBallot?(): number;
  command(command: LeaseCommand): void;
}

/** What the initiator waits for. */
export type InitiatorState =
  | { readonly kind: 'lease' }
  /** These members have not stored the view; without them, quorums of the view before could come back. */
  | { readonly kind: 'stored'; readonly epoch: number; readonly missing: readonly number[] }
  /** Leases of the view before are still under way. */
  | { readonly kind: 'terms'; readonly epoch: number; readonly until: MonoUs }
  /** These members do not vote yet: in the next view there would be no quorum without them. */
  | { readonly kind: 'votes'; readonly epoch: number; readonly missing: readonly number[] }
  /** Holders follow a view before there is another one. */
  | { readonly kind: 'pause'; readonly until: MonoUs }
  | { readonly kind: 'done' };

interface Stored {
  readonly epoch: number;
  readonly id: number;
  readonly highest: BallotTime;
}

interface InitiatorMemory {
  readonly lease: number;
  readonly token: number;
  readonly proclaims: number;
  readonly view: View;
  readonly stored: readonly (readonly [member: number, stored: Stored])[];
  readonly storedAt: MonoUs;
  readonly lastViewAt: MonoUs;
  readonly askAt: MonoUs;
  readonly isConfirmed: boolean;
  readonly isFound: boolean;
  readonly state: InitiatorState;
  readonly wakeAt: MonoUs;
}

/** Of the term: so often members are asked what they have stored. */
const ASK_PARTS = 10;
/** Of the term: at least so much between two views. */
const PACE_PARTS = 2;

export class ViewInitiator {
  readonly #host: InitiatorHost;
  readonly #rules: QuorumRules;
  /** The wanted cell, made from the current one: others may change that meanwhile. */
  readonly #target: (cur: ViewConfig) => ViewConfig;
  #lease = 0;
  #token = 0;
  #proclaims = 0;
  /** The view that it is at work on. */
  #view: View;
  #stored = new Map<number, Stored>();
  /** When enough had stored it. */
  #storedAt: MonoUs = NEVER;
  #lastViewAt: MonoUs = monoUs(-Infinity);
  #askAt: MonoUs = NEVER;
  /** It holds the lease in the view that it is at work on. */
  #isConfirmed = false;
  /** Another initiator had begun the change that this one finishes. */
  #isFound = false;
  #state: InitiatorState = { kind: 'lease' };
  #wakeAt: MonoUs = NEVER;

  constructor(host: InitiatorHost, target: ViewConfig | ((cur: ViewConfig) => ViewConfig), rules: QuorumRules = ALL_RULES) {
    this.#host = host;
    this.#target = typeof target === 'function' ? target : () => target;
    this.#rules = rules;
    this.#view = host.view;
  }

  get state(): InitiatorState {
    return this.#state;
  }

  get wakeAt(): MonoUs {
    return this.#wakeAt;
  }

  /** The lease of views that it has, or asks for; 0 when it is done. */
  get lease(): number {
    return this.#lease;
  }

  /** Begins, or begins again. */
  start(now: MonoUs): void {
    const { view } = this.#host;
    this.#view = view;
    this.#token = 0;
    this.#stored.clear();
    this.#storedAt = NEVER;
    this.#wakeAt = NEVER;
    this.#lease = this.#host.nextLease();
    this.#state = { kind: 'lease' };
    const termUs = Math.floor(termUsMaxOf(view) / 1000) * 1000;
    const meta = bytesOf(view);
    this.#host.command({ kind: 'acquire', lease: this.#lease, name: VIEW_NAME, termUs, waitUs: WAIT_US, keep: true, meta });
    this.#askAt = now;
  }

  event(event: LeaseEvent, now: MonoUs): void {
    if (event.kind === 'view') this.#followed(event.view, now);
    if (!('lease' in event) || event.lease !== this.#lease || this.#state.kind === 'done') return;
    switch (event.kind) {
      case 'granted':
        this.#token = event.token;
        this.#view = this.#host.view;
        this.#lastViewAt = now;
        this.#isConfirmed = true;
        this.#goOn(now);
        return;
      case 'proclaimed':
        this.#isConfirmed = event.number === this.#proclaims;
        this.#goOn(now);
        return;
      case 'view-vote':
        this.#stored.set(event.member, { epoch: event.epoch, id: event.id, highest: event.highest });
        this.#goOn(now);
        return;
      case 'refused':
      case 'lost':
        this.#again(now);
        return;
      default:
    }
  }

  wake(now: MonoUs): void {
    if (now < this.#wakeAt || this.#state.kind === 'done') return;
    if (this.#lease === 0) this.start(now);
    else this.#goOn(now);
  }

  /** Another initiator has made a higher view, or the node went back: the held lease is of another view. It lets go, and begins again there. */
  #followed(view: View, now: MonoUs): void {
    if (this.#token === 0 || this.#state.kind === 'done' || compareViews(view, this.#view) === 0) return;
    this.#letGo(now);
  }

  #letGo(now: MonoUs): void {
    this.#host.command({ kind: 'release', lease: this.#lease, name: VIEW_NAME });
    this.#again(now);
  }

  #again(now: MonoUs): void {
    this.#lease = 0;
    this.#token = 0;
    this.#state = { kind: 'lease' };
    this.#wakeAt = monoUs(now + Math.ceil(termUsMaxOf(this.#host.view) / ASK_PARTS));
  }

  // ── While it holds the lease ───────────────────────────────────────────────────────────────────────

  #goOn(now: MonoUs): void {
    if (this.#token === 0) return;
    const { view } = this.#host;
    // A view that it finds is paced from the grant of its own lease.
    const paceUs = this.#rules.viewsPaced ? Math.ceil(termUsMaxOf(view) / PACE_PARTS) : 0;
    const paceAt = monoUs(this.#lastViewAt + paceUs);
    if (!this.#isConfirmed) {
      this.#ask(now);
      this.#pause({ kind: 'lease' }, this.#askAt);
      return;
    }
    if (view.old !== null && (view.id === this.#token || !this.#rules.viewIdIsToken)) {
      this.#finish(view, view.old, paceAt, now);
      return;
    }
    if (view.old !== null && this.#token <= view.id) {
      // It was granted by members that were not in this view yet.
      this.#letGo(now);
      return;
    }
    const next = view.old === null ? nextConfig(view.cur, this.#target(view.cur)) : view.cur;
    if (next === null) {
      this.#end();
      return;
    }
    if (now < paceAt) {
      this.#pause({ kind: 'pause', until: paceAt }, paceAt);
      return;
    }
    if (view.old === null) this.#changeTo(next, view, now);
    // Another initiator made this view, and there may be a view of the same epoch with an id in between: this lease makes it again, above both.
    else {
      this.#isFound = true;
      this.#make(view, view.epoch, now);
    }
  }

  /** Not before so many vote in this view that the next has quorums without its new members, which are silent at first. */
  #changeTo(next: ViewConfig, view: View, now: MonoUs): void {
    const { viewsPaced, jointFirst } = this.#rules;
    const missing = view.cur.members.flatMap(({ number }) => (this.#stored.has(number) ? [] : [number]));
    const added = next.members.flatMap(({ number }) => (isIn(view.cur, number) ? [] : [number]));
    const joint = { ...view, cur: next, old: view.cur };
    const canBeMissed = new ViewElectorate(joint, this.#rules).canMiss([...missing, ...added]);
    // In the first view votes do not tell of views.
    if (viewsPaced && view.epoch > 0 && missing.length > 0 && !canBeMissed) {
      this.#ask(now);
      this.#pause({ kind: 'votes', epoch: view.epoch, missing }, this.#askAt);
      return;
    }
    this.#make({ cur: next, old: jointFirst ? view.cur : null, floor: this.#floorOf(view.cur) }, view.epoch + 1, now);
  }

  /** Of a joint view: enough members of before have stored it, then the longest term, and the view before is over. */
  #finish(view: View, old: ViewConfig, paceAt: MonoUs, now: MonoUs): void {
    const missing = old.members.filter(({ number }) => !this.#hasStored(number, view));
    const fewerThan = this.#rules.sealAllButFew ? nameQuorumOf(old) : Math.ceil(old.members.length / 2);
    if (missing.length >= fewerThan) {
      this.#storedAt = NEVER;
      this.#ask(now);
      this.#pause({ kind: 'stored', epoch: view.epoch, missing: missing.map(({ number }) => number) }, this.#askAt);
      return;
    }
    if (this.#storedAt === NEVER) this.#storedAt = now;
    const spanUs = this.#rules.sealAfterSilence ? stretch(longestTermUsOf(view), rateErrorPpmOf(view)) : 0;
    const until = monoUs(Math.max(this.#storedAt + spanUs, paceAt));
    if (now < until) {
      this.#pause({ kind: 'terms', epoch: view.epoch, until }, until);
      return;
    }
    const isUndone = this.#isFound && !this.#rules.jointForward;
    this.#make({ cur: isUndone ? old : view.cur, old: null, floor: this.#floorOf(old) }, view.epoch + 1, now);
  }

  /**
   * Whether the member has stored this view or one of a later epoch. Another view of the same epoch does not count: a member that starts in
   * that view is not in this one.
   */
  #hasStored(member: number, { epoch, id }: View): boolean {
    const stored = this.#stored.get(member);
    return stored !== undefined && (stored.epoch > epoch || (stored.epoch === epoch && stored.id === id));
  }

  /** The highest ballot told by the members that have stored the view. */
  #floorOf({ members }: ViewConfig): BallotTime {
    const told = members.flatMap(({ number }) => {
      const stored = this.#stored.get(number);
      return stored && this.#hasStored(number, this.#host.view) ? [stored.highest] : [];
    });
    return (this.#rules.viewFloor ? Math.max(0, ...told) : 0) as BallotTime;
  }

  /** Its id is the token of the lease of views: of two views of one epoch the higher is the later holder's, whatever their clocks say. */
  #make({ cur, old, floor }: Pick<View, 'cur' | 'old' | 'floor'>, epoch: number, now: MonoUs): void {
    const host = this.#host;
    const isMoved = host.view.isMoved || !haveSameMembers(cur, host.view.cur);
    const id = this.#rules.viewIdIsToken ? this.#token : Math.max(this.#token, host.clockBallot?.() ?? 0);
    const view: View = { cur, old, floor, epoch, id, isMoved };
    invariant(compareViews(view, host.view) > 0, 'a view was made that is not above the last');
    if (view.old === null) this.#isFound = false;
    this.#view = view;
    this.#lastViewAt = now;
    this.#stored.clear();
    this.#storedAt = NEVER;
    this.#askAt = now;
    host.command({ kind: 'enter-view', view });
    host.command({ kind: 'proclaim', lease: this.#lease, name: VIEW_NAME, meta: bytesOf(view), number: ++this.#proclaims });
    this.#isConfirmed = false;
    this.#ask(now);
    this.#pause({ kind: 'lease' }, this.#askAt);
  }

  /** Votes tell which view members have stored: now and then it asks for some. */
  #ask(now: MonoUs): void {
    if (now < this.#askAt) return;
    const termUs = Math.floor(termUsMaxOf(this.#host.view) / 1000) * 1000;
    this.#askAt = monoUs(now + Math.ceil(termUs / ASK_PARTS));
    this.#host.command({ kind: 'renew', lease: this.#lease, name: VIEW_NAME, termUs });
  }

  #pause(state: InitiatorState, at: MonoUs): void {
    this.#state = state;
    this.#wakeAt = at;
  }

  /** It goes away, and lets others go on at once. They finish a change that it has begun. */
  giveUp(): void {
    if (this.#state.kind === 'done' || this.#lease === 0) return;
    if (this.#token === 0) this.#host.command({ kind: 'cancel', lease: this.#lease });
    // Also if it has not heard yet that it holds the lease: no other process would ever give that back.
    this.#end();
  }

  #end(): void {
    this.#state = { kind: 'done' };
    this.#wakeAt = NEVER;
    this.#host.command({ kind: 'release', lease: this.#lease, name: VIEW_NAME });
  }

  /** All that it remembers. An initiator that is built anew for the same target goes on from there. */
  snapshot(): Snapshot {
    const memory: InitiatorMemory = {
      lease: this.#lease,
      token: this.#token,
      proclaims: this.#proclaims,
      view: this.#view,
      stored: [...this.#stored],
      storedAt: this.#storedAt,
      lastViewAt: this.#lastViewAt,
      askAt: this.#askAt,
      isConfirmed: this.#isConfirmed,
      isFound: this.#isFound,
      state: this.#state,
      wakeAt: this.#wakeAt,
    };
    return memory as unknown as Snapshot;
  }

  restore(snapshot: Snapshot): void {
    const memory = snapshot as unknown as InitiatorMemory;
    this.#lease = memory.lease;
    this.#token = memory.token;
    this.#proclaims = memory.proclaims;
    this.#view = memory.view;
    this.#stored = new Map(memory.stored);
    this.#storedAt = memory.storedAt;
    this.#lastViewAt = memory.lastViewAt;
    this.#askAt = memory.askAt;
    this.#isConfirmed = memory.isConfirmed;
    this.#isFound = memory.isFound;
    this.#state = memory.state;
    this.#wakeAt = memory.wakeAt;
  }
}

/** It stands in line for as long as it takes; the caller gives up. */
const WAIT_US = 86_400_000_000;

function bytesOf(view: View): Uint8Array {
  const bytes = encodeView(view);
  invariant(bytes !== null, 'a view was made that cannot be written down');
  return bytes;
}

/**
 * The next step on the way: one member more, fewer or another; or one voter of a name more or fewer; or other terms. Where all members vote on all
 * names and are to go on doing so, the numbers of members and of voters change together. Null if there is none.
 */
export function nextConfig(from: ViewConfig, to: ViewConfig): ViewConfig | null {
  const added = to.members.find(({ number }) => !isIn(from, number));
  const removed = from.members.find(({ number }) => !isIn(to, number));
  if (added !== undefined || removed !== undefined) {
    const stay = from.members.filter((member) => member !== removed);
    const members = (added === undefined ? stay : [...stay, added]).toSorted((a, b) => a.number - b.number);
    const isWhole = from.replication === from.members.length && to.replication === to.members.length;
    return { ...from, members, replication: isWhole ? members.length : Math.min(from.replication, members.length) };
  }
  if (from.replication !== to.replication) return { ...from, replication: from.replication + Math.sign(to.replication - from.replication) };
  const { maxTermUs, rateErrorPpm } = to;
  const isSame = from.maxTermUs === maxTermUs && from.rateErrorPpm === rateErrorPpm;
  return isSame ? null : { ...from, maxTermUs, rateErrorPpm };
}
