/** Whoever comes with the wrong secret, the wrong bytes or no intention to read gets a clear answer and disturbs nobody else. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { nodeId } from '../../src/kernel/index.ts';
import { Witness } from '../../src/transport/conformance.ts';
import { Identity, type TcpOptions, type TcpTransport } from '../../src/transport/index.ts';
import {
  beginFrame,
  ByteWriter,
  CHALLENGE,
  endFrame,
  MESSAGE,
  REFUSAL,
  VERSIONS,
  writeChallenge,
  writeProof,
  writeWelcome,
  type Hello,
} from '../../src/wire/index.ts';
import { CONFIG, freePort, TcpCell } from './cell.ts';
import { RawPeer } from './raw-peer.ts';

const MEMBER = 'the secret of the members';
const CLIENT = 'the secret of all clients';
const SECRETS = { member: MEMBER, client: CLIENT } as const;
const [A, B] = [nodeId(0), nodeId(1)];

class Scene {
  readonly cell: TcpCell;
  readonly a: Witness;
  readonly bystander: Witness;
  readonly #opened: TcpTransport[] = [];

  constructor(cell: TcpCell, a: TcpTransport, bystander: TcpTransport) {
    this.cell = cell;
    this.a = new Witness(a);
    this.bystander = new Witness(bystander);
    this.#opened.push(a, bystander);
  }

  get port(): number {
    return this.cell.port('a');
  }

  async enter(transport: TcpTransport): Promise<Witness> {
    this.#opened.push(transport);
    const witness = new Witness(transport);
    await transport.open(witness);
    return witness;
  }

  async undisturbed(): Promise<void> {
    assert.ok(this.bystander.send(A, 'all is well'));
    await this.a.received('all is well');
    assert.deepEqual(
      this.bystander.events.filter(({ kind }) => kind === 'down'),
      [],
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.map((transport) => transport.close()));
  }
}

/** Member `a` with one well-behaved client, and after the test a look whether that one noticed anything. */
async function scene(options: Partial<TcpOptions>, body: (at: Scene) => Promise<void>): Promise<void> {
  const cell = await TcpCell.of('a', 'b');
  const { limits: _limits, identity: _identity, ...plain } = options;
  const at = new Scene(cell, cell.transport('member', 'a', options), cell.transport('client', 'bystander', plain));
  try {
    await at.a.transport.open(at.a);
    await at.bystander.transport.open(at.bystander);
    await at.bystander.connected(A);
    await body(at);
    await at.undisturbed();
  } finally {
    await at.close();
  }
}

describe('a secret', () => {
  const wrong = { member: 'another secret altogether', client: 'another one for clients' };
  it.each([
    ['a member with another secret', 'member', { secrets: wrong }],
    ['a member with the secret of clients', 'member', { secrets: { member: CLIENT } }],
    ['a member without a secret', 'member', {}],
    ['a client with another secret', 'client', { secrets: wrong }],
    ['a client without a secret', 'client', {}],
  ] as const)('keeps %s out', async (_name, role, options) => {
    await scene({ secrets: SECRETS }, async (at) => {
      const intruder = await at.enter(at.cell.transport(role, 'b', options));
      expect((await at.a.refusal('TENURE_WRONG_SECRET')).message).toMatch(new RegExp(`give both sides the same ${role} secret`));
      await intruder.refusal('TENURE_WRONG_SECRET');
      expect(intruder.isUp(A) || at.a.isUp(B)).toBe(false);
    });
  });

  it.each([
    ['members', MEMBER, true],
    ['clients', CLIENT, false],
  ])('of %s tells whether a client may ask for what only members may', async (_whose, secret, isAdmin) => {
    await scene({ secrets: SECRETS }, async (at) => {
      const client = await at.enter(at.cell.transport('client', 'c1', { secrets: { client: secret } }));
      await client.connected(A);
      const met = await at.a.see((event) => event.kind === 'up' && event.info.id === 'c1');
      expect(met).toMatchObject({ info: { role: 'client', isAdmin } });
    });
  });

  it('is demanded of whoever answers at the address of a member', async () => {
    const cell = await TcpCell.of('a');
    const impostor = createServer((socket) => {
      const out = new ByteWriter();
      writeChallenge(out, { versions: VERSIONS, nonce: new Uint8Array(32) });
      const { key, incarnation } = new Identity();
      writeWelcome(out, { key, incarnation, id: 'a', config: CONFIG, services: [] });
      writeProof(out, { proof: new Uint8Array(32), signature: new Uint8Array(64) });
      socket
        .on('error', () => {})
        .resume()
        .end(out.bytes.subarray(0, out.length));
    });
    await new Promise<void>((resolve) => impostor.listen(cell.port('a'), '127.0.0.1', resolve));
    const client = new Witness(cell.transport('client', 'visitor', { secrets: { client: CLIENT } }));
    await client.transport.open(client);
    expect((await client.refusal('TENURE_WRONG_SECRET')).message).toContain('its proof is wrong');
    expect(client.isUp(A)).toBe(false);
    await client.transport.close();
    await new Promise((resolve) => impostor.close(resolve));
  });

  it('of the accepting side is demanded by the dialling side too', async () => {
    await scene({}, async (at) => {
      const client = await at.enter(at.cell.transport('client', 'visitor', { secrets: { client: CLIENT } }));
      await client.refusal('TENURE_WRONG_SECRET');
      expect(client.isUp(A)).toBe(false);
    });
  });

  it('lets no client in where there is none for clients', async () => {
    const cell = await TcpCell.of('a');
    const a = new Witness(cell.transport('member', 'a', { secrets: { member: MEMBER } }));
    const client = new Witness(cell.transport('client', 'visitor', { secrets: { client: CLIENT } }));
    await a.transport.open(a);
    await client.transport.open(client);
    await Promise.all([a.refusal('TENURE_WRONG_SECRET'), client.refusal('TENURE_WRONG_SECRET')]);
    expect(client.isUp(A)).toBe(false);
    await Promise.all([a.transport.close(), client.transport.close()]);
  });

  it('is not proved by saying again what another said', async () => {
    await scene({ secrets: SECRETS }, async (at) => {
      const raw = new RawPeer(at.port);
      raw.hello();
      await raw.prove(CLIENT);
      await at.a.see((event) => event.kind === 'up' && event.info.id === 'raw');

      const again = new RawPeer(at.port);
      for (const bytes of raw.sent) again.bytes(bytes);
      await again.closed;
      expect(again.refusals).toEqual([{ code: 'TENURE_WRONG_SECRET', facts: { role: 'client' } }]);
      expect(again.sent).toEqual(raw.sent);
      raw.socket.destroy();
    });
  });

  it.each([
    ['the name of the cell', { cell: 'invoices' }, [], ['TENURE_WRONG_CELL']],
    ['the id of the member', { to: 'z' }, [], ['TENURE_WRONG_ADDRESS']],
    ['the secret', {}, [CHALLENGE], ['TENURE_WRONG_SECRET']],
  ] as const)(
    'comes first: a stranger that has guessed all but %s is told that, and nothing of the cell',
    async (_what, changes, told, codes) => {
      await scene({ secrets: SECRETS }, async (at) => {
        const raw = new RawPeer(at.port);
        const heard: Buffer[] = [];
        const kinds: number[] = [];
        raw.socket.on('data', (chunk) => heard.push(Buffer.from(chunk)));
        raw.onFrame = (kind) => kinds.push(kind);
        raw.hello(changes);
        if (told.length > 0) await raw.prove('a secret that is a guess');
        await raw.closed;
        expect(kinds).toEqual([...told, REFUSAL]);
        expect(raw.refusals.map(({ code }) => code)).toEqual(codes);
        const text = Buffer.concat(heard).toString('latin1');
        expect(['orders', CONFIG.engine, 'maxTermUs', 'bystander'].filter((word) => text.includes(word))).toEqual([]);
      });
    },
  );

  it('is long, and not the same for members and clients', async () => {
    const cell = await TcpCell.of('a');
    const attempt = (secrets: TcpOptions['secrets'] & object) => () => cell.transport('member', 'a', { secrets });
    expect(attempt({ member: 'short' })).toThrow(expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }));
    expect(attempt({ member: MEMBER, client: MEMBER })).toThrow(/different secrets/);
    expect(attempt({ client: CLIENT })).toThrow(/none for members/);
  });
});

describe('without a secret', () => {
  it('no other machine is served', async () => {
    const cell = await TcpCell.of('a');
    const transport = cell.transport('member', 'a', { listen: `0.0.0.0:${cell.port('a')}` });
    await expect(transport.open(new Witness(transport))).rejects.toMatchObject({ code: 'TENURE_INSECURE' });
    await transport.close();
  });

  it('no other machine is dialled', async () => {
    const cell = await TcpCell.of('a');
    cell.members.push({ id: 'b', address: '192.0.2.1:4600' });
    const a = new Witness(cell.transport('member', 'a'));
    await a.transport.open(a);
    expect((await a.refusal('TENURE_INSECURE')).details).toMatchObject({ id: 'b', ip: '192.0.2.1' });
    await a.transport.close();
  });
});

describe('whoever is configured otherwise', () => {
  it('learns that it is the wrong cell', async () => {
    await scene({}, async (at) => {
      const client = await at.enter(at.cell.transport('client', 'lost', { cell: 'invoices' }));
      expect((await at.a.refusal('TENURE_WRONG_CELL')).details).toEqual({ here: 'orders', there: 'invoices' });
      // Nobody is told the name of a cell it does not know.
      expect(JSON.stringify((await client.refusal('TENURE_WRONG_CELL')).details)).not.toContain('orders');
    });
  });

  it.each([
    ['engine', 'flease/3', 'quorum'],
    ['maxTermUs', 5_000_000, '10000000'],
    ['rateErrorPpm', 200, '1000'],
    ['replication', 1, '3'],
    ['view', 2, '1'],
  ] as const)('learns that %s differs, with both values', async (field, value, ours) => {
    await scene({}, async (at) => {
      const b = await at.enter(at.cell.transport('member', 'b', { config: { ...CONFIG, [field]: value } }));
      const [here, there] = await Promise.all([at.a.refusal('TENURE_CONFIG_MISMATCH'), b.refusal('TENURE_CONFIG_MISMATCH')]);
      expect(here.details).toMatchObject({ field, here: ours, there: String(value) });
      expect(there.details).toMatchObject({ field, here: String(value), there: ours });
      expect(here.message).toContain(`${field} = ${value}`);
    });
  });

  it('learns that the members differ', async () => {
    await scene({}, async (at) => {
      const members = [...at.cell.members].reverse();
      const b = await at.enter(at.cell.transport('member', 'b', { members }));
      expect((await at.a.refusal('TENURE_CONFIG_MISMATCH')).details).toMatchObject({ field: 'members', here: 'a, b', there: 'b, a' });
      expect((await b.refusal('TENURE_CONFIG_MISMATCH')).details).toMatchObject({ here: 'b, a', there: 'a, b' });
    });
  });

  it('learns that it is no member', async () => {
    await scene({}, async (at) => {
      const members = [...at.cell.members, { id: 'z', address: `127.0.0.1:${await freePort()}` }];
      const z = await at.enter(at.cell.transport('member', 'z', { members }));
      expect((await at.a.refusal('TENURE_UNKNOWN_MEMBER')).details).toEqual({ id: 'z', members: 'a, b' });
      expect((await z.refusal('TENURE_UNKNOWN_MEMBER')).message).toContain('its members are a, b');
      expect(() => at.cell.transport('member', 'nobody')).toThrow(expect.objectContaining({ code: 'TENURE_UNKNOWN_MEMBER' }));
    });
  });

  it('learns that an address leads elsewhere', async () => {
    await scene({}, async (at) => {
      const members = at.cell.members.map(({ id }) => ({ id, address: `127.0.0.1:${at.port}` }));
      const client = await at.enter(at.cell.transport('client', 'visitor', { members }));
      expect((await client.refusal('TENURE_WRONG_ADDRESS')).details).toEqual({ by: 'b' });
      expect((await at.a.refusal('TENURE_WRONG_ADDRESS')).message).toContain('dialled b and reached a');
      await client.connected(A);
    });
  });

  it('learns that there is a member of its name already', async () => {
    await scene({}, async (at) => {
      const members = [{ id: 'a', address: `127.0.0.1:${await freePort()}` }, ...at.cell.members.slice(1)];
      const raw = await new RawPeer(at.port).greet({
        role: 'member',
        id: 'a',
        config: { ...CONFIG, members: members.map(({ id }) => id) },
      });
      await raw.closed;
      expect(raw.refusals.map(({ code }) => code)).toEqual(['TENURE_DUPLICATE_MEMBER']);
      expect((await at.a.refusal('TENURE_DUPLICATE_MEMBER')).code).toBe('TENURE_DUPLICATE_MEMBER');
    });
  });

  it('learns that no version fits', async () => {
    await scene({}, async (at) => {
      const raw = new RawPeer(at.port);
      raw.hello({ versions: { min: VERSIONS.max + 1, max: VERSIONS.max + 3 } });
      await raw.closed;
      const facts = { here: `${VERSIONS.min} to ${VERSIONS.max}`, there: `${VERSIONS.max + 1} to ${VERSIONS.max + 3}` };
      expect(raw.refusals).toEqual([{ code: 'TENURE_VERSION_MISMATCH', facts }]);
      expect((await at.a.refusal('TENURE_VERSION_MISMATCH')).message).toMatch(/upgrade the older one/);
    });
  });

  it('speaks the highest version that both know', async () => {
    await scene({}, async (at) => {
      const raw = await new RawPeer(at.port).greet({ versions: { min: VERSIONS.min, max: VERSIONS.max + 5 } });
      const met = await at.a.see((event) => event.kind === 'up' && event.info.id === 'raw');
      expect(met).toMatchObject({ info: { version: VERSIONS.max, incarnation: raw.identity.incarnation } });
      raw.socket.destroy();
    });
  });

  it('cannot take over the incarnation of another process, be it a member or a client', async () => {
    await scene({}, async (at) => {
      const b = await at.enter(at.cell.transport('member', 'b'));
      await Promise.all([at.a.connected(B), b.connected(A)]);
      const met = at.a.events.flatMap((event) => (event.kind === 'up' ? [event.info] : []));
      expect(met.map(({ role }) => role).sort()).toEqual(['client', 'member']);
      for (const { incarnation } of met) {
        const raw = await new RawPeer(at.port).greet({ incarnation });
        await raw.closed;
        expect(raw.refusals.map(({ code }) => code)).toEqual(['TENURE_WRONG_KEY']);
      }
    });
  });

  it('cannot take over an incarnation whose public key it has seen', async () => {
    await scene({}, async (at) => {
      const honest = await new RawPeer(at.port).greet();
      const { key, incarnation } = honest.identity;
      const thief = await new RawPeer(at.port).greet({ key, incarnation });
      await thief.closed;
      expect(thief.refusals.map(({ code }) => code)).toEqual(['TENURE_WRONG_KEY']);
      // A signature of another handshake is no help either: the nonces differ.
      const again = new RawPeer(at.port);
      for (const bytes of honest.sent) again.bytes(bytes);
      await again.closed;
      expect(again.refusals.map(({ code }) => code)).toEqual(['TENURE_WRONG_KEY']);
      expect(honest.socket.destroyed).toBe(false);
      honest.socket.destroy();
    });
  });

  it('replaces its own connection', async () => {
    await scene({}, async (at) => {
      const first = await new RawPeer(at.port).greet();
      const second = await new RawPeer(at.port, first.identity).greet();
      await first.closed;
      expect(second.socket.destroyed).toBe(false);
      second.socket.destroy();
    });
  });
});

describe('bytes that are no handshake', () => {
  it.each([
    ['garbage', Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'), 'TENURE_FRAME_TOO_LARGE'],
    ['a gigabyte announced', Buffer.from([0, 0, 0, 0x40, 1]), 'TENURE_FRAME_TOO_LARGE'],
    ['zeros', Buffer.alloc(100), 'TENURE_BAD_FRAME'],
    ['a frame of the wrong kind', Buffer.from([1, 0, 0, 0, 99]), 'TENURE_BAD_FRAME'],
    ['a hello of nonsense', Buffer.from([5, 0, 0, 0, 16, 1, 2, 3, 4]), 'TENURE_BAD_FRAME'],
    ['a message before the handshake', Buffer.from([2, 0, 0, 0, 1, 1]), 'TENURE_BAD_FRAME'],
  ])('are refused: %s', async (_name, bytes, code) => {
    await scene({}, async (at) => {
      const raw = new RawPeer(at.port);
      raw.bytes(bytes);
      await raw.closed;
      expect((await at.a.refusal(code)).code).toBe(code);
    });
  });

  it('end a handshake wherever they come', async () => {
    await scene({}, async (at) => {
      const raw = new RawPeer(at.port);
      raw.hello();
      await raw.frame(CHALLENGE);
      raw.hello();
      await raw.closed;
      expect((await at.a.refusal('TENURE_BAD_FRAME')).code).toBe('TENURE_BAD_FRAME');
    });
  });
});

describe('whoever does not finish the handshake', () => {
  const SOON = { limits: { handshakeMs: 30 } } as const;
  it('is dropped after a while when it says nothing', async () => {
    await scene(SOON, async (at) => {
      const raw = new RawPeer(at.port);
      await raw.closed;
      expect((await at.a.refusal('TENURE_HANDSHAKE_TIMEOUT')).code).toBe('TENURE_HANDSHAKE_TIMEOUT');
    });
  });

  it('is dropped after a while when it speaks a byte at a time', async () => {
    await scene(SOON, async (at) => {
      const raw = new RawPeer(at.port);
      raw.bytes(Buffer.from([100]));
      const drip = setInterval(() => raw.bytes(Buffer.from([0])), 12);
      await raw.closed;
      clearInterval(drip);
      expect((await at.a.refusal('TENURE_HANDSHAKE_TIMEOUT')).code).toBe('TENURE_HANDSHAKE_TIMEOUT');
    });
  });

  it('gives way to newer ones when there are too many', async () => {
    await scene({ limits: { strangersMax: 3, handshakeMs: 60_000 } }, async (at) => {
      const crowd = Array.from({ length: 6 }, () => new RawPeer(at.port));
      await Promise.all(crowd.slice(0, 2).map((raw) => raw.closed));
      const friend = await at.enter(at.cell.transport('client', 'friend'));
      await friend.connected(A);
      expect(crowd.filter((raw) => raw.socket.destroyed).length).toBeGreaterThanOrEqual(2);
      for (const raw of crowd) raw.socket.destroy();
    });
  });
});

describe('a peer that was let in', () => {
  const enter = async (at: Scene, changes: Partial<Hello> = {}) => {
    const raw = await new RawPeer(at.port).greet(changes);
    const met = await at.a.see((event) => event.kind === 'up' && event.info.id === 'raw');
    return { raw, number: met.kind === 'up' ? met.peer : A };
  };
  const downOf = async (at: Scene, number: number) => {
    const event = await at.a.see((one) => one.kind === 'down' && one.peer === number);
    return event.kind === 'down' ? { why: event.why, code: (event.error as { code?: string } | null)?.code } : null;
  };

  it.each([
    ['announces a gigabyte', [0, 0, 0, 0x40, 1], 'TENURE_FRAME_TOO_LARGE'],
    ['sends a frame of no known kind', [1, 0, 0, 0, 200], 'TENURE_BAD_FRAME'],
    ['sends half a ping', [2, 0, 0, 0, 2, 1], 'TENURE_BAD_FRAME'],
    ['sends half a pong', [2, 0, 0, 0, 3, 1], 'TENURE_BAD_FRAME'],
  ])('and %s is out', async (_name, bytes, code) => {
    await scene({}, async (at) => {
      const { raw, number } = await enter(at);
      raw.bytes(Uint8Array.from(bytes));
      expect(await downOf(at, number)).toEqual({ why: 'bad-frame', code });
      await raw.closed;
    });
  });

  it('and breaks off in the middle of a frame leaves nothing behind', async () => {
    await scene({}, async (at) => {
      const { raw, number } = await enter(at);
      const frame = raw.message(new Uint8Array(1000));
      raw.bytes(frame);
      await at.a.see((event) => event.kind === 'message' && event.peer === number);
      await new Promise<void>((resolve) => raw.socket.write(frame.subarray(0, 500), () => resolve()));
      raw.socket.resetAndDestroy();
      expect((await downOf(at, number))?.why).toBe('lost');
      expect(at.a.events.filter((event) => event.kind === 'message' && event.peer === number)).toHaveLength(1);
    });
  });

  it('and never reads does not grow our memory', async () => {
    const queueBytesMax = 50_000;
    await scene({ limits: { queueBytesMax, pingMs: 60_000 } }, async (at) => {
      const { raw, number } = await enter(at);
      raw.socket.pause();
      const peer = nodeId(number);
      const text = 'x'.repeat(1000);
      // Until the system's own buffers are full, and then some; in small writes, so that one waits for another.
      for (let refusals = 0; refusals < 200;) {
        for (let index = 0; index < 10; index++) refusals = at.a.send(peer, text) ? 0 : refusals + 1;
        await new Promise((resolve) => setImmediate(resolve));
      }
      const stats = at.a.transport.peerStats(peer);
      expect(stats?.queuedBytes).toBeGreaterThan(0);
      expect(stats?.queuedBytes).toBeLessThanOrEqual(2 * queueBytesMax);
      expect(stats?.dropped).toBeGreaterThan(100);
      // Once it reads, all that was taken arrives, with nothing more sent to push it.
      raw.socket.resume();
      while (raw.messages < (stats?.messagesOut ?? 0)) await new Promise((resolve) => setImmediate(resolve));
      expect(at.a.transport.peerStats(peer)?.queuedBytes).toBe(0);
      raw.socket.destroy();
    });
  });

  it('and says nothing any more is dead after a while', async () => {
    await scene({ limits: { pingMs: 10, silentMs: 40 } }, async (at) => {
      const { raw, number } = await enter(at);
      expect((await downOf(at, number))?.why).toBe('silent');
      await raw.closed;
    });
  });

  it('and comes again has one connection, the newer', async () => {
    await scene({}, async (at) => {
      const { raw, number } = await enter(at);
      const again = await new RawPeer(at.port, raw.identity).greet();
      expect(await downOf(at, number)).toEqual({ why: 'replaced', code: undefined });
      await raw.closed;
      again.socket.destroy();
    });
  });
});

describe('one that floods', () => {
  const FLOOD = 50_000;

  it('is worked on in turns: what others send meanwhile does not wait for the end of the flood', async () => {
    await scene({}, async (at) => {
      const raw = await new RawPeer(at.port).greet();
      const flood = new ByteWriter();
      for (let i = 0; i < FLOOD; i++) {
        const start = beginFrame(flood, MESSAGE);
        const text = Buffer.from(String(i));
        flood.raw(text, 0, text.length);
        endFrame(flood, start);
      }
      const order: string[] = [];
      let isAsked = false;
      at.a.onMessage = (text) => {
        order.push(text);
        if (isAsked) return;
        isAsked = true;
        // Nothing but the flood has come so far, and nearly all of it is on its way already.
        at.bystander.send(A, 'from another');
      };
      raw.bytes(flood.bytes.slice(0, flood.length));
      await at.a.received(String(FLOOD - 1));
      const place = order.indexOf('from another');
      expect(place).toBeGreaterThan(0);
      expect(place).toBeLessThan(FLOOD / 10);
      // What it sent itself is all there, in order.
      order.splice(place, 1);
      expect(order).toEqual(Array.from({ length: FLOOD }, (_, i) => String(i)));
      raw.socket.destroy();
    });
  });
});
