/** Readers and writers, killed at random, on a directory: the small form of `bench/readers.mjs`. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../support/tree.ts';

interface Judged {
  readonly violations: readonly string[];
  readonly grants: { readonly shared: number; readonly exclusive: number };
}

it.each([
  ['with compare-and-set', ['--delta', '100', '--term', '1500']],
  ['in a cell, and the fence of the file refuses who comes late', ['--cell', '--term', '1500']],
  ['on plain registers', ['--plain', '--delta', '150', '--term', '1500']],
])('no writer holds the lease beside anybody, %s', { timeout: 240_000 }, (_, args) => {
  const all = [join(ROOT, 'bench/readers.mjs'), ...args, '--readers', '4', '--seconds', '8', '--kills', '4', '--json'];
  const { stdout, stderr, status } = spawnSync(process.execPath, all, { encoding: 'utf8' });
  expect(stderr).toBe('');
  const { violations, grants } = JSON.parse(stdout) as Judged;
  expect({ violations, status }).toEqual({ violations: [], status: 0 });
  expect(Math.min(grants.shared, grants.exclusive)).toBeGreaterThan(0);
});
