/** An item and its collection are one lease to its holder: what becomes of the item when the collection alone is lost. */
import { expect, test } from 'vitest';
import { HeldLease, type LeaseSource } from '../../src/api/leases/held-lease.ts';
import { TenureError } from '../../src/kernel/index.ts';

/** Leases of which each has so long left as the test says. */
function leases(): { item: HeldLease; above: HeldLease; leftUs: Map<string, number>; said: string[] } {
  const leftUs = new Map([
    ['item', 5_000_000],
    ['above', 3_000_000],
  ]);
  const said: string[] = [];
  const source: LeaseSource = {
    remainingUs: ({ name }) => leftUs.get(name) ?? 0,
    clocks: { mono: () => 0 as never, after: () => () => undefined },
    release: async (lease) => {
      said.push(`release ${lease.name}`);
      lease.endReleased();
    },
    releaseLater: () => Promise.resolve(),
    proclaim: () => Promise.resolve(),
    sync: () => Promise.resolve(),
    lapse: ({ name }) => void said.push(`lapse ${name}`),
    upgrade: () => Promise.resolve(),
    downgrade: () => undefined,
    transfer: () => Promise.resolve(false),
  };
  const make = (name: string, number: number): HeldLease =>
    new HeldLease(source, {
      name,
      number,
      nameBytes: new Uint8Array(1),
      token: number,
      mode: 'exclusive',
      termUs: 5_000_000,
      askedUs: 0,
      maxHoldUs: Infinity,
      grantedUs: 0,
    });
  const [item, above] = [make('item', 1), make('above', 2)];
  item.standUnder(above);
  return { item, above, leftUs, said };
}

test('the deadline is the earlier of the two', () => {
  const { item, leftUs } = leases();
  expect(item.remainingMs()).toBe(3000);
  leftUs.set('above', 9_000_000);
  expect(item.remainingMs()).toBe(5000);
  leftUs.set('above', 0);
  expect(item.valid).toBe(false);
});

test('the item is told to stop when the collection is lost, and is renewed no more', () => {
  const { item, above, said } = leases();
  const { signal } = item;
  const why = new TenureError('TENURE_LEASE_LOST', 'gone');
  above.endLost(why);
  expect([signal.aborted, signal.reason, item.valid, said]).toEqual([true, why, false, ['lapse item']]);
});

test('the collection is given back with the item, and when the item is lost', async () => {
  const one = leases();
  expect(one.above.isStoodUnder).toBe(true);
  await one.item.release();
  expect([one.said, one.above.isStoodUnder]).toEqual([['release item', 'release above'], false]);
  const other = leases();
  other.item.endLost(new TenureError('TENURE_LEASE_LOST', 'gone'));
  expect(other.said).toEqual(['release above']);
});
