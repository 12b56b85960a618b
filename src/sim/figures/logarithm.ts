/** The natural logarithm in plain arithmetic, so that it is the same on every engine and machine, and random times that need it. */
import { invariant, type Random } from '../../kernel/index.ts';

/** Of any positive finite number: x = m·2^e with m near 1, and ln m = 2·artanh((m−1)/(m+1)) as a series. */
export function ln(x: number): number {
  invariant(x > 0 && x < Infinity, `there is no logarithm of ${x}`);
  let m = x;
  let e = 0;
  for (; m > Math.SQRT2; m /= 2) e++;
  for (; m < Math.SQRT1_2; m *= 2) e--;
  const s = (m - 1) / (m + 1);
  let power = s;
  let sum = s;
  for (let k = 3; ; k += 2) {
    power *= s * s;
    const next = sum + power / k;
    if (next === sum) return e * Math.LN2 + 2 * sum;
    sum = next;
  }
}

/** A whole number of microseconds, exponentially distributed with this mean; at least 1. */
export function exponentialUs(random: Random, meanUs: number): number {
  const uniform = (random.below(Number.MAX_SAFE_INTEGER) + 1) / Number.MAX_SAFE_INTEGER;
  return Math.max(1, Math.round(-ln(uniform) * meanUs));
}
