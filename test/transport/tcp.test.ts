/** What only TCP has: two sides that dial at once, addresses, clocks of peers, sockets that must not keep a process alive. */
import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { nodeId, TenureError } from '../../src/kernel/index.ts';
import { Witness } from '../../src/transport/conformance.ts';
import { Identity, isLoopback, parseAddress, type TcpTransport } from '../../src/transport/index.ts';
import { RoundTrip } from '../../src/transport/tcp/round-trip.ts';
import { CONFIG, freePort, TcpCell } from './cell.ts';

const [A, B] = [nodeId(0), nodeId(1)];

async function opened(...transports: TcpTransport[]): Promise<Witness[]> {
  const witnesses = transports.map((transport) => new Witness(transport));
  await Promise.all(witnesses.map((witness) => witness.transport.open(witness)));
  return witnesses;
}

async function closed(...witnesses: Witness[]): Promise<void> {
  await Promise.all(witnesses.map((witness) => witness.transport.close()));
}

describe('two members', () => {
  it('that dial each other at once end up with one connection, every time', async () => {
    for (let round = 0; round < 30; round++) {
      const cell = await TcpCell.of('a', 'b', 'c');
      const members = await opened(...['a', 'b', 'c'].map((id) => cell.transport('member', id)));
      const others = [0, 1, 2].map((self) => [0, 1, 2].filter((number) => number !== self).map(nodeId));
      await Promise.all(members.map((member, self) => member.connected(...(others[self] ?? []))));
      for (const [self, member] of members.entries()) {
        for (const peer of others[self] ?? []) expect(member.send(peer, `from ${self}`)).toBe(true);
      }
      await Promise.all(members.flatMap((member, self) => (others[self] ?? []).map((peer) => member.received(`from ${peer}`))));
      for (const member of members) expect(member.events.filter(({ kind }) => kind === 'down' || kind === 'refused')).toEqual([]);
      await closed(...members);
    }
  });

  it('with one id do not both stay: the newer one does, and both sides are told', async () => {
    const cell = await TcpCell.of('a', 'b');
    const [a, b] = await opened(cell.transport('member', 'a'), cell.transport('member', 'b', { limits: { refusedMs: 60_000 } }));
    if (!a || !b) throw new Error('not opened');
    await Promise.all([a.connected(B), b.connected(A)]);
    const identity = new Identity();
    const [other] = await opened(cell.transport('member', 'b', { listen: `127.0.0.1:${await freePort()}`, identity }));
    if (!other) throw new Error('not opened');
    await other.connected(A);
    expect((await a.refusal('TENURE_DUPLICATE_MEMBER')).details).toMatchObject({ id: 'b', newer: identity.incarnation });
    expect(await b.see(({ kind }) => kind === 'down')).toMatchObject({ why: 'replaced', error: { code: 'TENURE_DUPLICATE_MEMBER' } });
    expect(a.events.filter(({ kind }) => kind === 'up' || kind === 'down').map(({ kind }) => kind)).toEqual(['up', 'down', 'up']);
    other.send(A, 'it is me now');
    await a.received('it is me now');
    await closed(a, b, other);
  });

  it('keep measuring how far they are from each other', async () => {
    const cell = await TcpCell.of('a', 'b');
    const limits = { pingMs: 5 };
    const [a, b] = await opened(cell.transport('member', 'a', { limits }), cell.transport('member', 'b', { limits }));
    if (!a || !b) throw new Error('not opened');
    await a.connected(B);
    while (a.transport.peerStats(B)?.rttUs === null) await new Promise((resolve) => setTimeout(resolve, 2));
    const stats = a.transport.peerStats(B);
    expect(stats?.rttUs).toBeGreaterThan(0);
    expect(Math.abs(stats?.offsetUs ?? Infinity)).toBeLessThan(1_000_000);
    await closed(a, b);
  });
});

describe('a member that cannot be reached', () => {
  it('is dialled until it is there, and why it is not is known', async () => {
    const cell = await TcpCell.of('a', 'b');
    const [a] = await opened(cell.transport('client', 'visitor'));
    if (!a) throw new Error('not opened');
    while (a.transport.peerStats(B)?.lastError === null) await new Promise((resolve) => setImmediate(resolve));
    expect(a.transport.peerStats(B)?.lastError).toContain('ECONNREFUSED');
    const [b] = await opened(cell.transport('member', 'b'));
    await a.connected(B);
    expect(a.transport.peerStats(B)).toMatchObject({ connected: true, lastError: null, reconnects: 0 });
    expect(a.events.filter(({ kind }) => kind === 'refused')).toEqual([]);
    if (b) await closed(a, b);
  });
});

describe('a member that a client turns away', () => {
  it('hears a goodbye each time, is dialled again, and is let in once the client has nothing against it', async () => {
    const cell = await TcpCell.of('a');
    const [a] = await opened(cell.transport('member', 'a'));
    if (!a) throw new Error('not opened');
    const client = new Witness(cell.transport('client', 'visitor', { config: {} }));
    let refusals = 0;
    client.onJudge = () => (refusals++ < 2 ? new TenureError('TENURE_CONFIG_MISMATCH', 'it keeps to something else') : null);
    await client.transport.open(client);
    await client.connected(A);
    expect(client.events.map(({ kind }) => kind)).toEqual(['refused', 'refused', 'up']);
    expect(client.transport.peerStats(A)).toMatchObject({ connected: true, lastError: null });
    const ends = (): string[] => a.events.flatMap((event) => (event.kind === 'down' ? [event.why] : []));
    await a.see(() => ends().length === 2);
    expect(ends()).toEqual(['goodbye', 'goodbye']);
    await closed(a, client);
  });
});

describe('a socket that is made safe', () => {
  it('passes through the hook on both sides, and needs no secret', async () => {
    const cell = await TcpCell.of('a');
    const sides: string[] = [];
    const secure = <T>(socket: T, side: string, member: string) => {
      sides.push(`${side} ${member}`);
      return socket;
    };
    const [a, client] = await opened(cell.transport('member', 'a', { secure }), cell.transport('client', 'visitor', { secure }));
    if (!a || !client) throw new Error('not opened');
    await client.connected(A);
    expect(sides.sort()).toEqual(['accept a', 'dial a']);
    await closed(a, client);
  });
});

describe('closing', () => {
  it('frees the port and leaves no socket', async () => {
    const cell = await TcpCell.of('a', 'b');
    const [a, b] = await opened(cell.transport('member', 'a'), cell.transport('member', 'b'));
    if (!a || !b) throw new Error('not opened');
    await a.connected(B);
    await closed(a, b);
    const error = await new Promise<NodeJS.ErrnoException>((resolve) => connect(cell.port('a'), '127.0.0.1').once('error', resolve));
    expect(error.code).toBe('ECONNREFUSED');
    await closed(...(await opened(cell.transport('member', 'a'))));
  });

  it('rejects nobody but the opener when the port is taken', async () => {
    const cell = await TcpCell.of('a');
    const [a] = await opened(cell.transport('member', 'a'));
    const second = cell.transport('member', 'a');
    await expect(second.open(new Witness(second))).rejects.toMatchObject({ code: 'TENURE_CANNOT_LISTEN', details: { why: 'EADDRINUSE' } });
    await second.close();
    if (a) await closed(a);
  });

  it('is not needed for a process to end', async () => {
    const script = `
      import { Identity, TcpTransport } from './dist/transport/index.js';
      const members = [{ id: 'a', address: '127.0.0.1:${await freePort()}' }, { id: 'b', address: '127.0.0.1:${await freePort()}' }];
      const config = ${JSON.stringify(CONFIG)};
      const silent = { up() {}, down() {}, message() {}, refused() {} };
      const [a, b] = ['a', 'b'].map((id) => new TcpTransport({ cell: 'x', role: 'member', id, identity: new Identity(), members, config }));
      let ups = 0;
      const met = new Promise((resolve) => { silent.up = () => ++ups === 2 && resolve(); });
      await a.open(silent);
      await b.open(silent);
      const awake = setInterval(() => {}, 1000);
      await met;
      clearInterval(awake);
      console.log('met');
    `;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { timeout: 10_000 });
    expect(stdout).toBe('met\n');
  });
});

describe('addresses', () => {
  it('are a host and a port', () => {
    expect(parseAddress('host-a.example:4600')).toEqual({ host: 'host-a.example', port: 4600 });
    expect(parseAddress('[::1]:80')).toEqual({ host: '::1', port: 80 });
    for (const text of ['host', 'host:', ':80', '::1:80', 'host:99999', 'http://host:80', 'a b:80']) {
      expect(() => parseAddress(text)).toThrow(expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }));
    }
  });

  it('that cannot leave this machine are known', () => {
    expect(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'].every(isLoopback)).toBe(true);
    expect(['10.0.0.1', '0.0.0.0', '::', '::2', '128.0.0.1', 'localhost', '127.0.0.1.example'].some(isLoopback)).toBe(false);
  });
});

describe('a round trip', () => {
  it('is smoothed, and the quickest tells how far the clocks are apart', () => {
    const trip = new RoundTrip();
    const AHEAD_US = 5_000_000;
    // The third was held up on its way back, and would put the clocks 450 µs further apart.
    for (const [there, back] of [
      [100, 100],
      [50, 50],
      [50, 950],
    ] as const) {
      const answered = 1_000_000 + there + AHEAD_US;
      trip.sample(
        { sentUs: 0, receivedWallUs: answered, answeredWallUs: answered, answeredMonoUs: 0 },
        there + back,
        1_000_000 + there + back,
      );
    }
    expect(trip.offsetUs).toBe(AHEAD_US);
    expect(trip.rttUs).toBeGreaterThan(200 - 50);
    expect(trip.rttUs).toBeLessThan(400);
  });

  it('leaves out the time the other side took, and what cannot be', () => {
    const trip = new RoundTrip();
    trip.sample({ sentUs: 100, receivedWallUs: 0, answeredWallUs: 0, answeredMonoUs: 0 }, 50, 0);
    expect(trip.rttUs).toBeNull();
    trip.sample({ sentUs: 0, receivedWallUs: 1000, answeredWallUs: 1400, answeredMonoUs: 0 }, 500, 0);
    expect(trip.rttUs).toBe(100);
  });
});
