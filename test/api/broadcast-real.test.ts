/** Logs over TCP, through `joinBroadcast` and `connect`: members with secrets, with directories and without, and the histories they write. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { connect, joinBroadcast, observe, type JoinBroadcastOptions, type JoinedLog } from '../../src/api/index.ts';
import { BIN } from '../cli/served-cell.ts';
import { all, endsOf, take } from './log-kit.ts';
import { freePorts } from './real-cell.ts';

const SECRETS = { secret: 'a secret of members only', clientSecret: 'a secret of all clients' };

async function optionsOf(...ids: readonly string[]): Promise<Omit<JoinBroadcastOptions, 'self'>> {
  const ports = await freePorts(ids.length);
  return { cell: 'test', members: Object.fromEntries(ids.map((id, i) => [id, `127.0.0.1:${ports[i]}`])), ...SECRETS };
}

async function joined(options: JoinBroadcastOptions): Promise<JoinedLog> {
  const log = await joinBroadcast(options);
  onTestFinished(() => log.close());
  return log;
}

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'tenure-log-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

test('members and clients publish and read; the histories are in order; a directory keeps the log', async () => {
  const options = await optionsOf('a', 'b', 'c');
  const [data, histories] = [folder(), `${folder()}/`];
  const start = (self: string): Promise<JoinedLog> => joined({ ...options, self, dataDir: `${data}/${self}`, history: histories });
  const logs = await Promise.all(['a', 'b', 'c'].map(start));
  await logs[0]?.bootstrap();
  await Promise.all(logs.map((log) => log.ready()));
  const { cell, members, clientSecret } = { ...options, ...SECRETS };
  const client = await connect({ cell, members, clientSecret, name: 'shop', history: histories });
  onTestFinished(() => client.close());
  await Promise.all(
    [...logs, client.broadcast()].map((log, i) => Promise.all(Array.from({ length: 50 }, (_, j) => log.publish(`${i}-${j}`)))),
  );
  const read = await take(client.broadcast(), 200);
  expect(new Set(read.map(({ text }) => text)).size).toBe(200);
  expect(new Set(read.map(({ from }) => from))).toEqual(new Set(['a', 'b', 'c', 'shop']));
  for (const log of logs) expect(await all(log)).toEqual(read.map(({ text }) => text));
  expect(client.counters()).toMatchObject({ publishes: 50, published: 50, uncertain: 0 });
  expect(logs[1]?.cell.counters().lastPosition).toBe(200);

  await Promise.all([...logs.map((log) => log.close()), client.close()]);
  const files = readdirSync(histories).map((name) => `${histories}${name}`);
  const checked = spawnSync(process.execPath, [BIN, 'check', '--json', ...files], { encoding: 'utf8' });
  expect(JSON.parse(checked.stdout)).toMatchObject({ violations: [] });
  expect(checked.status).toBe(0);

  const again = await Promise.all(['a', 'b', 'c'].map(start));
  expect(await again[2]?.publish('after')).toBe(201);
  expect(await all(again[0] as JoinedLog)).toEqual([...read.map(({ text }) => text), 'after']);
});

test('a client without the members\u2019 secret publishes and reads, and begins nothing', async () => {
  const options = await optionsOf('a');
  const log = await joined({ ...options, self: 'a', log: 'own' });
  const { cell, members, clientSecret } = { ...options, ...SECRETS };
  const client = await connect({ cell, members, clientSecret });
  onTestFinished(() => client.close());
  await expect(client.bootstrap({ only: 'broadcast' })).rejects.toMatchObject({ code: 'TENURE_BOOTSTRAP_REFUSED' });
  const admin = await connect({ cell, members, secret: SECRETS.secret });
  onTestFinished(() => admin.close());
  await admin.bootstrap({ only: 'broadcast' });
  expect(await client.broadcast('own').publish('x')).toBe(1);
  expect(await all(log)).toEqual(['x']);
});

test('members that order otherwise do not serve each other, and say so', async () => {
  const options = await optionsOf('a', 'b');
  const told = new Promise((resolve) =>
    onTestFinished(observe('tenure:cell:refused', ({ node, error }) => node === 'a' && resolve(error))),
  );
  const [a] = await Promise.all([joined({ ...options, self: 'a' }), joined({ ...options, self: 'b', consensus: 'chandra-toueg' })]);
  expect(await told).toMatchObject({ code: 'TENURE_CONFIG_MISMATCH', details: { field: 'broadcast', id: 'b' } });
  expect(await endsOf([a.publish('x')])).toMatchObject([
    { code: 'TENURE_CONFIG_MISMATCH', details: { field: 'broadcast', here: 'broadcast:fast-ct', there: 'broadcast:chandra-toueg' } },
  ]);
  await expect(joinBroadcast({ ...options, self: 'a', consensus: 'raft' as never })).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
  await expect(joinBroadcast({ ...options, self: 'a', maxTerm: '1s' } as never)).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
});
