/** What the asking side sends: requests to the voters of a name, and what an owner tells learners (P6). One record serves all. */
import { hashName, type BallotTime, type NodeId } from '../../../kernel/index.ts';
import type { Electorate } from '../electorate.ts';
import type { RoundContext } from './algorithm.ts';
import type { Claim, Round } from './claim.ts';
import type { RoundStep } from './config.ts';
import {
  ROUND_LEARN,
  LETS_GO,
  LOOKS,
  NO_ANSWER,
  READ,
  ROUND_RELEASE,
  RENEWS_OWN,
  RoundMessage,
  WRITE,
  type LeaseValue,
} from './messages.ts';

export class RoundOutbox {
  readonly #surroundings: RoundContext;
  readonly #electorate: Electorate;
  readonly #teaches: boolean;
  readonly #message = new RoundMessage();

  constructor(surroundings: RoundContext, electorate: Electorate, teaches: boolean) {
    this.#surroundings = surroundings;
    this.#electorate = electorate;
    this.#teaches = teaches;
  }

  votersOf(name: Uint8Array): readonly NodeId[] {
    return this.#electorate.votersOf(hashName(name, 0, name.length));
  }

  read(claim: Claim, { ballot, purpose }: Round, step: RoundStep): void {
    const message = this.#compose(READ, claim, ballot, step);
    if (purpose === 'look') message.flags = LOOKS;
    this.#send(message, claim.voters, step);
  }

  write(claim: Claim, ballot: BallotTime, value: LeaseValue, renews: boolean, step: RoundStep): void {
    const message = this.#compose(WRITE, claim, ballot, step);
    message.setValue(value);
    if (renews) message.flags |= RENEWS_OWN;
    this.#send(message, claim.voters, step);
  }

  /** The lease ends now, or at its deadline: told to the voters that have not answered yet. */
  release(claim: Claim, step: RoundStep): void {
    const message = this.#compose(ROUND_RELEASE, claim, claim.written, step);
    // By the monotonic clock alone: a wall clock that is ahead now may be set back, and the owner go on.
    const leftUs = claim.deadlineMono - step.monoUs;
    message.untilUs = !claim.endsLater ? 0 : this.#surroundings.timing.clocks === 'absolute' ? claim.untilUs : leftUs;
    const unanswered = claim.voters.filter((voter) => !claim.released.has(voter));
    this.#send(message, unanswered, step);
  }

  /** The round has failed: a value it may have written for its own node is given back. */
  giveBackRound(claim: Claim, round: Round, step: RoundStep): void {
    const { rules, owner } = this.#surroundings;
    if (round.stage === 'writing' && round.isFor(owner, claim) && rules.giveBack) this.giveBack(claim, round.ballot, step);
  }

  /** A value that may have been written with this ballot is not wanted. The claim does not wait for the answer. */
  giveBack(claim: Claim, ballot: BallotTime, step: RoundStep): void {
    const message = this.#compose(ROUND_RELEASE, claim, ballot, step);
    message.flags = NO_ANSWER;
    message.untilUs = 0;
    this.#send(message, claim.voters, step);
  }

  /** Learners are told when the owner's own clock ends it, and of a release before it is proposed. */
  teach(claim: Claim, flags: number, meta: Uint8Array | undefined, step: RoundStep): void {
    if (!this.#teaches) return;
    const { timing, rules, owner } = this.#surroundings;
    const message = this.#compose(ROUND_LEARN, claim, claim.written, step);
    const slackUs = rules.learnOwnEnd ? 0 : timing.skewUs;
    const endsNow = flags === LETS_GO && !claim.endsLater;
    const leftUs = endsNow ? 0 : Math.max(0, claim.deadlineMono - step.monoUs);
    // A lease that ends now ends now for a learner whose clock is behind as well: its acceptors do not wait either.
    const untilUs = timing.clocks === 'absolute' && !endsNow ? claim.deadlineWall + slackUs : leftUs;
    message.setValue({ holder: owner, holderLease: claim.lease, token: claim.token, untilUs, ownBallot: claim.written, meta });
    message.flags |= flags;
    this.#send(message, this.#electorate.members, step);
  }

  #compose(kind: number, claim: Claim, ballot: BallotTime, step: RoundStep): RoundMessage {
    const message = this.#message;
    message.kind = kind;
    message.flags = 0;
    message.owner = this.#surroundings.owner;
    message.lease = claim.lease;
    message.ballot = ballot;
    message.clockUs = step.wallUs;
    message.setName(claim.name, 0, claim.name.length);
    message.setMeta(undefined);
    return message;
  }

  #send(message: RoundMessage, voters: readonly NodeId[], step: RoundStep): void {
    for (const voter of voters) step.send(voter, message);
  }
}
