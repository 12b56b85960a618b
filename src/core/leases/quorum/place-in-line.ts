/** Where requests stand in line: what voters are told of them, again and again, and at which voters they are sure to stand. */
import { monoAfter, monoUs, NEVER, NO_BALLOT, type MonoUs, type NodeId, type VoterSet } from '../../../kernel/index.ts';
import { afterBackOff } from './attempts.ts';
import type { QuorumStep } from './config.ts';
import { QUIET, UNWAIT, UPGRADES, WAIT } from './messages.ts';
import { EXCLUSIVE, SHARED } from './modes.ts';
import type { QuorumOutbox } from './outbox.ts';
import type { AttemptVerdict, Pursuit } from './pursuit.ts';

/** A turn without a slot is asked about so often, at least, before it is the next one's too. */
const ASKS_IN_HEAD_START = 4;

export class PlaceInLine {
  readonly #out: QuorumOutbox;
  /** Looks at it again then. */
  readonly #plan: (pursuit: Pursuit, at: MonoUs) => void;

  constructor(out: QuorumOutbox, plan: (pursuit: Pursuit, at: MonoUs) => void) {
    this.#out = out;
    this.#plan = plan;
  }

  /** Tells all voters that it is there. */
  enter(pursuit: Pursuit, step: QuorumStep): void {
    const { timing } = this.#out;
    pursuit.phase = 'waiting';
    pursuit.free.clear();
    pursuit.noPlace.clear();
    pursuit.forgetFree();
    pursuit.resendGapUs = timing.attemptUs;
    pursuit.refreshAt = monoAfter(step.monoUs, timing.refreshUs);
    this.#wait(pursuit, pursuit.voters, step);
  }

  stay(pursuit: Pursuit, step: QuorumStep): void {
    if (step.monoUs >= pursuit.refreshAt) {
      this.enter(pursuit, step);
      return;
    }
    pursuit.resendGapUs *= 2;
    const missing = pursuit.voters.filter((voter) => !pursuit.inLine.has(voter));
    this.#wait(pursuit, missing, step);
  }

  /** It is its turn, but no slot is free at a quorum: votes come and go at one voter before another. Their answers a little later may fit. */
  askAgain(pursuit: Pursuit, step: QuorumStep): void {
    const { headStartUs } = this.#out.timing;
    const at = afterBackOff(pursuit, Math.floor(headStartUs / ASKS_IN_HEAD_START), this.#out, step);
    if (!pursuit.asksAgain && at < pursuit.refreshAt) pursuit.refreshAt = at;
    if (pursuit.yieldsUntil === NEVER) pursuit.yieldsUntil = monoAfter(step.monoUs, headStartUs);
    pursuit.asksAgain = true;
    this.#plan(pursuit, pursuit.refreshAt);
  }

  #wait(pursuit: Pursuit, voters: readonly NodeId[], step: QuorumStep): void {
    const { refreshAt, resendGapUs } = pursuit;
    this.#plan(pursuit, voters.length === 0 ? refreshAt : monoUs(Math.min(refreshAt, step.monoUs + resendGapUs)));
    const message = this.#out.compose(WAIT, pursuit.lease, pursuit.name);
    message.ballot = pursuit.ticket;
    // Once all have answered, they answer again only if they had forgotten it.
    if (pursuit.inLine.size === pursuit.voters.length) message.flags = QUIET;
    if (pursuit.upgrades) message.flags |= UPGRADES;
    if (pursuit.mode !== EXCLUSIVE) message.setMode(pursuit.slots > 0 ? EXCLUSIVE : pursuit.mode, pursuit.slots);
    this.#out.sendFor(pursuit.upgrades ? SHARED : pursuit.mode, voters, step);
  }

  leave(pursuit: Pursuit, but: VoterSet | null, step: QuorumStep): void {
    if (pursuit.ticket === NO_BALLOT) return;
    this.#out.compose(UNWAIT, pursuit.lease, pursuit.name);
    this.#out.sendTo(but ? pursuit.voters.filter((voter) => !but.has(voter)) : pursuit.voters, step);
  }

  standsAt(voter: NodeId, pursuit: Pursuit, step: QuorumStep): void {
    pursuit.inLine.add(voter);
    pursuit.noPlace.delete(voter);
    if (pursuit.isQueued || !this.#out.electorate.isQuorum(pursuit.inLine, pursuit.placement)) return;
    pursuit.isQueued = true;
    step.emit({ kind: 'queued', lease: pursuit.lease });
  }

  /**
   * Other leases are in the way; or answers came too late to count, and many proposers that ask again and again would only
   * delay them more. Waiters in line are told when the lease is free, and a waiter in line stays there whatever went wrong.
   */
  isWorthWhile(verdict: AttemptVerdict, { ticket }: Pursuit): boolean {
    if (!this.#out.rules.queues || verdict === 'low' || verdict === 'ahead') return false;
    if (verdict === 'too-long' || verdict === 'no-room') return false;
    return ticket !== NO_BALLOT || verdict !== 'silent';
  }
}
