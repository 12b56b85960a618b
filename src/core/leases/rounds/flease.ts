/**
 * GetLease of Flease, between its READ and its WRITE: Algorithm 2 (no renewal), 3 (the owner may extend) and 4
 * (clocks agree only within ε: a lease that ended less than ε ago may still be used by its owner).
 */
import { hasEnded, isOwn, newestValue, type Algorithm, type Judgement, type RoundContext } from './algorithm.ts';
import type { Claim, Round } from './claim.ts';
import type { RoundStep } from './config.ts';

export class FleaseAlgorithm implements Algorithm {
  readonly #algorithm: 2 | 3 | 4;

  constructor(algorithm: 2 | 3 | 4) {
    this.#algorithm = algorithm;
  }

  get renews(): boolean {
    return this.#algorithm >= 3;
  }

  readonly teaches = false;

  judge(claim: Claim, round: Round, surroundings: RoundContext, step: RoundStep): Judgement {
    const { timing, rules, compare } = surroundings;
    // An owner knows what a quorum has. Another lease that lives somewhere is what a failed attempt left there; members that have ours keep it (rule 2).
    if (round.purpose === 'renew' && this.renews && rules.keepLiveLease) return { kind: 'take' };
    const value = newestValue(round.told, compare);
    if (value === null) return { kind: 'take' };
    if (isOwn(value, claim, surroundings)) return this.renews || round.purpose !== 'renew' ? { kind: 'take' } : { kind: 'help', value };
    if (!hasEnded(value, surroundings, step)) return { kind: 'help', value };
    const inSafetyPeriod = value.untilUs + timing.skewUs > step.wallUs;
    if (this.#algorithm === 4 && rules.epsilonWait && inSafetyPeriod) return { kind: 'rest', spanUs: timing.skewUs, value };
    return { kind: 'take' };
  }
}
