import { describe, expect, test } from 'vitest';
import { Random } from '../../../src/kernel/index.ts';
import { curveAt, fitCurve } from '../../../src/sim/figures/least-squares.ts';
import { exponentialUs, ln } from '../../../src/sim/figures/logarithm.ts';
import { meanOf } from '../../../src/sim/figures/sample.ts';

describe('the logarithm', () => {
  test('is that of the engine, to the last digits', () => {
    const values = [1e-16, 0.3, 0.5, Math.SQRT1_2, 0.999999, 1, 1.000001, Math.SQRT2, 2, Math.E, 10, 1024, 1e9];
    for (const value of values) expect(ln(value)).toBeCloseTo(Math.log(value), 13);
    expect(ln(1)).toBe(0);
  });

  test('is refused of what has none', () => {
    for (const value of [0, -1, NaN, Infinity]) expect(() => ln(value)).toThrow('there is no logarithm');
  });
});

test('exponential times have their mean, and a memoryless tail', () => {
  const random = new Random(7);
  const times = Array.from({ length: 20_000 }, () => exponentialUs(random, 1_000_000));
  expect(times.every((time) => Number.isInteger(time) && time >= 1)).toBe(true);
  expect(Math.abs(meanOf(times).mean / 1_000_000 - 1)).toBeLessThan(0.02);
  const beyond = (limit: number): number => times.filter((time) => time > limit * 1_000_000).length / times.length;
  for (const limit of [1, 2, 4]) expect(Math.abs(beyond(limit) - Math.exp(-limit))).toBeLessThan(0.01);
});

describe('a mean', () => {
  test('has the interval of Student’s distribution', () => {
    const { mean, ci95 } = meanOf([2, 4, 4, 6]);
    expect(mean).toBe(4);
    expect(ci95).toBeCloseTo(3.1824 * Math.sqrt(8 / 3 / 4), 3);
    expect(meanOf([1, 3]).ci95).toBeCloseTo(12.7062, 3);
    expect(meanOf([-1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1]).ci95).toBeCloseTo(2.2281 * Math.sqrt(120 / 11 / 10 / 11), 3);
  });

  test('of one value has no interval', () => {
    expect(() => meanOf([1])).toThrow('no interval');
  });
});

describe('a fit', () => {
  const terms = [() => 1, (n: number) => n, ln];
  const sizes = [1, 2, 4, 8, 16, 32, 64, 128, 256];

  test('finds the curve that the points are on', () => {
    const points = sizes.map((n) => ({ x: n, y: curveAt([5.5, 11.25, -3], terms, n) }));
    const { coefficients, r2 } = fitCurve(points, terms);
    for (const [index, value] of [5.5, 11.25, -3].entries()) expect(coefficients[index]).toBeCloseTo(value, 7);
    expect(r2).toBeCloseTo(1, 12);
  });

  test('explains as much as a textbook says', () => {
    // y = 1.5 + 0.9·x: squares missed 0.7, squares around the mean 4.75.
    const points = [1, 2, 3, 4].map((x, index) => ({ x, y: [2, 4, 4, 5][index] as number }));
    const { coefficients, r2 } = fitCurve(points, [() => 1, (x) => x]);
    expect(coefficients[0]).toBeCloseTo(1.5, 9);
    expect(coefficients[1]).toBeCloseTo(0.9, 9);
    expect(r2).toBeCloseTo(1 - 0.7 / 4.75, 9);
  });

  test('needs as many points as terms', () => {
    expect(() => fitCurve([{ x: 1, y: 1 }], terms)).toThrow('too few points');
  });
});
