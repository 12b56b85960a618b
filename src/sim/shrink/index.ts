/** Shrinking a failing seed to a script. */
export { shrinker, type Shrinker, type Shrunk, type ShrunkScript } from './shrink.ts';
export type { Said, TapeToScript } from './tape-to-script.ts';
export type { ReductionWatch } from './world-reduction.ts';
