/** Shrinking a failing seed to a script. */
import { quorumStaging } from '../stage/quorum.ts';
import { roundStagings } from '../stage/rounds.ts';
import { registerStaging } from '../stage/register.ts';
import { roundsRegisterStaging } from '../stage/rounds-register.ts';
import { toyStaging } from '../stage/toy.ts';
import { quorumLifting, registerLifting, roundLifting, roundsRegisterLifting, toyLifting } from './liftings.ts';
import { shrinker, type Shrinker } from './shrink.ts';

export type { Shrinker, Shrunk, ShrunkScript } from './shrink.ts';
export type { ReductionWatch } from './world-reduction.ts';

/** Every protocol whose runs can be shrunk. A new one is a line here and a `Lifting` beside the others. */
export const shrinkers: readonly Shrinker[] = [
  shrinker(quorumStaging, quorumLifting),
  ...roundStagings.map((staging) => shrinker(staging, roundLifting)),
  shrinker(registerStaging, registerLifting),
  shrinker(roundsRegisterStaging, roundsRegisterLifting),
  shrinker(toyStaging, toyLifting),
];
