/** What an acceptor remembers of votes that began and ran out: enough to be sure, and never more than its bounds. */
import { describe, expect, test } from 'vitest';
import { monoUs } from '../../../src/kernel/index.ts';
import { Changes } from '../../../src/core/leases/quorum/changes.ts';
import { name } from './cell.ts';

const KEPT_US = 1000;
const BUCKETS = 64;

describe('changes', () => {
  test('are told for as long as they are kept, and no longer', () => {
    const changes = new Changes(KEPT_US, BUCKETS);
    changes.began(1, monoUs(100));
    expect(changes.agoUs(changes.begunSince(1), monoUs(150))).toBe(50);
    expect(changes.agoUs(changes.begunSince(2), monoUs(150))).toBe(KEPT_US);
    expect(changes.agoUs(changes.begunSince(1), monoUs(5000))).toBe(KEPT_US);
    changes.forget(monoUs(5000));
    expect(changes.isEmpty).toBe(true);
    expect(changes.agoUs(changes.begunSince(1), monoUs(5000))).toBe(KEPT_US);
  });

  test('of names that share a bucket count as the latest of them, for each', () => {
    const changes = new Changes(KEPT_US, BUCKETS);
    changes.began(1, monoUs(100));
    changes.began(1 + BUCKETS, monoUs(200));
    expect([changes.begunSince(1), changes.begunSince(1 + BUCKETS), changes.begunSince(2)]).toEqual([200, 200, -Infinity]);
  });

  test('that were too many to keep count as the latest of those that were let go, for every name', () => {
    const changes = new Changes(KEPT_US * 1000, BUCKETS);
    for (let hash = 0; hash < 5000; hash++) changes.ranOut(hash, name(`n/${hash}`), 1000 + hash, monoUs(7000));
    expect(changes.ranOutSince(0)).toBe(changes.ranOutSince(99_999));
    expect(changes.ranOutSince(0)).toBeGreaterThanOrEqual(1000);
    const other = name('other/');
    expect(changes.ranOutUnder(other, 0, other.length)).toBe(changes.ranOutSince(99_999));
  });

  test('under a prefix are of names that begin with it', () => {
    const changes = new Changes(KEPT_US, BUCKETS);
    changes.ranOut(1, name('jobs/1'), 100, monoUs(110));
    const under = (prefix: string): number => {
      const bytes = new TextEncoder().encode(prefix);
      return changes.ranOutUnder(bytes, 0, bytes.length);
    };
    expect([under(''), under('jobs/'), under('jobs/1'), under('jobs/12'), under('job2')]).toEqual([100, 100, 100, -Infinity, -Infinity]);
  });

  test('of two names with one hash are both remembered', () => {
    const changes = new Changes(KEPT_US, BUCKETS);
    changes.ranOut(1, name('a'), 100, monoUs(110));
    changes.ranOut(1, name('b'), 50, monoUs(120));
    expect(changes.ranOutSince(1)).toBe(100);
    const a = name('a');
    expect(changes.ranOutUnder(a, 0, a.length)).toBe(100);
  });

  test('are the same after they were written down', () => {
    const changes = new Changes(KEPT_US, BUCKETS);
    changes.began(1, monoUs(100));
    changes.ranOut(2, name('b'), 50, monoUs(120));
    const again = new Changes(KEPT_US, BUCKETS);
    again.restore(changes.snapshot());
    expect(again.snapshot()).toEqual(changes.snapshot());
    expect([again.begunSince(1), again.ranOutSince(2)]).toEqual([100, 50]);
  });
});
