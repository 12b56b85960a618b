/** Readers and writers, killed at random, on a directory: the small form of `bench/readers.mjs`. */
import { expect, it } from 'vitest';
import { bench } from '../support/bench.ts';

interface Judged {
  readonly violations: readonly string[];
  readonly grants: { readonly shared: number; readonly exclusive: number };
}

it.concurrent.each([
  ['with compare-and-set', ['--delta', '100', '--term', '1500']],
  ['in a cell, and the fence of the file refuses who comes late', ['--cell', '--term', '1500']],
  ['on plain registers', ['--plain', '--delta', '150', '--term', '1500']],
])('no writer holds the lease beside anybody, %s', { timeout: 240_000 }, async (_, args) => {
  const { said, stderr, code } = await bench('readers.mjs', ...args, '--readers', '4', '--seconds', '8', '--kills', '4');
  expect(stderr).toBe('');
  const { violations, grants } = said as Judged;
  expect({ violations, code }).toEqual({ violations: [], code: 0 });
  expect(Math.min(grants.shared, grants.exclusive)).toBeGreaterThan(0);
});
