/**
 * Which contender wins when several ask at once (F6): contenders whose clocks are apart, within ε, draw their ballots and a register
 * that all of them reach takes the highest. With plain time as the ballot the fastest clock wins; with buckets, chance does.
 */
import { compareBallots, incarnation, Random, wallUs, monoUs } from '../kernel/index.ts';
import { BucketBallots, deriveRoundTiming, PlainBallots, type Ballots, type RoundStep } from '../core/index.ts';
import { SIM_EPOCH_US } from './clock.ts';

export interface FairnessInput {
  readonly contests: number;
  readonly seed: number;
  /** Plain time ballots, as a paper without the rule would have them. */
  readonly plain: boolean;
  /** How far each contender's clock is ahead. */
  readonly offsetsUs?: readonly number[];
  readonly bucketUs?: number;
}

const SKEW_US = 200_000;
const OFFSETS_US: readonly number[] = [0, SKEW_US / 2, SKEW_US];
/** As wide as the engine has them. */
const { bucketUs: BUCKET_US } = deriveRoundTiming({
  maxTermUs: 10 * SKEW_US,
  rateErrorPpm: 0,
  rttUs: 1000,
  clocks: 'absolute',
  skewUs: SKEW_US,
  skewsInSilence: 2,
});
/** Contests are so far apart. */
const APART_US = 10 * BUCKET_US;

/** How often each contender had the highest ballot. */
export function fairness({ contests, seed, plain, offsetsUs = OFFSETS_US, bucketUs = BUCKET_US }: FairnessInput): { wins: number[] } {
  const random = new Random(seed);
  const wins = offsetsUs.map(() => 0);
  const ballots: Ballots[] = offsetsUs.map(() => (plain ? new PlainBallots() : new BucketBallots(bucketUs, true)));
  for (let contest = 0; contest < contests; contest++) {
    const nowUs = SIM_EPOCH_US + contest * APART_US + random.below(bucketUs);
    const times = ballots.map((one, i) => one.next(stepAt(nowUs + (offsetsUs[i] ?? 0), random)));
    let winner = 0;
    times.forEach((time, i) => {
      if (compareBallots(times[winner] ?? time, incarnation(winner + 1), time, incarnation(i + 1)) < 0) winner = i;
    });
    wins[winner] = (wins[winner] ?? 0) + 1;
  }
  return { wins };
}

function stepAt(us: number, random: Random): RoundStep {
  const nothing = (): void => {};
  const choose = (bound: number): number => random.below(bound);
  const storage = { read: nothing, write: nothing, swap: nothing, erase: nothing, list: nothing };
  return { monoUs: monoUs(us), wallUs: wallUs(us), choose, send: nothing, ...storage, emit: nothing };
}
