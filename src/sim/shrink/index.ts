/** Shrinking a failing seed to a script. */
export { shrinker, type Shrinker, type Shrunk, type ShrunkScript } from './shrink.ts';
export type { TapeToScript } from './tape-to-script.ts';
export type { Lines, Said } from '../tape.ts';
export type { ReductionWatch } from './world-reduction.ts';
