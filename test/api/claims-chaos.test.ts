/** The programs of `npm run bench:claims-chaos` and `bench:claims-crowd`, shorter: real processes that claim while members are killed, and all at once. */
import { expect, test } from 'vitest';
import { bench } from '../support/bench.ts';

test('members are killed all the time, one with its directory deleted: nothing is granted twice or forgotten, and next comes back', async () => {
  const { said, code } = await bench('claims-chaos.mjs', '--seconds', '8', '--claimers', '4');
  expect(said).toMatchObject({ robberies: 1, violations: [], forgotten: [], isFine: true });
  expect((said as { last: unknown[] }).last.length).toBe(4);
  // How many there are in the time is for the machine to say.
  expect((said as { kills: number }).kills).toBeGreaterThan(0);
  expect((said as { claims: { granted: number } }).claims.granted).toBeGreaterThan(10);
  expect(code).toBe(0);
}, 180_000);

test('processes that call next at once are all served, each with a block of its own', async () => {
  const { said, code } = await bench('claims-crowd.mjs', '--processes', '8', '--rounds', '1');
  const [row] = (said as { rows: { served: number; isOnce: boolean; attempts: number[] }[] }).rows;
  expect(row).toMatchObject({ served: 8, isOnce: true });
  expect(row?.attempts.length).toBe(8);
  expect(code).toBe(0);
}, 180_000);
