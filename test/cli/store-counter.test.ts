/** Processes that count in one plain file under leases of a store, killed at random: the small form of `bench/counter.mjs --store`. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { program } from '../store/servers.ts';
import { ROOT } from '../support/tree.ts';

interface Counted {
  readonly kills: number;
  readonly serverRestarts: number;
}

function count(...args: readonly string[]): Counted {
  const all = [join(ROOT, 'bench/counter.mjs'), ...args, '--processes', '4', '--times', '5', '--kills', '4', '--json'];
  const { stdout, stderr } = spawnSync(process.execPath, all, { encoding: 'utf8' });
  expect(stderr).toBe('');
  const counted = JSON.parse(stdout) as Counted;
  expect(counted).toMatchObject({ expected: 20, counted: 20, overlaps: 0, tokensRise: true });
  expect(counted.kills).toBeGreaterThan(0);
  return counted;
}

it('on a directory the count is exact and nobody meets another, with compare-and-set', { timeout: 180_000 }, () => {
  expect(count('--store', 'file').serverRestarts).toBe(0);
});

it('on a directory the count is exact and nobody meets another, on plain registers', { timeout: 180_000 }, () => {
  expect(count('--store', 'file', '--plain').serverRestarts).toBe(0);
});

it.skipIf(program('postgres') === null)(
  'on PostgreSQL the same, though the server is killed and restarted meanwhile',
  { timeout: 180_000 },
  () => {
    expect(count('--store', 'postgres').serverRestarts).toBe(1);
  },
);

it.skipIf(program('redis-server') === null)(
  'on Redis the same, though the server is killed and restarted meanwhile',
  { timeout: 180_000 },
  () => {
    expect(count('--store', 'redis').serverRestarts).toBe(1);
  },
);
