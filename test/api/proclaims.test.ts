/** Proclaims under way: each is done when a quorum has it or a later one of the same lease, and never by one of another. */
import { expect, test } from 'vitest';
import { Proclaims } from '../../src/api/leases/proclaims.ts';

/** Nothing is asked of it here. */
const GROUND = {
  command: () => undefined,
  nextNumber: () => 1,
  engine: {} as never,
  checkOpen: () => undefined,
  sync: undefined,
};

async function begun(proclaims: Proclaims, lease: number, number: number): Promise<{ isDone: () => boolean }> {
  let isDone = false;
  void proclaims
    .wait(lease, number, undefined, () => undefined)
    .then(
      () => (isDone = true),
      () => undefined,
    );
  await Promise.resolve();
  return { isDone: () => isDone };
}

test('a later one of the same lease settles those before it, and no other', async () => {
  const proclaims = new Proclaims(GROUND);
  const [first, second, third] = [await begun(proclaims, 1, 10), await begun(proclaims, 1, 11), await begun(proclaims, 1, 13)];
  const other = await begun(proclaims, 2, 9);
  proclaims.done(1, 12);
  await new Promise(setImmediate);
  expect([first, second, third, other].map(({ isDone }) => isDone())).toEqual([true, true, false, false]);
  expect(proclaims.count).toBe(2);
});

test('the end of a lease rejects its own only', async () => {
  const proclaims = new Proclaims(GROUND);
  const mine = Promise.allSettled([proclaims.wait(1, 10, undefined, () => undefined)]);
  await begun(proclaims, 2, 11);
  proclaims.reject(new Error('over'), 1);
  expect(await mine).toMatchObject([{ status: 'rejected', reason: { message: 'over' } }]);
  expect(proclaims.count).toBe(1);
});
