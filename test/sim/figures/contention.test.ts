import { describe, expect, test } from 'vitest';
import { ACCESS_US, runContention, type ContentionPlan } from '../../../src/sim/figures/contention.ts';
import { meanOf, type SampleMean } from '../../../src/sim/figures/sample.ts';

function delays(runs: number, plan: Omit<ContentionPlan, 'seed'>): SampleMean {
  const each = Array.from({ length: runs }, (_, seed) => runContention({ ...plan, seed }));
  return meanOf(each.map((grantedUs) => (grantedUs.at(-1) as number) / ACCESS_US));
}

describe('clients that contend for one lease, to the letter of the paper', () => {
  test('a client alone needs a read, a write, a delay of 2δ and a read: 7 on average', () => {
    const alone = Array.from(
      { length: 500 },
      (_, seed) => (runContention({ clients: 1, variant: 'letter', until: 'first', seed })[0] as number) / ACCESS_US,
    );
    expect(Math.min(...alone)).toBeGreaterThan(4);
    expect(Math.abs(meanOf(alone).mean - 7)).toBeLessThan(0.3);
  });

  test('a seed repeats a run', () => {
    const plan = { clients: 8, variant: 'letter', until: 'all', seed: 5 } as const;
    expect(runContention(plan)).toEqual(runContention(plan));
    expect(runContention({ ...plan, seed: 6 })).not.toEqual(runContention(plan));
  });

  test('a run that stops at the first tells the same of the first', () => {
    const plan = { clients: 8, variant: 'letter', seed: 5 } as const;
    const all = runContention({ ...plan, until: 'all' });
    expect(all.length).toBe(8);
    expect(all.toSorted((a, b) => a - b)).toEqual(all);
    expect(runContention({ ...plan, until: 'first' })).toEqual(all.slice(0, 1));
  });

  test('the more clients, the later the first has the lease', () => {
    const one = delays(400, { clients: 1, variant: 'letter', until: 'first' });
    const many = delays(60, { clients: 256, variant: 'letter', until: 'first' });
    expect(many.mean - many.ci95).toBeGreaterThan(one.mean + one.ci95);
  });

  test('the last of twice as many clients waits about twice as long', () => {
    const [some, more] = [8, 16].map((clients) => delays(30, { clients, variant: 'letter', until: 'all' }));
    expect((more as SampleMean).mean / (some as SampleMean).mean).toBeGreaterThan(1.6);
    expect((more as SampleMean).mean / (some as SampleMean).mean).toBeLessThan(2.4);
  });
});

test('rule 14 makes a client alone wait longer: a late access voids its attempt, and it has to watch its own name', () => {
  const plan = { clients: 1, until: 'first' } as const;
  const [letter, timed] = [delays(500, { ...plan, variant: 'letter' }), delays(500, { ...plan, variant: 'rule 14' })];
  expect(timed.mean - timed.ci95).toBeGreaterThan(letter.mean + letter.ci95);
});
