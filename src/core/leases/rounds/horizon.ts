/**
 * How high ballots and tokens may go before a node of Flease or PaxosLease no longer believes them: as far ahead of its
 * own wall clock as the quorum engine allows. Flease's ballots are buckets of time, so the bound is reckoned in buckets.
 */
import { ballotTime, type BallotClock, type BallotTime, type WallUs } from '../../../kernel/index.ts';
import { ballotLimit } from '../horizon.ts';
import type { Ballots } from './ballots.ts';
import type { RoundStep } from './config.ts';
import { NACK_AHEAD, NACK_LOW, NACK_OUTBID, type LeaseValue, type RoundMessage } from './messages.ts';

export class RoundHorizon {
  readonly #ballots: Pick<Ballots, 'highestAt'>;
  readonly #aheadUsMax: number;

  constructor(ballots: Pick<Ballots, 'highestAt'>, aheadUsMax: number) {
    this.#ballots = ballots;
    this.#aheadUsMax = aheadUsMax;
  }

  get aheadUsMax(): number {
    return this.#aheadUsMax;
  }

  believesBallot(ballot: BallotTime, step: RoundStep): boolean {
    return ballot <= this.#ballots.highestAt(ballotLimit(step, this.#aheadUsMax));
  }

  believesToken(token: number, step: RoundStep): boolean {
    return token <= ballotLimit(step, this.#aheadUsMax);
  }

  believes({ token, ownBallot }: LeaseValue, step: RoundStep): boolean {
    return this.believesToken(token, step) && this.believesBallot(ownBallot, step);
  }

  /** Takes in the token that a voter told of. False if that lease is beyond belief. */
  learn(value: LeaseValue, tokens: BallotClock, step: RoundStep): boolean {
    if (!this.believes(value, step)) return false;
    tokens.observe(ballotTime(value.token));
    return true;
  }

  /** Takes in what a refusal says to go above: a token, or a ballot. */
  heed({ reason, above }: RoundMessage, ballots: Ballots, tokens: BallotClock, step: RoundStep): void {
    if (reason === NACK_LOW && this.believesToken(above, step)) tokens.observe(above);
    else if (reason !== NACK_LOW && this.believesBallot(above, step)) ballots.observe(above);
  }

  /** What a refusal means to a round: where the asker's clock is near the voter's, others have driven ballots up, and that passes. */
  reasonOf({ reason, clockUs }: RoundMessage, { startWall }: { readonly startWall: WallUs }): number {
    return reason === NACK_AHEAD && startWall <= clockUs + this.#aheadUsMax ? NACK_OUTBID : reason;
  }

  /** The ballot that askers are told to go above: half of the bound, so that members whose clocks are behind still believe it. */
  told(ballot: BallotTime, step: RoundStep): BallotTime {
    return ballotTime(Math.max(0, Math.min(ballot, Math.floor(this.#ballots.highestAt(ballotLimit(step, this.#aheadUsMax / 2))))));
  }
}
