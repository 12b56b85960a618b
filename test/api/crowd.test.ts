/** Many clients after one resource, for a few seconds. The whole minute with a thousand of them is `npm run bench:crowd`. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { DeadlineReferee, gatherHistories, Panel, parseHistory, RequestReferee, WallClockReferee } from '../../src/check/index.ts';
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
  const panel = new Panel([new WallClockReferee(CLOCK_BOUND_US), new DeadlineReferee(), new RequestReferee()]);
  for (const record of records) panel.observe(record);
  expect(panel.finish(records.at(-1)?.at ?? 0)).toEqual([]);
  const granted = records.filter(({ kind }) => kind === 'granted');
  expect(new Set(granted.map(({ node }) => node)).size).toBe(CLIENTS);
  expect(granted.length).toBe(records.filter(({ kind }) => kind === 'requested').length);
});
