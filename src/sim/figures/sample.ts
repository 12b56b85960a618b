/** The mean of a sample, and how far off it may be. */
import { invariant } from '../../kernel/index.ts';

export interface SampleMean {
  readonly mean: number;
  /** Half of the 95% interval: the mean is this much more or less. */
  readonly ci95: number;
}

/** Of at least two values. */
export function meanOf(values: readonly number[]): SampleMean {
  const count = values.length;
  invariant(count >= 2, 'one value has no interval');
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  const squares = values.reduce((sum, value) => sum + (value - mean) * (value - mean), 0);
  return { mean, ci95: studentT95(count - 1) * Math.sqrt(squares / (count - 1) / count) };
}

/** 97.5% of Student's distribution are below it. Exact for few degrees of freedom, then the expansion in their inverse. */
function studentT95(degrees: number): number {
  const exact = [12.7062, 4.3027, 3.1824, 2.7764, 2.5706][degrees - 1];
  return exact ?? 1.95996 + 2.37227 / degrees + 2.8225 / (degrees * degrees) + 2.5559 / (degrees * degrees * degrees);
}
