/**
 * Whatever comes to a cell that should not: each gets a clear error with its code, over real sockets and through the
 * public API, and nobody else notices: a lease held meanwhile stays held, and a third client gets another.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connect, joinCell, observe, type Cell, type Lease, type TenureError } from '../../src/api/index.ts';
import { PROOF, VERSIONS } from '../../src/wire/index.ts';
import { RawPeer } from '../transport/raw-peer.ts';
import { freePorts, realCell, type RealCell } from './real-cell.ts';

test('a cell without members, or with a directory that is none, is refused with a code', async () => {
  for (const members of [undefined, null, 'a=127.0.0.1:1'] as unknown as Record<string, string>[]) {
    await expect(connect({ cell: 'x', members })).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
    await expect(joinCell({ cell: 'x', members, self: 'a' })).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
  }
  const options = { cell: 'x', members: { a: '127.0.0.1:1' }, self: 'a', dataDir: 5 as unknown as string };
  await expect(joinCell(options)).rejects.toMatchObject({ code: 'TENURE_DATA_DIR' });
});

/** Long enough that a busy machine is no reason to lose the lease. */
const MAX_TERM_MS = 2000;

let cell: RealCell;
let end: () => Promise<void> = () => Promise.resolve();
let holder: Cell;
let third: Cell;
let lease: Lease;

beforeAll(async () => {
  cell = await realCell(3, (over) => (end = over), MAX_TERM_MS);
  [holder, third] = await Promise.all([cell.client({ name: 'holder' }), cell.client({ name: 'third' })]);
  await Promise.all([holder.ready(), third.ready()]);
  lease = await holder.acquire('kept/throughout');
});
afterAll(() => end());

let renewals = 0;
beforeEach(() => {
  renewals = holder.counters().renewals;
});

afterEach(async () => {
  assert.ok(lease.valid && !lease.signal.aborted);
  await third.using('taken/meanwhile', (other) => assert.ok(other.valid));
  // It is not just old: it is still being renewed.
  while (holder.counters().renewals === renewals) await new Promise((resolve) => setTimeout(resolve, MAX_TERM_MS / 20));
  assert.equal(holder.counters().losses, 0);
  const taken = await third.tryAcquire('kept/throughout');
  assert.ok(!taken.ok && taken.holder?.token === lease.token);
});

const member = (id: string): Cell => {
  const found = cell.members.get(id);
  if (!found) throw new Error(`no member ${id}`);
  return found;
};

/** What a member reports of a peer, the next time it is of this kind. */
async function reported(by: Cell, code: string): Promise<TenureError> {
  for await (const [, error] of observedRefusals(by)) if (error.code === code) return error;
  throw new Error('the events ended');
}

async function* observedRefusals(by: Cell): AsyncGenerator<[string, TenureError]> {
  for (;;) yield (await once(by, 'refused')) as [string, TenureError];
}

const portOf = (id: string): number => Number(cell.options.members[id]?.split(':')[1]);

const clientOptions = (): Parameters<typeof connect>[0] => {
  const { cell: name, members, clientSecret } = cell.options;
  return { cell: name, members, ...(clientSecret === undefined ? {} : { clientSecret }) };
};

describe('a client is told', () => {
  test.each([
    ['its secret is wrong', { clientSecret: 'some other secret, as long' }, 'TENURE_WRONG_SECRET', /give both sides the same/],
    ['it has the wrong cell', { cell: 'another' }, 'TENURE_WRONG_CELL', /correct the cell's name/],
    ['its list of members is another', { members: 'one more' }, 'TENURE_CONFIG_MISMATCH', /members = a, b, c/],
  ] as const)('that %s', async (_what, change, code, message) => {
    const seen = reported(member('a'), code);
    const members = 'members' in change ? { ...cell.options.members, d: '127.0.0.1:1' } : cell.options.members;
    const error: unknown = await connect({ ...clientOptions(), ...change, members }).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) as unknown });
    expect((await seen).code).toBe(code);
  });

  test('which members it could not reach, where and why', async () => {
    const [port] = await freePorts(1);
    const members = { a: `127.0.0.1:${port}`, b: '127.0.0.1:1' };
    await expect(connect({ cell: 'test', members, timeout: '300ms' })).rejects.toMatchObject({
      code: 'TENURE_UNREACHABLE',
      message: expect.stringMatching(new RegExp(`a \\(127\\.0\\.0\\.1:${port}\\): .*ECONNREFUSED.*b \\(127\\.0\\.0\\.1:1\\)`)) as unknown,
      details: { unreached: 'a, b' },
    });
  });

  test('of its own signal rather than of the time, if that came first', async () => {
    const [port] = await freePorts(1);
    const signal = AbortSignal.timeout(50);
    await expect(connect({ cell: 'test', members: { a: `127.0.0.1:${port}` } }, { signal })).rejects.toMatchObject({
      name: 'TimeoutError',
    });
  });

  test.each([
    ['a term is above maxTerm', () => third.acquire('x', { term: MAX_TERM_MS + 1 }), 'TENURE_BAD_ARGUMENT', /at most 2000/],
    ['a term is nothing', () => third.acquire('x', { term: 0 }), 'TENURE_BAD_ARGUMENT', /at least one/],
    ['a name is empty', () => third.acquire(''), 'TENURE_BAD_NAME', /empty/],
    ['a name has 10 KB', () => third.acquire('x'.repeat(10_240)), 'TENURE_BAD_NAME', /255 bytes/],
    ['a name has control characters', () => third.acquire('a\nb'), 'TENURE_BAD_NAME', /U\+000A/],
    ['a name is reserved', () => third.acquire('_tenure/x'), 'TENURE_BAD_NAME', /reserved/],
    ['one of many names is bad', () => third.acquireAll(['good', '']), 'TENURE_BAD_NAME', /empty/],
    ['nothing begins with that', () => Promise.resolve().then(() => third.watch('\u0000')), 'TENURE_BAD_NAME', /U\+0000/],
  ] as const)('that %s', async (_what, act, code, message) => {
    await expect(act()).rejects.toMatchObject({ code, message: expect.stringMatching(message) as unknown });
  });
});

describe('a member is told', () => {
  test.each([
    ['its secret is wrong', { secret: 'another secret of members' }, 'TENURE_WRONG_SECRET'],
    [
      'its secret is that of clients',
      { secret: 'a secret of all clients', clientSecret: 'a secret of nobody else' },
      'TENURE_WRONG_SECRET',
    ],
    ['its maxTerm is another', { maxTerm: MAX_TERM_MS * 2 }, 'TENURE_CONFIG_MISMATCH'],
    ['its rateError is another', { rateError: 0.01 }, 'TENURE_CONFIG_MISMATCH'],
    ['its replication is another', { replication: 1 }, 'TENURE_CONFIG_MISMATCH'],
    ['it has the wrong cell', { cell: 'another' }, 'TENURE_WRONG_CELL'],
    ['it is not in the list of the others', { self: 'z' }, 'TENURE_UNKNOWN_MEMBER'],
  ] as const)('that %s', async (_what, change, code) => {
    const [port] = await freePorts(1);
    const self = 'self' in change ? change.self : 'b';
    const members = { ...cell.options.members, [self]: `127.0.0.1:${port}` };
    const seen = reported(member('a'), code);
    const intruder = await joinCell({ ...cell.options, members, self, ...change });
    expect((await reported(intruder, code)).details['by']).toMatch(/^[abc]$/);
    expect((await seen).code).toBe(code);
    await intruder.close();
  });

  test('that it is not in its own list, before it has opened anything', async () => {
    await expect(joinCell({ ...cell.options, self: 'z' })).rejects.toMatchObject({ code: 'TENURE_UNKNOWN_MEMBER', details: { id: 'z' } });
  });

  test('that a port is taken', async () => {
    await expect(joinCell({ ...cell.options, self: 'a' })).rejects.toMatchObject({ code: 'TENURE_CANNOT_LISTEN' });
  });
});

describe('bytes that are no peer are refused', () => {
  test.each([
    ['garbage', Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'), 'TENURE_FRAME_TOO_LARGE'],
    ['other garbage', Buffer.alloc(100), 'TENURE_BAD_FRAME'],
    ['the header of a frame of 1 GB', Buffer.from([0, 0, 0, 0x40, 16]), 'TENURE_FRAME_TOO_LARGE'],
    ['a connection that says nothing', Buffer.alloc(0), 'TENURE_HANDSHAKE_TIMEOUT'],
    ['a connection that stops in the middle', Buffer.from([50, 0, 0, 0, 16, 0x54]), 'TENURE_HANDSHAKE_TIMEOUT'],
  ])('%s', async (_what, bytes, code) => {
    const seen = reported(member('a'), code);
    const raw = new RawPeer(portOf('a'));
    if (bytes.length > 0) raw.bytes(bytes);
    await raw.closed;
    expect(await seen).toMatchObject({ code, message: expect.stringMatching(/127\.0\.0\.1|frame/) as unknown });
  });

  test('a version of the protocol that is not ours', async () => {
    const seen = reported(member('a'), 'TENURE_VERSION_MISMATCH');
    const raw = new RawPeer(portOf('a'));
    raw.hello({ cell: 'test', versions: { min: VERSIONS.max + 1, max: VERSIONS.max + 1 } });
    await raw.closed;
    expect(raw.refusals.map(({ code }) => code)).toEqual(['TENURE_VERSION_MISMATCH']);
    expect((await seen).message).toMatch(/upgrade the older one/);
  });

  test('a client that has proved itself and then announces 1 GB, or never answers again', async () => {
    for (const [bytes, reason] of [
      [Buffer.from([0, 0, 0, 0x40, 1]), 'bad-frame'],
      [Buffer.alloc(0), 'silent'],
    ] as const) {
      const gone = new Promise<string | null>((resolve) => {
        const off = observe('tenure:cell:peer', (event) => {
          if (event.node !== 'a' || event.peer !== 'raw' || event.connected) return;
          off();
          resolve(event.reason);
        });
      });
      const raw = new RawPeer(portOf('a'));
      raw.hello({ cell: 'test' });
      await raw.prove(String(cell.options.clientSecret));
      await raw.frame(PROOF);
      if (bytes.length > 0) raw.bytes(bytes);
      expect(await gone).toBe(reason);
      await raw.closed;
    }
  });
});
