/** Several services over one connection, on real cells: each has its own core, its own part of the data directory, and its own failures. */
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Cell, nodeOf } from '../../src/api/cell/cell.ts';
import { Membership } from '../../src/api/cell/membership.ts';
import { CellNode } from '../../src/api/cell/node.ts';
import { makeEngine } from '../../src/api/engines/index.ts';
import type { TenureError } from '../../src/api/index.ts';
import type { MountGround } from '../../src/api/services/service.ts';
import { openTestCell } from '../../src/api/testing/test-cell.ts';
import { VirtualDisk } from '../../src/api/testing/virtual-disk.ts';
import { incarnation, NO_KEY, SeededChooser } from '../../src/kernel/index.ts';
import { SystemClocks, type Disk } from '../../src/runtime/index.ts';
import { MemoryHub } from '../../src/transport/index.ts';
import { ByteWriter, kindOfService, PROOF } from '../../src/wire/index.ts';
import { RawPeer } from '../transport/raw-peer.ts';
import { DIARY, NOTES, notesSetAs, RUMOURS } from './notes-service.ts';
import { SECRETS, serviceAt, ServiceCell, serviceNow } from './service-cell.ts';

const IDS = ['a', 'b', 'c'];

async function refusal(at: Cell, code: string): Promise<TenureError> {
  for (;;) {
    const [, error] = (await once(at, 'refused')) as [string, TenureError];
    if (error.code === code) return error;
  }
}

async function allConnected(...members: readonly Cell[]): Promise<void> {
  for (const member of members) while (!member.members().every(({ self, stats }) => self || stats?.connected)) await once(member, 'state');
}

describe('leases and other services', () => {
  test('work at once in members and clients, and a member that starts again has kept its records', async () => {
    const cell = await ServiceCell.of(IDS, [NOTES, RUMOURS]);
    const members = new Map(await Promise.all(IDS.map(async (id) => [id, await cell.join(id)] as const)));
    const client = await cell.client();
    await Promise.all([...members.values(), client].map((one) => one.ready()));
    const notes = await serviceAt(client, NOTES);
    const rumours = await Promise.all([...members.values()].map((member) => serviceAt(member, RUMOURS)));
    const work = [1, 2, 3, 4, 5].map(async (key) => {
      await client.using(`lease/${key}`, () => notes.put(key, key * 10));
      await rumours[key % 3]?.put(key, key);
    });
    await Promise.all(work);
    for (const id of IDS) {
      await members.get(id)?.close();
      members.set(id, await cell.join(id));
      await Promise.all([...members.values()].map((member) => member.ready()));
    }
    // Nothing is left of any member's memory: what is told now comes from their disks.
    expect(await Promise.all([1, 2, 3, 4, 5].map((key) => notes.get(key)))).toEqual([10, 20, 30, 40, 50]);
    const [first] = members.values();
    expect(await (first && serviceNow(first, NOTES).get(3))).toBe(30);
    expect(await (first && serviceNow(first, RUMOURS).get(3))).toBe(0);
    expect(first && serviceNow(first, NOTES).ground.boot.diskKept).toBe(true);
    await client.using('afterwards', () => undefined);
  });

  test('are mounted on the cells of the testing kit, too', async () => {
    await using cell = await openTestCell({ keepVotes: true }, { services: [NOTES] });
    const client = await cell.client();
    await serviceNow(client, NOTES).put(7, 70);
    for (const id of cell.memberIds) await cell.restart(id);
    expect(await serviceNow(client, NOTES).get(7)).toBe(70);
    expect(await client.using('x', () => 'held')).toBe('held');
  });

  test('are woken by timers of their own', async () => {
    await using cell = await openTestCell({ keepVotes: true }, { services: [NOTES] });
    const a = cell.member('a');
    cell.cutOff(a);
    const asked = serviceNow(a, NOTES).get(1);
    // Leases are woken and woken again meanwhile, and what notes wait for stays planned.
    await cell.advance('5s');
    await cell.mend(a);
    await cell.advance('1s');
    expect(await asked).toBe(0);
  });

  test('come with a data directory that was made before there were services', async () => {
    const cell = await ServiceCell.of(['a'], [NOTES]);
    const before = await cell.join('a', []);
    await before.ready();
    await before.close();
    const after = await cell.join('a');
    expect(serviceNow(after, NOTES).ground.boot.diskKept).toBe(false);
    await serviceNow(after, NOTES).put(1, 2);
    expect(await serviceNow(after, NOTES).get(1)).toBe(2);
  });
});

test.each([
  ['a name with a slash', [{ ...NOTES, name: 'a/b', text: 'a/b' }]],
  ['a text that is not its own', [{ ...NOTES, text: 'claims' }]],
  ['the name of another', [NOTES, { ...RUMOURS, name: 'notes', text: 'notes' }]],
])('a service with %s is a mistake of ours, and found at once', async (_what, services) => {
  await expect(openTestCell({}, { services })).rejects.toMatchObject({ code: 'TENURE_INTERNAL' });
});

describe('a member that does not have a service', () => {
  test('says so when it is asked for it, and is named by others when too few have it', async () => {
    const cell = await ServiceCell.of(IDS, [NOTES]);
    const [a, b] = [await cell.join('a'), await cell.join('b')];
    const c = await cell.join('c', [NOTES], false);
    await allConnected(a, b, c);
    expect(() => serviceNow(c, NOTES)).toThrow(
      expect.objectContaining({ code: 'TENURE_UNSUPPORTED', details: { service: 'notes', member: 'c' } }),
    );
    await serviceNow(a, NOTES).put(1, 11);
    expect(await serviceNow(b, NOTES).get(1)).toBe(11);
    expect(new Set(serviceNow(a, NOTES).reachedPeers)).toEqual(new Set([1]));

    await b.close();
    const again = await cell.join('b', []);
    await allConnected(a, again, c);
    const client = await cell.client();
    for (const one of [a, client]) {
      await expect(serviceAt(one, NOTES)).rejects.toMatchObject({
        code: 'TENURE_UNSUPPORTED',
        message: expect.stringContaining('b, c lack it') as unknown,
        details: { service: 'notes', members: 'b, c' },
      });
    }
    await client.using('leases go on', () => undefined);
  });

  test('that sets it otherwise is told, and neither leases nor the rest of the service ends', async () => {
    const cell = await ServiceCell.of(IDS, [NOTES]);
    const [a, b] = [await cell.join('a'), await cell.join('b')];
    const told = refusal(a, 'TENURE_CONFIG_MISMATCH');
    const c = await cell.join('c', [notesSetAs('otherwise')]);
    expect((await told).details).toEqual({ field: 'notes', here: 'notes', there: 'notes:otherwise', id: 'c' });
    await allConnected(a, b, c);
    await serviceNow(a, NOTES).put(5, 55);
    expect(await serviceNow(b, NOTES).get(5)).toBe(55);
    expect(() => serviceNow(c, NOTES)).toThrow(expect.objectContaining({ code: 'TENURE_CONFIG_MISMATCH' }));
    // A client goes by the majority.
    const client = await cell.client();
    expect(await (await serviceAt(client, NOTES)).get(5)).toBe(55);
    await Promise.all([a, b, c].map((member) => member.ready()));
    expect(c.state).toBe('ready');
  });
});

describe('a service that begins when it is asked for', () => {
  test('runs nowhere until then, and then wherever it is spoken of, with a disk or without', async () => {
    const begun: string[] = [];
    const kind = {
      ...DIARY,
      run: (ground: MountGround) => {
        begun.push(ground.memberIds[ground.boot.self] ?? 'client');
        return DIARY.run(ground);
      },
    };
    const cell = await ServiceCell.of(IDS, [kind]);
    const [a, b, c] = [await cell.join('a'), await cell.join('b'), await cell.join('c', [kind], false)];
    await allConnected(a, b, c);
    const client = await cell.client();
    expect(begun).toEqual([]);
    await (await serviceAt(client, kind)).put(1, 11);
    expect(await serviceNow(c, kind).get(1)).toBe(11);
    await serviceNow(a, kind).put(2, 22);
    expect(new Set(begun)).toEqual(new Set(['client', ...IDS]));
    expect(begun.length).toBe(4);
    expect([a, b, c].map((member) => serviceNow(member, kind).ground.disk !== undefined)).toEqual([true, true, false]);
  });

  test('is not begun by a peer that sets it otherwise, and tells of members that do when it begins', async () => {
    const cell = await ServiceCell.of(IDS, [DIARY]);
    const [a, b] = [await cell.join('a'), await cell.join('b')];
    const c = await cell.join('c', [{ ...DIARY, text: 'diary:otherwise' }]);
    await allConnected(a, b, c);
    const told = refusal(a, 'TENURE_CONFIG_MISMATCH');
    const diary = serviceNow(a, DIARY);
    expect((await told).details).toEqual({ field: 'diary', here: 'diary', there: 'diary:otherwise', id: 'c' });
    await diary.put(5, 55);
    expect(await serviceNow(b, DIARY).get(5)).toBe(55);
    expect(new Set(diary.reachedPeers)).toEqual(new Set([1]));
  });
});

describe('a client', () => {
  test('has no service that only members have', async () => {
    const cell = await ServiceCell.of(['a'], [NOTES, RUMOURS]);
    await cell.join('a');
    const client = await cell.client();
    expect(() => serviceNow(client, RUMOURS)).toThrow(
      expect.objectContaining({ code: 'TENURE_UNSUPPORTED', details: { service: 'rumours' } }),
    );
  });

  test('waits until a majority has said how a service is set, or its signal aborts', async () => {
    await using cell = await openTestCell({ keepVotes: true }, { services: [NOTES] });
    for (const id of ['b', 'c']) cell.crash(cell.member(id));
    const client = await cell.client();
    expect(() => serviceNow(client, NOTES)).toThrow(
      expect.objectContaining({ code: 'TENURE_NO_QUORUM', details: { service: 'notes', unreached: 'b, c' } }),
    );
    const reached = serviceAt(client, NOTES);
    await cell.restart('c');
    expect(await (await reached).get(1)).toBe(0);
  });

  test('is told if no majority sets a service alike', async () => {
    const cell = await ServiceCell.of(['a', 'b'], [NOTES]);
    await Promise.all([cell.join('a'), cell.join('b', [notesSetAs('otherwise')])]);
    const client = await cell.client();
    await expect(serviceAt(client, NOTES)).rejects.toMatchObject({
      code: 'TENURE_CONFIG_MISMATCH',
      details: { field: 'notes', there: 'a: notes; b: notes:otherwise' },
    });
  });

  test('whose members all change a service is told, and keeps its leases', async () => {
    const cell = await ServiceCell.of(['a'], [NOTES]);
    const before = await cell.join('a');
    const client = await cell.client();
    const notes = await serviceAt(client, NOTES);
    await notes.put(1, 1);
    const failed = once(client, 'failure') as Promise<[TenureError]>;
    await before.close();
    await cell.join('a', [notesSetAs('otherwise')]);
    expect((await failed)[0]).toMatchObject({ code: 'TENURE_CONFIG_MISMATCH', details: { service: 'notes', there: 'notes:otherwise' } });
    await expect(notes.get(1)).rejects.toMatchObject({ code: 'TENURE_CONFIG_MISMATCH' });
    await client.ready();
    await client.using('leases go on', () => undefined);
  });
});

const BROKEN: Disk = {
  read: (_key, done) => void setImmediate(done, false, null),
  write: (_key, _value, done) => void setImmediate(done, false, null),
  erase: (_key, done) => void setImmediate(done, false, null),
};

const working = (): Disk => new VirtualDisk((task) => void setImmediate(task));

/** A cell of one member, whose services have disks of their own. */
async function memberWith({
  ofLeases,
  ofNotes,
}: Record<'ofLeases' | 'ofNotes', Disk>): Promise<{ node: CellNode; cell: Cell; failures: TenureError[] }> {
  const born = incarnation(7);
  const transport = new MemoryHub({ members: ['a'] }).transport({ role: 'member', id: 'a', incarnation: born });
  const kept = { disk: ofLeases, keeps: 'votes', isKept: true, section: () => ({ disk: ofNotes, isKept: false }) } as const;
  const surroundings = { clocks: new SystemClocks(), chooser: new SeededChooser(1), hashKey: NO_KEY, restarted: true, kept };
  const node = new CellNode({
    transport,
    memberIds: ['a'],
    membership: new Membership([{ number: 0, id: 'a', address: '' }]),
    self: 0,
    incarnation: born,
    surroundings,
    services: [NOTES],
  });
  const cell = new Cell(node);
  onTestFinished(() => cell.close());
  const failures: TenureError[] = [];
  cell.on('failure', (error) => failures.push(error));
  node.begin(makeEngine('quorum', { maxTermUs: 100_000, rateErrorPpm: 1000 }), 1);
  await node.connect();
  return { node, cell, failures };
}

describe('a service that fails', () => {
  test('says so, and takes neither leases nor another service with it', async () => {
    await using cell = await openTestCell({ keepVotes: true }, { services: [NOTES, RUMOURS] });
    const a = cell.member('a');
    const lease = await a.acquire('kept');
    const [notes, rumours] = [serviceNow(a, NOTES), serviceNow(a, RUMOURS)];
    const failures: TenureError[] = [];
    a.on('failure', (error) => failures.push(error));
    notes.break();
    expect(failures).toMatchObject([{ code: 'TENURE_INTERNAL', details: { service: 'notes' } }]);
    expect(failures[0]?.message).toMatch(
      /^the service notes has stopped in this process; leases and other services go on\. .*told to break/s,
    );
    await expect(notes.get(1)).rejects.toBe(failures[0]);
    expect(() => serviceNow(a, NOTES)).toThrow(failures[0]);
    await cell.advance('1m');
    expect([lease.valid, a.state]).toEqual([true, 'ready']);
    await rumours.put(1, 5);
    expect(await serviceNow(cell.member('b'), RUMOURS).get(1)).toBe(5);
    // The others are a majority without it.
    await serviceNow(cell.member('b'), NOTES).put(2, 22);
    expect(await serviceNow(cell.member('c'), NOTES).get(2)).toBe(22);
  });

  test('is not the worse for leases that fail', async () => {
    await using cell = await openTestCell({ keepVotes: true }, { services: [NOTES] });
    const a = cell.member('a');
    const failures: TenureError[] = [];
    a.on('failure', (error) => failures.push(error));
    const broken = (): never => {
      throw new Error('a lease that breaks the core');
    };
    Object.assign(nodeOf(a).run?.core ?? {}, { command: broken });
    await expect(a.acquire('x')).rejects.toMatchObject({ code: 'TENURE_INTERNAL' });
    expect([failures.map(({ details }) => details['service']), a.state]).toEqual([[undefined], 'no-quorum']);
    await serviceNow(a, NOTES).put(1, 17);
    expect(await serviceNow(cell.member('b'), NOTES).get(1)).toBe(17);
  });

  test('because of its own part of a disk leaves leases alone', async () => {
    const { node, cell, failures } = await memberWith({ ofLeases: working(), ofNotes: BROKEN });
    await expect(node.services.of(NOTES).put(1, 2)).rejects.toMatchObject({ code: 'TENURE_DISK_FAILED', details: { service: 'notes' } });
    await cell.ready();
    await cell.using('x', () => undefined);
    expect(failures.map(({ details }) => details['service'])).toEqual(['notes']);
  });

  test('is not the worse for a disk on which only the part of leases fails', async () => {
    const { node, cell, failures } = await memberWith({ ofLeases: BROKEN, ofNotes: working() });
    await node.services.of(NOTES).put(1, 2);
    expect(await node.services.of(NOTES).get(1)).toBe(2);
    await expect(cell.ready()).rejects.toMatchObject({ code: 'TENURE_DISK_FAILED' });
    expect(failures.map(({ details }) => details['service'])).toEqual([undefined]);
  });

  test('ends with the whole cell: whoever waits is told that it was closed', async () => {
    await using cell = await openTestCell({ keepVotes: true }, { services: [NOTES] });
    const [a] = [cell.member('a')];
    for (const id of ['b', 'c']) cell.crash(cell.member(id));
    const [outcome] = await Promise.all([
      serviceNow(a, NOTES)
        .get(1)
        .catch((error: unknown) => error),
      a.close(),
    ]);
    expect(outcome).toMatchObject({ code: 'TENURE_CLOSED' });
    expect(() => serviceNow(a, NOTES)).toThrow(expect.objectContaining({ code: 'TENURE_CLOSED' }));
  });
});

test('a service that cannot say farewell keeps neither the cell nor another service from closing', async () => {
  const farewells: string[] = [];
  const parting = (kind: typeof NOTES, farewell: () => Promise<void>): typeof NOTES => ({
    ...kind,
    run: (ground) => Object.assign(kind.run(ground), { close: farewell }),
  });
  const services = [
    parting(NOTES, () => Promise.reject(new Error('no farewell'))),
    parting(RUMOURS, async () => void farewells.push('rumours')),
  ];
  await using cell = await openTestCell({ keepVotes: true }, { services });
  const a = cell.member('a');
  await a.close();
  expect(farewells).toEqual(['rumours']);
  expect(() => serviceNow(a, NOTES)).toThrow(expect.objectContaining({ code: 'TENURE_CLOSED' }));
  expect(() => serviceNow(a, RUMOURS)).toThrow(expect.objectContaining({ code: 'TENURE_CLOSED' }));
});

/** A request of the notes: 'get', call 1, key 1. */
const GET = ((): Uint8Array => {
  const out = new ByteWriter();
  out.u8(1);
  for (const number of [1, 1, 0]) out.u32(number);
  return out.bytes.slice(0, out.length);
})();

describe('a liar', () => {
  const STATED = [
    { number: NOTES.number, text: 'notes' },
    { number: RUMOURS.number, text: 'rumours' },
  ];

  async function stranger(cell: ServiceCell, services: typeof STATED): Promise<RawPeer> {
    const raw = new RawPeer(cell.port('a'));
    raw.hello({ cell: 'test', services });
    await raw.prove(SECRETS.clientSecret);
    await raw.frame(PROOF);
    return raw;
  }

  test.each([
    ['a service that nobody has', 17, STATED],
    ['a service that only members have, whatever it states', RUMOURS.number, STATED],
    ['a service that it has not stated', NOTES.number, []],
    ['a service that it has stated as another', NOTES.number, [{ number: NOTES.number, text: 'claims' }]],
  ])('among the clients that sends messages of %s is closed, and the member goes on', async (_what, number, services) => {
    const cell = await ServiceCell.of(['a'], [NOTES, RUMOURS]);
    const a = await cell.join('a');
    const raw = await stranger(cell, services);
    const told = refusal(a, 'TENURE_FORGED');
    raw.bytes(raw.message(GET, number));
    await raw.closed;
    await told;
    await serviceNow(a, NOTES).put(1, 9);
    // An honest one is answered.
    const honest = await stranger(cell, STATED);
    honest.bytes(honest.message(GET, NOTES.number));
    expect((await honest.frame(kindOfService(NOTES.number))).at(-4)).toBe(9);
    honest.socket.destroy();
  });

  test.each([
    ['before it has said hello', (): Uint8Array => GET],
    ['that are larger than a client may send', (): Uint8Array => new Uint8Array(17 * 1024)],
  ])('sends messages of a service %s: its connection ends', async (what, body) => {
    const cell = await ServiceCell.of(['a'], [NOTES]);
    const a = await cell.join('a');
    const isEarly = what.startsWith('before');
    const raw = isEarly ? new RawPeer(cell.port('a')) : await stranger(cell, STATED);
    const told = isEarly ? refusal(a, 'TENURE_BAD_FRAME') : null;
    raw.bytes(raw.message(body(), NOTES.number));
    await raw.closed;
    await told;
    expect(raw.messages).toBe(0);
    await serviceNow(a, NOTES).put(1, 9);
  });

  test('among the members that sends messages of a service nobody stated is not heard and is reported once', async () => {
    const cell = await ServiceCell.of(['a', 'b'], [NOTES]);
    const a = await cell.join('a');
    const raw = new RawPeer(cell.port('a'));
    const config = { engine: 'quorum', maxTermUs: 1_000_000, rateErrorPpm: 100_000, replication: 2, view: 1, members: ['a', 'b'] };
    raw.hello({ cell: 'test', role: 'member', id: 'b', config, services: [{ number: NOTES.number, text: 'notes' }] });
    await raw.prove(SECRETS.secret);
    await raw.frame(PROOF);
    const reports: TenureError[] = [];
    a.on('refused', (_who, error) => reports.push(error));
    for (const number of [17, 17, RUMOURS.number]) raw.bytes(raw.message(GET, number));
    raw.bytes(raw.message(GET, NOTES.number));
    await raw.frame(kindOfService(NOTES.number));
    expect(reports.map(({ code, details }) => [code, details['service']])).toEqual([
      ['TENURE_FORGED', 17],
      ['TENURE_FORGED', RUMOURS.number],
    ]);
    raw.socket.destroy();
  });
});
