/** Processes that count in one plain file under leases of a store, killed at random: the small form of `bench/counter.mjs --store`. */
import { expect, it } from 'vitest';
import { program } from '../store/servers.ts';
import { bench } from '../support/bench.ts';

const AT_ONCE = { timeout: 180_000, concurrent: true };

interface Counted {
  readonly kills: number;
  readonly serverRestarts: number;
}

async function count(...args: readonly string[]): Promise<Counted> {
  const { said, stderr } = await bench('counter.mjs', ...args, '--processes', '4', '--times', '5', '--kills', '4');
  expect(stderr).toBe('');
  const counted = said as Counted;
  expect(counted).toMatchObject({ expected: 20, counted: 20, overlaps: 0, tokensRise: true });
  expect(counted.kills).toBeGreaterThan(0);
  return counted;
}

it('on a directory the count is exact and nobody meets another, with compare-and-set', AT_ONCE, async () => {
  expect((await count('--store', 'file')).serverRestarts).toBe(0);
});

it('on a directory the count is exact and nobody meets another, on plain registers', AT_ONCE, async () => {
  expect((await count('--store', 'file', '--plain')).serverRestarts).toBe(0);
});

it.skipIf(program('postgres') === null)(
  'on PostgreSQL the same, though the server is killed and restarted meanwhile',
  AT_ONCE,
  async () => {
    expect((await count('--store', 'postgres')).serverRestarts).toBe(1);
  },
);

it.skipIf(program('redis-server') === null)('on Redis the same, though the server is killed and restarted meanwhile', AT_ONCE, async () => {
  expect((await count('--store', 'redis')).serverRestarts).toBe(1);
});
