/** Many clients after one resource: on virtual time, where order is judged to the microsecond, and for a few real seconds. The whole minute with a thousand of them is `npm run bench:crowd`. */
import { expect, test } from 'vitest';
import { testCell } from '../../src/api/testing.ts';
import { OrderReferee, WallClockReferee, type HistoryRecord } from '../../src/check/index.ts';
import { SeededChooser } from '../../src/kernel/index.ts';
import { realCell } from './real-cell.ts';

const CLIENTS = 60;
const RUN_MS = 4000;
/** All clients read one clock; what is left is its grain. */
const CLOCK_BOUND_US = 1;
const RESOURCE = 'crowd/one';

test('every client of a crowd is served, and never two at once', async () => {
  const cell = await realCell();
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => cell.client()));
  const history: HistoryRecord[] = [];
  const at = (): number => Math.floor(performance.now() * 1000);
  const until = performance.now() + RUN_MS;
  await Promise.all(
    clients.map(async (client, node) => {
      const who = { node, incarnation: client.incarnation };
      // Whoever began in time is served, however long the queue is by then.
      for (let request = 1; performance.now() < until; request++) {
        history.push({ at: at(), ...who, kind: 'requested', resource: RESOURCE, request });
        const lease = await client.acquire(RESOURCE);
        const { token } = lease;
        history.push({ at: at(), ...who, kind: 'granted', resource: RESOURCE, request, token, remainingUs: lease.remainingMs() * 1000 });
        history.push({ at: at(), ...who, kind: 'ended', resource: RESOURCE, token, reason: 'released' });
        await lease.release();
      }
    }),
  );
  const referee = new WallClockReferee(CLOCK_BOUND_US);
  const violations = [...history.map((record) => referee.observe(record)).filter((violation) => violation !== null), ...referee.finish()];
  expect(violations).toEqual([]);
  const granted = history.filter(({ kind }) => kind === 'granted');
  expect(new Set(granted.map(({ node }) => node)).size).toBe(CLIENTS);
  expect(granted.length).toBe(history.filter(({ kind }) => kind === 'requested').length);
});

test.each([1, 2, 3])('nobody of a crowd is served before one that stood in line when it began (seed %i)', async (seed) => {
  const cell = await testCell({ seed, maxTerm: '2s' });
  const clients = await Promise.all(Array.from({ length: 20 }, () => cell.client()));
  const chooser = new SeededChooser(seed);
  const history: HistoryRecord[] = [];
  const at = (): number => Math.round(cell.now() * 1000);
  const lives = clients.map(async (client, node) => {
    const who = { node, incarnation: client.incarnation };
    for (let request = 1; request <= 8; request++) {
      await cell.sleep(chooser.below(40));
      history.push({ at: at(), ...who, kind: 'requested', resource: RESOURCE, request });
      const onQueued = (): void => void history.push({ at: at(), ...who, kind: 'queued', resource: RESOURCE, request });
      const lease = await client.acquire(RESOURCE, { onQueued });
      history.push({ at: at(), ...who, kind: 'granted', resource: RESOURCE, request, token: lease.token, remainingUs: 1 });
      await cell.sleep(chooser.below(4));
      await lease.release();
    }
  });
  await cell.advance('60s');
  await Promise.all(lives);
  await cell.close();
  const referee = new OrderReferee();
  expect(history.flatMap((record) => referee.observe(record) ?? [])).toEqual([]);
  expect(history.filter(({ kind }) => kind === 'granted')).toHaveLength(160);
  expect(history.filter(({ kind }) => kind === 'queued').length).toBeGreaterThan(100);
});
