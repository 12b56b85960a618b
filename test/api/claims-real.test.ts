/** Claims over TCP and on real data directories: disks that fail alone, members without a directory, and members that lost theirs. */
import { rmSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CLAIMS } from '../../src/api/claims/kind.ts';
import { observe, type Cell, type TenureError } from '../../src/api/index.ts';
import { SERVICES } from '../../src/api/services/index.ts';
import type { ServiceKind } from '../../src/api/services/service.ts';
import type { Disk } from '../../src/runtime/index.ts';
import { connectWith } from '../../src/api/cell/join.ts';
import { SECRETS, ServiceCell } from './service-cell.ts';

async function begunCell(services: readonly ServiceKind[] = SERVICES): Promise<{ cell: ServiceCell; members: Cell[] }> {
  const cell = await ServiceCell.of(['a', 'b', 'c'], SERVICES);
  const members = [await cell.join('a', services), await cell.join('b'), await cell.join('c')];
  await (members[1] as Cell).bootstrap({ only: 'claims' });
  return { cell, members };
}

/** How far the disks of members are that this one is connected to. */
async function phasesSeenBy(cell: Cell): Promise<(string | null)[]> {
  return (await cell.status()).map(({ claims }) => claims?.phase ?? null);
}

/** A disk for claims that fails from a moment on, while the rest of the directory is fine. */
function failingClaims(): { kinds: readonly ServiceKind[]; fail: () => void } {
  let isFailing = false;
  const failing = (disk: Disk): Disk => ({
    read: (key, done) => disk.read(key, done),
    write: (key, value, done) => (isFailing ? void setImmediate(done, false, null) : disk.write(key, value, done)),
    erase: (key, done) => disk.erase(key, done),
  });
  const kind: ServiceKind = { ...CLAIMS, run: (ground) => CLAIMS.run({ ...ground, disk: ground.disk && failing(ground.disk) }) };
  return { kinds: [kind], fail: () => (isFailing = true) };
}

describe('claims over TCP', () => {
  test('are begun by a client that knows the secret of the members, and by no other', async () => {
    const cell = await ServiceCell.of(['a', 'b', 'c'], SERVICES);
    const [a] = (await Promise.all(['a', 'b', 'c'].map((id) => cell.join(id)))) as [Cell, Cell, Cell];
    const client = await cell.client();
    await expect(client.bootstrap({ only: 'claims' })).rejects.toMatchObject({ code: 'TENURE_BOOTSTRAP_REFUSED' });
    await expect.poll(() => phasesSeenBy(a)).toEqual(['blank', 'blank', 'blank']);
    const { cell: name, members } = cell.options;
    const admin = await connectWith({ cell: name, members, secret: SECRETS.secret }, SERVICES);
    await admin.bootstrap({ only: 'claims' });
    await admin.close();
    expect(await client.claims('s').claim(0, 9)).toEqual({ ok: true, from: 0, to: 9 });
    expect(await client.claims('s').claim(9, 9)).toMatchObject({ ok: false, overlap: { from: 9, to: 9 } });
  });

  test('of a member whose disk fails are answered by the others; it says so, and its leases and claims go on', async () => {
    const { kinds, fail } = failingClaims();
    const { members } = await begunCell(kinds);
    const [a, b, c] = members as [Cell, Cell, Cell];
    expect(await a.claims('s').claim(0, 9)).toMatchObject({ ok: true });
    const failure = new Promise<TenureError>((resolve) => void a.once('failure', resolve));
    fail();
    expect(await b.claims('s').claim(10, 19)).toMatchObject({ ok: true });
    expect(await failure).toMatchObject({ code: 'TENURE_DISK_FAILED', details: { service: 'claims', member: 'a' } });
    await expect.poll(() => phasesSeenBy(b)).toEqual(['failed', 'ready', 'ready']);
    await Promise.all([a.ready(), b.ready(), c.ready()]);
    const lease = await a.acquire('still');
    expect(lease.valid).toBe(true);
    expect(await a.claims('s').claim(20, 29)).toMatchObject({ ok: true });
    expect(await a.claims('s').claim(15, 15)).toMatchObject({ ok: false });
  });

  test('survive a lost directory: the member says how far it is, and answers again when the others have told it all', async () => {
    const { cell, members } = await begunCell();
    const [a, b, c] = members as [Cell, Cell, Cell];
    for (let i = 0; i < 5; i++) await a.claims(`s${i}`).claim(10 * i, 10 * i + 5);
    await c.close();
    rmSync(cell.dirOf('c'), { recursive: true, force: true });
    const phases: string[] = [];
    const stop = observe('tenure:claim:disk', ({ node, phase, noted, copied, needed }) => {
      if (node === 'c') phases.push(`${phase} ${noted} ${copied} of ${needed}`);
    });
    const again = await cell.join('c');
    await expect.poll(async () => (await again.status())[2]?.claims, { timeout: 15_000 }).toMatchObject({ phase: 'ready', generation: 2 });
    stop();
    expect(phases[0]).toBe('blank 0 0 of 2');
    expect(phases.at(-1)).toBe('ready 2 2 of 2');
    // With b gone, c answers for what it was told.
    await b.close();
    for (let i = 0; i < 5; i++) expect(await again.claims(`s${i}`).claim(10 * i + 5, 10 * i + 9)).toMatchObject({ ok: false });
  });

  test('have no majority where two members lost their directories: claims end with an error that says so', async () => {
    const { cell, members } = await begunCell();
    for (const [i, id] of ['a', 'b', 'c'].entries()) {
      if (i === 0) continue;
      await members[i]?.close();
      rmSync(cell.dirOf(id), { recursive: true, force: true });
      await cell.join(id);
    }
    const refused = members[0]?.claims('s').claim(0, 1);
    await expect(refused).rejects.toMatchObject({ code: 'TENURE_NOT_BEGUN', details: { disks: 'a ready, b blank, c blank' } });
    await expect(members[0]?.bootstrap({ only: 'claims' })).rejects.toMatchObject({ details: { inUse: 'a' } });
  });

  test('do not begin along with leases where a member has no data directory, and that is no failure', async () => {
    const cell = await ServiceCell.of(['a', 'b', 'c'], SERVICES);
    const [a, b] = [await cell.join('a'), await cell.join('b')];
    const c = await cell.join('c', SERVICES, false);
    await a.bootstrap();
    await Promise.all([a, b, c].map((one) => one.ready()));
    await expect.poll(() => phasesSeenBy(a)).toEqual(['blank', 'blank', null]);
    await expect(c.claims('s').next(1)).rejects.toMatchObject({ code: 'TENURE_UNSUPPORTED', details: { member: 'c' } });
  });
});
