/** Many clients after one resource, for a few seconds. The whole minute with a thousand of them is `npm run bench:crowd`. */
import { expect, test } from 'vitest';
import { WallClockReferee, type HistoryRecord } from '../../src/check/index.ts';
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
