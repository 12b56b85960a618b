/** Many clients after one resource: on virtual time, where order is judged to the microsecond, and for a few real seconds. The whole minute with a thousand of them is `npm run bench:crowd`. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { testCell } from '../../src/api/testing.ts';
import {
  DeadlineReferee,
  gatherHistories,
  OrderReferee,
  Panel,
  parseHistory,
  RequestReferee,
  Unjudged,
  WallClockReferee,
  type HistoryRecord,
} from '../../src/check/index.ts';
import { SeededChooser } from '../../src/kernel/index.ts';
import { realCell } from './real-cell.ts';

const CLIENTS = 60;
const RUN_MS = 4000;
/** All clients read one clock; what is left is its grain. */
const CLOCK_BOUND_US = 1;
const RESOURCE = 'crowd/one';

test('every client of a crowd is served, and never two at once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-crowd-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const cell = await realCell();
  const history = { file: folder, clockBound: `${CLOCK_BOUND_US}us` };
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => cell.client({ history })));
  const until = performance.now() + RUN_MS;
  await Promise.all(
    clients.map(async (client) => {
      // Whoever began in time is served, however long the queue is by then.
      while (performance.now() < until) await client.using(RESOURCE, () => undefined);
      await client.close();
    }),
  );
  const files = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
  expect(files).toHaveLength(CLIENTS);
  const { header, records } = gatherHistories(files.map(parseHistory));
  expect(header).toMatchObject({ clock: 'wall', clockBoundUs: CLOCK_BOUND_US });
  const panel = new Panel([
    new WallClockReferee(CLOCK_BOUND_US),
    new DeadlineReferee(),
    new RequestReferee(),
    new Unjudged(['queued'], 'their order is judged in simulated worlds'),
  ]);
  for (const record of records) panel.observe(record);
  expect(panel.finish(records.at(-1)?.at ?? 0)).toEqual([]);
  const granted = records.filter(({ kind }) => kind === 'granted');
  expect(new Set(granted.map(({ node }) => node)).size).toBe(CLIENTS);
  expect(granted.length).toBe(records.filter(({ kind }) => kind === 'requested').length);
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
