/** Cells of real sockets whose members and terms change while leases are held. */
import { expect, onTestFinished, test } from 'vitest';
import type { Cell, CellView, ChangeProgress, JoinOptions, TenureError } from '../../src/api/index.ts';
import { testCell } from '../../src/api/testing.ts';
import { freePorts, realCell, type RealCell } from './real-cell.ts';

const MAX_TERM_MS = 1500;
const secret = 'a secret of members only';

/** A member whose views are kept in a variable, as by whoever starts it. */
class Stored {
  view: CellView | null = null;
  /** Takes as long as this. */
  keeps: (() => Promise<void>) | null = null;
  readonly onView = async (view: CellView): Promise<void> => {
    await this.keeps?.();
    this.view = view;
  };

  get options(): Partial<JoinOptions> {
    return { onView: this.onView, ...(this.view ? { view: this.view.text } : {}) };
  }
}

interface Changing {
  readonly cell: RealCell;
  readonly stores: Map<string, Stored>;
  readonly addresses: Record<string, string>;
  /** Starts another member, which waits to be added. */
  readonly start: (id: string) => Promise<Cell>;
  /** Stops a member, and starts it as it would be started by a supervisor. */
  readonly again: (id: string) => Promise<Cell>;
  readonly admin: () => Promise<Cell>;
}

async function changing(more: readonly string[] = []): Promise<Changing> {
  const stores = new Map<string, Stored>();
  const cell = await realCell(3, onTestFinished, MAX_TERM_MS, (id) => {
    const stored = new Stored();
    stores.set(id, stored);
    return stored.options;
  });
  const ports = await freePorts(more.length);
  const addresses = Object.fromEntries(more.map((id, i) => [id, `127.0.0.1:${ports[i]}`]));
  return {
    cell,
    stores,
    addresses,
    start: (id) => {
      const stored = stores.get(id) ?? new Stored();
      stores.set(id, stored);
      return cell.join(id, { listen: addresses[id] ?? '', ...stored.options });
    },
    again: async (id) => {
      await cell.members.get(id)?.close();
      return cell.join(id, stores.get(id)?.options);
    },
    admin: () => cell.client({ secret }),
  };
}

const idsIn = (view: CellView | null): string[] => (view?.members ?? []).map(({ id }) => id);

test('a cell grows, replaces a member and shrinks while a lease is held, and its clients follow', async () => {
  const { cell, addresses, start, admin } = await changing(['d', 'e']);
  const [client, administrator] = [await cell.client(), await admin()];
  const lease = await client.acquire('work');
  await Promise.all([start('d'), start('e')]);
  const grown = await administrator.changeMembers({ add: addresses });
  expect(idsIn(grown)).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(grown.replication).toBe(5);
  const shrunk = await administrator.changeMembers({ remove: ['a', 'b'] });
  expect(idsIn(shrunk)).toEqual(['c', 'd', 'e']);
  expect(lease.valid).toBe(true);
  for (const id of ['a', 'b']) await cell.members.get(id)?.close();
  const { token } = lease;
  await lease.release();
  const next = await client.acquire('work');
  expect(next.token).toBeGreaterThan(token);
  expect(client.view?.epoch).toBe(shrunk.epoch);
  expect(client.members().map(({ id, number }) => [id, number])).toEqual([
    ['c', 2],
    ['d', 3],
    ['e', 4],
  ]);
}, 60_000);

test('a change tells which members have not stored its view, can be given up, and is finished by whoever asks for the same', async () => {
  const { cell, stores, addresses, start, admin } = await changing(['d']);
  await start('d');
  const withheld: (() => void)[] = [];
  for (const id of ['a', 'b']) {
    const stored = stores.get(id);
    if (stored) stored.keeps = () => new Promise<void>((resolve) => void withheld.push(resolve));
  }
  const first = await admin();
  const stop = new AbortController();
  const told = new Promise<ChangeProgress>((resolve) => {
    const onProgress = (progress: ChangeProgress): void => {
      if (progress.kind === 'stored' && progress.missing.length === 2) resolve(progress);
    };
    first.changeMembers({ add: addresses }, { signal: stop.signal, onProgress }).catch(() => {});
  });
  expect((await told).text).toMatch(/^a, b have not stored view 1: /);
  stop.abort();
  await first.close();
  for (const resolve of withheld) resolve();
  for (const stored of stores.values()) stored.keeps = null;
  const second = await admin();
  expect(idsIn(await second.changeMembers({ add: addresses }))).toEqual(['a', 'b', 'c', 'd']);
  // Asked for once more, nothing is left to do.
  expect((await second.changeMembers({ add: addresses })).epoch).toBe(2);
  expect((await second.status()).map(({ id, storedView }) => [id, storedView])).toEqual([
    ['a', 2],
    ['b', 2],
    ['c', 2],
    ['d', 2],
  ]);
  expect(cell.members.get('a')?.view?.epoch).toBe(2);
}, 60_000);

test('a removed member that starts with its old configuration is told, and harms nobody', async () => {
  const { cell, admin } = await changing();
  const administrator = await admin();
  const lease = await administrator.acquire('work');
  await administrator.changeMembers({ remove: ['c'] });
  await cell.members.get('c')?.close();
  const old = await cell.join('c');
  const failure = await new Promise<TenureError>((resolve) => void old.once('failure', resolve));
  expect(failure.code).toBe('TENURE_REMOVED');
  await expect(old.ready()).rejects.toMatchObject({ code: 'TENURE_REMOVED' });
  expect(lease.valid).toBe(true);
  // A client that knows no more than that member finds the others all the same.
  const client = await cell.client({ members: { c: cell.options.members['c'] ?? '' } });
  expect(await client.tryAcquire('work')).toMatchObject({ ok: false });
  expect(idsIn(client.view)).toEqual(['a', 'b']);
}, 60_000);

test('a member that is started again begins in the view that it has stored', async () => {
  const { cell, addresses, start, again, admin } = await changing(['d']);
  await start('d');
  const administrator = await admin();
  await administrator.changeMembers({ replace: { member: 'a', by: 'd', address: addresses['d'] ?? '' } });
  const b = await again('b');
  expect(idsIn(b.view)).toEqual(['b', 'c', 'd']);
  await b.ready();
  await (await b.acquire('work')).release();
  expect(cell.members.get('d')?.silentForMs).toBe(0);
}, 60_000);

test("members are changed by nobody without the members' secret, and not into what cannot be", async () => {
  const { cell, admin } = await changing();
  const [client, administrator] = [await cell.client(), await admin()];
  await expect(client.changeMembers({ remove: ['c'] })).rejects.toMatchObject({ code: 'TENURE_MEMBERS_REFUSED' });
  for (const bad of [{ replication: 4 }, { remove: ['a', 'b', 'c'] }, { add: { d: 'nowhere' } }, { add: { d: 'h:1' }, remove: ['d'] }]) {
    await expect(administrator.changeMembers(bad)).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
  }
  await expect(administrator.changeMembers({ maxTerm: '1ms' })).rejects.toMatchObject({ code: 'TENURE_BAD_TIMING' });
  expect(administrator.view?.epoch).toBe(0);
}, 60_000);

test('the longest term is halved and doubled on virtual time, and no lease is lost', async () => {
  const cell = await testCell({ keepVotes: true });
  const client = await cell.client();
  const lease = await client.acquire('work');
  for (const maxTerm of ['5s', '30s']) {
    const change = cell.member('a').changeMembers({ maxTerm });
    await cell.advance('3m');
    expect((await change).maxTermMs).toBe(maxTerm === '5s' ? 5000 : 30_000);
    expect(lease.valid).toBe(true);
  }
  expect(client.maxTermMs).toBe(30_000);
  await lease.release();
});

test('engines without views refuse to change them', async () => {
  const cell = await testCell({ engine: { paxoslease: {} } });
  await expect(cell.member('a').changeMembers({ replication: 2 })).rejects.toMatchObject({ code: 'TENURE_UNSUPPORTED' });
});
