/** Nodes of protocol version 2, which knows of leases only, in a cell whose other members have services: they go on as before. */
import { expect, onTestFinished, test } from 'vitest';
import { encodeName } from '../../src/kernel/index.ts';
import { NOTES } from './notes-service.ts';
import { ServiceCell, serviceAt, serviceNow } from './service-cell.ts';
import { VersionTwo } from './version-two.ts';

const ACQUIRE = { kind: 'acquire', lease: 1, name: encodeName('old/and/new'), termUs: 1_000_000, waitUs: 5_000_000, keep: false } as const;

test('a client of version 2 gets leases, and hears of nothing else', async () => {
  const cell = await ServiceCell.of(['a', 'b', 'c'], [NOTES]);
  const members = await Promise.all(['a', 'b', 'c'].map((id) => cell.join(id)));
  await Promise.all(members.map((member) => member.ready()));
  const old = await VersionTwo.enter(cell, 'an old client', ['a', 'b', 'c']);
  onTestFinished(() => old.leave());
  await serviceAt(await cell.client(), NOTES).then((notes) => notes.put(1, 1));
  old.driver.command(ACQUIRE);
  expect(await old.event('granted')).toMatchObject({ lease: 1 });
  expect(await members[0]?.tryAcquire('old/and/new')).toMatchObject({ ok: false });
  old.driver.command({ kind: 'release', lease: 1, name: ACQUIRE.name });
  await members[0]?.using('old/and/new', () => undefined);
  expect(old.unknownKinds).toEqual([]);
});

test('a member of version 2 votes, and lacks every other service', async () => {
  const cell = await ServiceCell.of(['a', 'b', 'c'], [NOTES]);
  const [a, b] = await Promise.all([cell.join('a'), cell.join('b')]);
  const old = await VersionTwo.enter(cell, 'c', ['a', 'b']);
  onTestFinished(() => old.leave());
  await Promise.all([a.ready(), b.ready()]);
  // Two of three have the service, which is enough for it.
  await serviceNow(a, NOTES).put(1, 11);
  expect(await serviceNow(b, NOTES).get(1)).toBe(11);
  await b.close();
  // Its vote and that of a are a majority.
  await a.using('old/and/new', (lease) => expect(lease.valid).toBe(true));
  expect(old.unknownKinds).toEqual([]);
  const again = await cell.join('b', []);
  await again.ready();
  expect(() => serviceNow(a, NOTES)).toThrow(
    expect.objectContaining({ code: 'TENURE_UNSUPPORTED', details: { service: 'notes', members: 'b, c' } }),
  );
});

test('two members of version 2: exclusive leases go on, and shared ones and slots are refused by a code that names the members', async () => {
  const cell = await ServiceCell.of(['a', 'b', 'c'], []);
  const a = await cell.join('a');
  const olds = await Promise.all([VersionTwo.enter(cell, 'b', ['a']), VersionTwo.enter(cell, 'c', ['a'])]);
  onTestFinished(() => void olds.map((old) => old.leave()));
  // Its own silence is not over, and the votes of the others are enough.
  await (await a.acquire('old/and/new')).release();
  const refusal = expect.objectContaining({ code: 'TENURE_UNSUPPORTED', details: { name: 'old/and/new', members: 'b, c' } }) as unknown;
  await expect(a.acquire('old/and/new', { mode: 'shared' })).rejects.toEqual(refusal);
  await expect(a.acquire('old/and/new', { slots: 4 })).rejects.toEqual(refusal);
  const lease = await a.acquire('old/and/new');
  expect(lease.valid).toBe(true);
  await lease.release({ after: 50 });
  await a.using('old/and/new', (again) => expect(again.token).toBeGreaterThan(lease.token));
});

test('one member of version 2: the others are enough for readers, and it is told nothing of them', async () => {
  const cell = await ServiceCell.of(['a', 'b', 'c'], []);
  const [a, b] = await Promise.all([cell.join('a'), cell.join('b')]);
  const old = await VersionTwo.enter(cell, 'c', ['a', 'b']);
  onTestFinished(() => old.leave());
  await Promise.all([a.ready(), b.ready()]);
  const readers = await Promise.all([a, b].map((member) => member.acquire('old/and/new', { mode: 'shared' })));
  expect(readers.map(({ valid, mode }) => [valid, mode])).toEqual([
    [true, 'shared'],
    [true, 'shared'],
  ]);
  expect(await a.tryAcquire('old/and/new')).toMatchObject({ ok: false });
  await Promise.all(readers.map((reader) => reader.release()));
  const slot = await a.acquire('worker-ids', { slots: 2 });
  expect(slot.slot).toBeLessThan(2);
  await a.using('old/and/new', (lease) => expect(lease.mode).toBe('exclusive'));
  expect(old.unknownKinds).toEqual([]);
});

test('one member of version 2: a change of members or terms is refused by a code that names it, and exclusive leases go on', async () => {
  const cell = await ServiceCell.of(['a', 'b', 'c'], []);
  const [a, b] = await Promise.all([cell.join('a'), cell.join('b')]);
  const member = await VersionTwo.enter(cell, 'c', ['a', 'b']);
  const client = await VersionTwo.enter(cell, 'an old client', ['a', 'b']);
  onTestFinished(() => void [member, client].map((old) => old.leave()));
  await Promise.all([a.ready(), b.ready()]);
  const refusal = expect.objectContaining({ code: 'TENURE_UNSUPPORTED', details: { members: 'c' } }) as unknown;
  for (const change of [{ maxTerm: '2s' }, { add: { d: '127.0.0.1:4600' } }, { remove: ['c'] }, { replication: 2 }]) {
    await expect(a.changeMembers(change)).rejects.toEqual(refusal);
  }
  expect(a.view).toMatchObject({ epoch: 0 });
  client.driver.command(ACQUIRE);
  const { token } = (await client.event('granted')) as { token: number };
  expect(await b.tryAcquire('old/and/new')).toMatchObject({ ok: false });
  client.driver.command({ kind: 'release', lease: 1, name: ACQUIRE.name });
  await b.using('old/and/new', (lease) => expect(lease.token).toBeGreaterThan(token));
  expect([member, client].flatMap(({ unknownKinds }) => unknownKinds)).toEqual([]);
});
