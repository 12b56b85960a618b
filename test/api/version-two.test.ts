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
