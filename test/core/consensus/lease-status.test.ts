/** I7 and I10: the lease-status cache of FastCT, and λ. */
import { describe, expect, it } from 'vitest';
import { IntervalSize } from '../../../src/core/index.ts';
import { LeaseStatus, type LeaseStatusOptions } from '../../../src/core/consensus/lease-status.ts';

const FIXED: LeaseStatusOptions = { lambda: { kind: 'fixed', size: 10 }, isLiteral: false, asksAhead: false };

function cache(options: Partial<LeaseStatusOptions> = {}): {
  status: LeaseStatus<null>;
  asked: number[][];
  told: (readonly [number, boolean])[];
} {
  const asked: number[][] = [];
  const told: (readonly [number, boolean])[] = [];
  const status = new LeaseStatus<null>(
    { ...FIXED, ...options },
    { claim: (from, to) => void asked.push([from, to]), lead: (instance, isGranted) => void told.push([instance, isGranted]) },
  );
  return { status, asked, told };
}

describe('the cache', () => {
  it('asks once for λ instances: [cn, cn+λ−1]', () => {
    const { status, asked, told } = cache();
    status.wants(7, null);
    expect(asked).toEqual([[7, 16]]);
    expect(told).toEqual([]);
    status.granted(7, 16, null);
    for (let instance = 8; instance <= 16; instance++) status.wants(instance, null);
    expect(told).toEqual(Array.from({ length: 10 }, (_, i) => [7 + i, true]));
    expect(asked).toHaveLength(1);
    status.wants(17, null);
    expect(asked).toEqual([
      [7, 16],
      [17, 26],
    ]);
  });

  it('to the letter of Figure 4 it asks for one more', () => {
    const { status, asked } = cache({ isLiteral: true });
    status.wants(1, null);
    expect(asked).toEqual([[1, 11]]);
  });

  it('one request is under way at a time, and all that wait for it are answered', () => {
    const { status, asked, told } = cache();
    for (const instance of [3, 1, 12]) status.wants(instance, null);
    expect(asked).toEqual([[3, 12]]);
    status.granted(3, 12, null);
    expect(told).toEqual([
      [3, true],
      [12, true],
    ]);
    // What is leased already is not asked for again: an own lease would refuse it.
    expect(asked.at(-1)).toEqual([1, 2]);
  });

  it('a refusal counts for whoever waits and for what was taken, not for the rest', () => {
    const { status, asked, told } = cache();
    status.wants(1, null);
    status.refused([4, 5], null);
    expect(told).toEqual([[1, false]]);
    status.wants(4, null);
    expect(told.at(-1)).toEqual([4, false]);
    status.wants(6, null);
    expect(asked.at(-1)).toEqual([6, 15]);
    status.wants(2, null);
    status.granted(6, 15, null);
    expect(asked.at(-1)).toEqual([2, 3]);
  });

  it('asks ahead when half of the lease is used, and never further than two leases', () => {
    const { status, asked } = cache({ asksAhead: true });
    status.wants(1, null);
    status.granted(1, 10, null);
    for (let instance = 2; instance <= 5; instance++) status.wants(instance, null);
    expect(asked).toHaveLength(1);
    status.wants(6, null);
    expect(asked.at(-1)).toEqual([11, 20]);
    status.granted(11, 20, null);
    expect(asked).toHaveLength(2);
  });

  it('forgets what is decided', () => {
    const { status } = cache();
    for (let first = 1; first < 1000; first += 10) {
      status.wants(first, null);
      status.granted(first, first + 9, null);
      status.forgetUpTo(first + 8);
    }
    expect(JSON.stringify(status.snapshot()).length).toBeLessThan(150);
  });
});

describe('adaptive λ', () => {
  it('begins with half of the largest, or with the largest', () => {
    expect(new IntervalSize({ kind: 'adaptive', max: 64, isOptimistic: false }).size).toBe(32);
    expect(new IntervalSize({ kind: 'adaptive', max: 64, isOptimistic: true }).size).toBe(64);
    expect(new IntervalSize({ kind: 'adaptive', max: 1, isOptimistic: false }).size).toBe(1);
  });

  it('is halved by a refusal, grows by an eighth with each grant, and reaches the largest in a stable run', () => {
    const size = new IntervalSize({ kind: 'adaptive', max: 64, isOptimistic: true });
    const seen = [size.size];
    for (let i = 0; i < 8; i++) {
      size.refused();
      seen.push(size.size);
    }
    expect(seen).toEqual([64, 32, 16, 8, 4, 2, 1, 1, 1]);
    for (let i = 0; i < 8; i++) size.granted();
    expect(size.size).toBe(64);
    size.granted();
    expect(size.size).toBe(64);
  });

  it('a fixed one stays', () => {
    const size = new IntervalSize({ kind: 'fixed', size: 10 });
    size.refused();
    size.granted();
    expect(size.size).toBe(10);
  });
});
