/** Every limit of docs/limits.md: the page says what the constants say, and each is crossed here, to see that it is kept and what it answers. A row without a crossing, or a constant that the page does not know, fails. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GRACE_US } from '../../src/api/cell/adoption.ts';
import { BLOCK_MAX } from '../../src/api/claims/claim-space.ts';
import { BLOCK_MIN } from '../../src/api/claims/ids.ts';
import { CONNECT_TIMEOUT } from '../../src/api/cell/options.ts';
import { MAX_TERM, RATE_ERROR, RTT_US } from '../../src/api/engines/terms.ts';
import { HISTORY_QUEUE_BYTES_MAX, HistoryFile } from '../../src/api/observing/history-file.ts';
import { connect, joinCell, openStorage, type Cell, type JoinOptions } from '../../src/api/index.ts';
import { ACQUIRE_ALL_MAX } from '../../src/api/leases/acquire-all.ts';
import { LEASE_NUMBERS_MAX } from '../../src/api/leases/service.ts';
import { testCell, type TestCell } from '../../src/api/testing.ts';
import { openTestCell } from '../../src/api/testing/test-cell.ts';
import { BACKLOG_MAX, WatchFeed } from '../../src/api/watches/feed.ts';
import {
  ALL_RULES,
  CLAIMS_MAX,
  deriveTiming,
  INTEGER_MAX,
  INTERVAL_LIMITS,
  MEMBER_LIMITS,
  META_BYTES_MAX,
  MAX_TERM_US_MAX,
  NO_PLACE,
  NO_WATCH,
  QuorumMessage,
  RATE_ERROR_PPM_MAX,
  REFUSED,
  shortestTermUs,
  WATCH,
  WATCHES_MAX,
  type QuorumStep,
} from '../../src/core/index.ts';
import { NameTable } from '../../src/core/tables/index.ts';
import { LEASES_IN_ALL } from '../../src/core/leases/quorum/lease-room.ts';
import { SYNC_BYTES_MAX } from '../../src/core/leases/storage/index.ts';
import { internText } from '../../src/core/leases/snapshots.ts';
import { BUNDLES_OF_CLIENT_MAX, VoteBundles } from '../../src/core/leases/quorum/vote-bundles.ts';
import { Votes } from '../../src/core/leases/quorum/votes.ts';
import { WaitingRoom } from '../../src/core/leases/quorum/waiting-room.ts';
import { Watchers } from '../../src/core/leases/quorum/watchers.ts';
import {
  DURATION_US_MAX,
  formatDuration,
  incarnation,
  monoUs,
  NAME_BYTES_MAX,
  nodeId,
  parseDuration,
  spanUs,
} from '../../src/kernel/index.ts';
import { DataDir, KeepAlive, ROOM_BYTES } from '../../src/runtime/index.ts';
import { Witness } from '../../src/transport/conformance.ts';
import { MEMBER_IDS_BYTES_MAX, MEMBERS_MAX, SECRET_BYTES_MIN, TCP_LIMITS, type TcpLimits } from '../../src/transport/index.ts';
import { FRAME_BYTES_MAX, HANDSHAKE_BYTES_MAX } from '../../src/wire/index.ts';
import { IntervalCell } from '../core/intervals/cell.ts';
import { TcpCell } from '../transport/cell.ts';
import { RawPeer } from '../transport/raw-peer.ts';
import { LOG_AND_HAND_OVER_LIMITS } from './hand-over-limits.ts';
import { SHARING_LIMITS } from './sharing-limits.ts';
import { readPage, rowsOf, sectionOf } from './pages.ts';
import { heldUntil } from '../support/lease-view.ts';

const page = readPage('docs/limits.md');

let cell: TestCell;
let client: Cell;
beforeAll(async () => {
  cell = await testCell({ maxTerm: '4s' });
  client = await cell.client();
});
afterAll(() => cell.close());

const TEST_MEMBERS_MAX = 26;

const long = (bytes: number): string => 'x'.repeat(bytes);
const coded = (code: string): unknown => expect.objectContaining({ code });
const refused = (promise: Promise<unknown>, code: string): Promise<void> => expect(promise).rejects.toEqual(coded(code));
const list = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${i}`, '127.0.0.1:1']));
const join1 = (options: Partial<JoinOptions>): Promise<Cell> =>
  joinCell({ cell: 'x', members: { a: '127.0.0.1:1' }, self: 'a', ...options });

/** A member with limits that a test can reach, and what it reports. */
async function member(limits: Partial<TcpLimits>, act: (port: number, a: Witness, at: TcpCell) => Promise<void>): Promise<void> {
  const at = await TcpCell.of('a');
  const a = new Witness(at.transport('member', 'a', { limits }));
  await a.transport.open(a);
  try {
    await act(at.port('a'), a, at);
  } finally {
    await a.transport.close();
  }
}

/** The reasons of all refusals that were sent. */
const refusals: number[] = [];
const step = {
  monoUs: monoUs(1),
  send(_to: number, { kind, reason }: QuorumMessage) {
    if (kind === REFUSED) refusals.push(reason);
  },
} as unknown as QuorumStep;

interface Limit {
  readonly value: string;
  readonly standard: string;
  cross(): Promise<unknown>;
}

const LIMITS: Record<string, Limit> = {
  'a name': {
    value: `1 to ${NAME_BYTES_MAX} bytes`,
    standard: '',
    async cross() {
      await refused(client.acquire(''), 'TENURE_BAD_NAME');
      await refused(client.acquire(long(NAME_BYTES_MAX + 1)), 'TENURE_BAD_NAME');
      await client.using(long(NAME_BYTES_MAX), () => undefined);
    },
  },
  'a prefix to watch': {
    value: `0 to ${NAME_BYTES_MAX} bytes`,
    standard: 'empty: all names',
    async cross() {
      expect(() => client.watch(long(NAME_BYTES_MAX + 1))).toThrow(coded('TENURE_BAD_NAME'));
      await client.watch(long(NAME_BYTES_MAX)).return();
      await client.watch().return();
    },
  },
  'metadata of a lease': {
    value: `${META_BYTES_MAX} bytes`,
    standard: 'none',
    async cross() {
      await refused(client.acquire('x', { meta: long(META_BYTES_MAX + 1) }), 'TENURE_BAD_ARGUMENT');
      await (await client.acquire('x', { meta: long(META_BYTES_MAX) })).release();
    },
  },
  'the name of a cell or a client, the id of a member': {
    value: `1 to ${NAME_BYTES_MAX} bytes`,
    standard: '',
    async cross() {
      await refused(join1({ cell: long(NAME_BYTES_MAX + 1) }), 'TENURE_BAD_ARGUMENT');
      await refused(connect({ cell: 'x', members: { a: '127.0.0.1:1' }, name: '' }), 'TENURE_BAD_ARGUMENT');
      await refused(join1({ members: { '': '127.0.0.1:1' } }), 'TENURE_BAD_ARGUMENT');
    },
  },
  'the ids of all members together': {
    value: `${MEMBER_IDS_BYTES_MAX} bytes`,
    standard: '',
    async cross() {
      const count = Math.ceil(MEMBER_IDS_BYTES_MAX / 250) + 1;
      const members = Object.fromEntries(Array.from({ length: count }, (_, i) => [`${long(247)}${100 + i}`, '127.0.0.1:1']));
      await refused(join1({ members }), 'TENURE_BAD_ARGUMENT');
    },
  },
  'a secret': {
    value: `at least ${SECRET_BYTES_MIN} bytes`,
    standard: 'none: only this machine is served',
    cross: () => refused(join1({ secret: long(SECRET_BYTES_MIN - 1) }), 'TENURE_BAD_ARGUMENT'),
  },
  'a term': {
    value: '1ms to maxTerm',
    standard: 'maxTerm',
    async cross() {
      await refused(client.acquire('x', { term: 4001 }), 'TENURE_BAD_ARGUMENT');
      await refused(client.acquire('x', { term: 0.5 }), 'TENURE_BAD_ARGUMENT');
      await (await client.acquire('x', { term: 4000 })).release();
    },
  },
  maxTerm: {
    value: `${shortest()} to ${formatDuration(spanUs(MAX_TERM_US_MAX))}`,
    standard: MAX_TERM,
    async cross() {
      await refused(join1({ maxTerm: MAX_TERM_US_MAX / 1000 + 1 }), 'TENURE_BAD_TIMING');
      await refused(join1({ maxTerm: parseDuration(shortest()) / 1000 - 1 }), 'TENURE_BAD_TIMING');
    },
  },
  rateError: {
    value: `0 to ${RATE_ERROR_PPM_MAX / 1_000_000}`,
    standard: String(RATE_ERROR),
    async cross() {
      await refused(join1({ rateError: 0.21 }), 'TENURE_BAD_TIMING');
      await refused(join1({ rateError: -0.1 }), 'TENURE_BAD_TIMING');
    },
  },
  'the skew of an engine': {
    value: 'more than 0, less than maxTerm',
    standard: 'none: it has to be given',
    async cross() {
      await refused(join1({ maxTerm: '4s', engine: { flease: { skew: '4s' } } }), 'TENURE_BAD_TIMING');
      await refused(join1({ engine: { flease: { skew: 0 } } }), 'TENURE_BAD_ARGUMENT');
      await refused(join1({ engine: { paxoslease: { clocks: 'skewed' } } }), 'TENURE_BAD_ARGUMENT');
    },
  },
  'any duration, such as wait': {
    value: `0 to ${formatDuration(DURATION_US_MAX)}`,
    standard: 'of wait: no limit',
    cross: () => refused(client.acquire('x', { wait: '366d' }), 'TENURE_BAD_DURATION'),
  },
  'the timeout of connect': {
    value: 'any duration',
    standard: CONNECT_TIMEOUT,
    cross: () => refused(connect({ cell: 'x', members: { a: '127.0.0.1:1' }, timeout: 1 }), 'TENURE_UNREACHABLE'),
  },
  members: {
    value: `1 to ${MEMBERS_MAX}`,
    standard: '',
    async cross() {
      await refused(connect({ cell: 'x', members: list(MEMBERS_MAX + 1) }), 'TENURE_BAD_ARGUMENT');
      await refused(connect({ cell: 'x', members: {} }), 'TENURE_BAD_ARGUMENT');
      await refused(connect({ cell: 'x', members: list(MEMBERS_MAX), timeout: 1 }), 'TENURE_UNREACHABLE');
    },
  },
  replication: {
    value: '1 to the number of members',
    standard: 'all',
    async cross() {
      for (const replication of [0, 2, 0.5]) await refused(join1({ replication }), 'TENURE_BAD_ARGUMENT');
    },
  },
  ...SHARING_LIMITS,
  'data under a lease (lease.sync)': {
    value: `${SYNC_BYTES_MAX} bytes`,
    standard: '',
    async cross() {
      await using storage = await openStorage('memory:');
      await refused((await storage.acquire('data')).sync(new Uint8Array(SYNC_BYTES_MAX + 1)), 'TENURE_BAD_ARGUMENT');
    },
  },
  'names of one acquireAll': {
    value: String(ACQUIRE_ALL_MAX),
    standard: '',
    async cross() {
      const names = Array.from({ length: ACQUIRE_ALL_MAX + 1 }, (_, i) => `n${i}`);
      await refused(client.acquireAll(names), 'TENURE_LIMIT');
      expect(await client.acquireAll([])).toEqual([]);
    },
  },
  'an integer that is claimed, the size of a block': {
    value: `0 to ${INTEGER_MAX}; of a block from 1 on`,
    standard: '',
    async cross() {
      await using disks = await openTestCell({ keepVotes: true });
      const claims = disks.member('a').claims('x');
      await refused(claims.claim(0, INTEGER_MAX + 1), 'TENURE_BAD_INTERVAL');
      await refused(claims.claim(-1, 0), 'TENURE_BAD_INTERVAL');
      await refused(claims.next(0), 'TENURE_BAD_INTERVAL');
      expect(await claims.claim(0, INTEGER_MAX)).toMatchObject({ ok: true });
    },
  },
  'claims of a process that are under way': {
    value: String(CLAIMS_MAX),
    standard: '',
    async cross() {
      await using disks = await openTestCell({ keepVotes: true });
      for (const id of ['b', 'c']) disks.crash(disks.member(id));
      const claims = disks.member('a').claims('x');
      const waiting = Array.from({ length: CLAIMS_MAX }, (_, i) => claims.claim(i, i).catch(() => undefined));
      await refused(claims.claim(CLAIMS_MAX, CLAIMS_MAX), 'TENURE_LIMIT');
      await disks.close();
      await Promise.all(waiting);
    },
  },
  'spaces, and intervals that are taken or claimed, that a member keeps': {
    value: `${INTERVAL_LIMITS.spaces} spaces, ${INTERVAL_LIMITS.entries} intervals`,
    standard: '',
    async cross() {
      for (const limits of [
        { ...INTERVAL_LIMITS, spaces: 1 },
        { ...INTERVAL_LIMITS, entries: 1 },
      ]) {
        const cores = new IntervalCell({ members: 1, rttUs: 1000, limits }, 2);
        cores.bootstrap();
        for (const [i, space] of ['s', 't'].entries()) {
          cores.command(1, { kind: 'claim', claim: i + 1, space, from: 0, to: 9 });
          cores.deliver();
        }
        expect(cores.last(1, 'granted')?.claim).toBe(1);
        expect(cores.last(1, 'refused')).toMatchObject({ claim: 2, why: 'limit' });
      }
    },
  },
  'ids that are claimed at once': {
    value: `${BLOCK_MIN} to ${BLOCK_MAX}`,
    standard: String(BLOCK_MAX),
    async cross() {
      await using disks = await openTestCell({ keepVotes: true });
      const claims = disks.member('a').claims('x');
      await claims.ids().next();
      expect(await claims.next(1)).toEqual({ from: BLOCK_MIN, to: BLOCK_MIN });
      await claims.ids({ blockMax: 3 }).next();
      expect(await claims.next(1)).toEqual({ from: BLOCK_MIN + 4, to: BLOCK_MIN + 4 });
      expect(() => claims.ids({ blockMax: 0 })).toThrow(coded('TENURE_BAD_INTERVAL'));
    },
  },
  ...LOG_AND_HAND_OVER_LIMITS,
  'leases and questions of a process, from its start on': {
    value: String(LEASE_NUMBERS_MAX),
    standard: '',
    async cross() {
      const old = await openTestCell({}, { firstNumber: LEASE_NUMBERS_MAX });
      await old.member('a').acquire('last');
      await refused(old.member('a').acquire('one more'), 'TENURE_LIMIT');
      await old.close();
    },
  },
  'open watches of a process': {
    value: String(WATCHES_MAX),
    standard: '',
    async cross() {
      const watches = Array.from({ length: WATCHES_MAX }, (_, i) => client.watch(`w${i}`));
      expect(() => client.watch('one more')).toThrow(coded('TENURE_LIMIT'));
      await Promise.all(watches.map((watch) => watch.return()));
      await client.watch('again').return();
    },
  },
  'prefixes that a member keeps for a process': {
    value: `${WATCHES_MAX}, and ${MEMBER_LIMITS.watches} divided by the processes that watch`,
    standard: '',
    cross() {
      const watchers = new Watchers(spanUs(1000));
      const message = new QuorumMessage();
      refusals.length = 0;
      message.kind = WATCH;
      message.termUs = 1;
      for (const owner of [1, 2]) {
        message.owner = incarnation(owner);
        for (let i = 0; i < (owner === 1 ? WATCHES_MAX + 5 : 1); i++) {
          const prefix = Buffer.from(`w${i}`);
          message.setName(prefix, 0, prefix.length);
          watchers.watch(nodeId(5), message, step);
        }
      }
      // One that asks for too much is told so, and takes nothing from others.
      expect(watchers.snapshot()).toHaveLength(WATCHES_MAX + 1);
      expect(refusals).toEqual(Array.from({ length: 5 }, () => NO_WATCH));
      return Promise.resolve();
    },
  },
  'changes that a watch keeps for its reader': {
    value: String(BACKLOG_MAX),
    standard: '',
    async cross() {
      const nothing = {
        present: () => Promise.resolve({ leases: [], certain: true }),
        after: () => () => undefined,
        ended: () => undefined,
      };
      const watch = new WatchFeed('', {}, new KeepAlive(), nothing);
      watch.ask();
      expect(await watch.next()).toEqual({ done: false, value: { kind: 'current' } });
      for (let i = 0; i <= BACKLOG_MAX; i++) watch.hear({ kind: 'change', name: `n${i}`, holder: null, meta: null, text: null });
      expect(await watch.next()).toEqual({ done: false, value: { kind: 'gap' } });
    },
  },
  'requests of a process that stand in line at a member': {
    value: `${MEMBER_LIMITS.waiters} divided by the processes that wait`,
    standard: '',
    cross() {
      const timing = deriveTiming({ maxTermUs: 1_000_000, rateErrorPpm: 0, rttUs: 1000 });
      const held = heldUntil(1_000_000);
      const room = new WaitingRoom({ names: new NameTable(), timing, leases: held, rules: ALL_RULES });
      const waiters = Array.from({ length: MEMBER_LIMITS.waiters - 1 }, (_, i) => [5, 1, i, i, 1_000_000, false, 0, 0, false]);
      room.restore([['x', Infinity, Infinity, waiters]]);
      const message = new QuorumMessage();
      message.setName(Buffer.from('x'), 0, 1);
      const count = (): number => (room.snapshot() as unknown as [string, number, number, unknown[]][])[0]?.[3].length ?? 0;
      const enter = (owner: number, lease: number): number => {
        message.owner = incarnation(owner);
        message.lease = lease;
        room.enter(nodeId(5), message, step);
        return count();
      };
      refusals.length = 0;
      expect(enter(1, MEMBER_LIMITS.waiters)).toBe(MEMBER_LIMITS.waiters);
      expect(enter(1, MEMBER_LIMITS.waiters + 1)).toBe(MEMBER_LIMITS.waiters);
      expect(refusals).toEqual([NO_PLACE]);
      // There is room for another process all the same.
      expect(enter(2, 1)).toBe(MEMBER_LIMITS.waiters + 1);
      return Promise.resolve();
    },
  },
  'bundles that a member keeps for a process, each for the leases of one term': {
    value: String(BUNDLES_OF_CLIENT_MAX),
    standard: '',
    cross(bundles = new VoteBundles(incarnation(1))) {
      const open = (owner: number, termUs: number): boolean => bundles.open(incarnation(owner), nodeId(5), termUs, termUs, 0) !== null;
      const opened = Array.from({ length: BUNDLES_OF_CLIENT_MAX + 1 }, (_, i) => open(7, i + 1));
      expect([opened.indexOf(false), open(7, 1), open(8, BUNDLES_OF_CLIENT_MAX + 1)]).toEqual([BUNDLES_OF_CLIENT_MAX, true, true]);
      return Promise.resolve();
    },
  },
  'leases that a member keeps for a process': {
    value: `${MEMBER_LIMITS.leases} divided by the processes that have some, and ${LEASES_IN_ALL * MEMBER_LIMITS.leases} in all`,
    standard: '',
    cross() {
      const names = new NameTable();
      const votes = new Votes(names, ALL_RULES, new VoteBundles(incarnation(1)), 10);
      const message = new QuorumMessage();
      const isTaken = (owner: number, name: string, metaBytes = 0): boolean => {
        message.owner = incarnation(owner);
        message.setMeta(new Uint8Array(metaBytes));
        const id = internText(names, name);
        if (!votes.hasRoom(id, message, -1)) return false;
        votes.put(id, message.owner, 1, 1, 1, 1000);
        votes.keepMeta(id, message);
        return true;
      };
      for (let i = 0; i < 10; i++) expect(isTaken(1, `a${i}`)).toBe(true);
      expect(isTaken(1, 'one more')).toBe(false);
      expect(isTaken(1, 'a0', 1)).toBe(false);
      // Another process has its part, and metadata counts.
      expect(isTaken(2, 'b', META_BYTES_MAX)).toBe(false);
      expect(isTaken(2, 'b', 3 * 128)).toBe(true);
      expect(isTaken(2, 'c')).toBe(false);
      expect(isTaken(2, 'b', 1)).toBe(true);
      expect(isTaken(2, 'c')).toBe(true);
      return Promise.resolve();
    },
  },
  'connections of a member': {
    value: String(TCP_LIMITS.connectionsMax),
    standard: '',
    cross: () =>
      member({ connectionsMax: 2 }, async (port, a) => {
        const [first, second] = [new RawPeer(port), new RawPeer(port)];
        await Promise.all([once(first.socket, 'connect'), once(second.socket, 'connect')]);
        await new RawPeer(port).closed;
        expect((await a.refusal('TENURE_LIMIT')).details).toMatchObject({ limit: 'connections', max: 2 });
        for (const raw of [first, second]) raw.socket.destroy();
      }),
  },
  'connections that have not proved who they are': {
    value: String(TCP_LIMITS.strangersMax),
    standard: '',
    cross: () =>
      member({ strangersMax: 1 }, async (port, a) => {
        const first = new RawPeer(port);
        await once(first.socket, 'connect');
        const second = new RawPeer(port);
        await first.closed;
        expect((await a.refusal('TENURE_HANDSHAKE_TIMEOUT')).details).toMatchObject({ strangersMax: 1 });
        second.socket.destroy();
      }),
  },
  'a handshake': {
    value: formatDuration(spanUs(TCP_LIMITS.handshakeMs * 1000)),
    standard: '',
    cross: () =>
      member({ handshakeMs: 20 }, async (port, a) => {
        await new RawPeer(port).closed;
        expect((await a.refusal('TENURE_HANDSHAKE_TIMEOUT')).details).toMatchObject({ ms: 20 });
      }),
  },
  'silence of a connection': {
    value: formatDuration(spanUs(TCP_LIMITS.silentMs * 1000)),
    standard: '',
    cross: () =>
      member({ pingMs: 10, silentMs: 30 }, async (port, a) => {
        const raw = await new RawPeer(port).greet();
        expect(await a.see(({ kind }) => kind === 'down')).toMatchObject({ why: 'silent' });
        await raw.closed;
      }),
  },
  'a frame': {
    value: `${FRAME_BYTES_MAX} bytes`,
    standard: '',
    cross: () =>
      member({ clientFrameBytesMax: FRAME_BYTES_MAX }, async (port, a) => {
        const raw = await new RawPeer(port).greet();
        const header = Buffer.alloc(5, 1);
        header.writeUInt32LE(TCP_LIMITS.frameBytesMax + 1);
        raw.bytes(header);
        expect(await a.see(({ kind }) => kind === 'down')).toMatchObject({ why: 'bad-frame', error: { code: 'TENURE_FRAME_TOO_LARGE' } });
        await raw.closed;
      }),
  },
  'a frame from a client': {
    value: `${TCP_LIMITS.clientFrameBytesMax} bytes`,
    standard: '',
    cross: () =>
      member({}, async (port, a) => {
        const raw = await new RawPeer(port).greet();
        const header = Buffer.alloc(5, 1);
        header.writeUInt32LE(TCP_LIMITS.clientFrameBytesMax + 1);
        raw.bytes(header);
        expect(await a.see(({ kind }) => kind === 'down')).toMatchObject({ why: 'bad-frame', error: { code: 'TENURE_FRAME_TOO_LARGE' } });
        await raw.closed;
      }),
  },
  'a frame of the handshake': {
    value: `${HANDSHAKE_BYTES_MAX} bytes`,
    standard: '',
    cross: () =>
      member({}, async (port, a) => {
        const raw = new RawPeer(port);
        const header = Buffer.alloc(5, 16);
        header.writeUInt32LE(HANDSHAKE_BYTES_MAX + 1);
        raw.bytes(header);
        await raw.closed;
        expect((await a.refusal('TENURE_FRAME_TOO_LARGE')).details).toMatchObject({ bytesMax: HANDSHAKE_BYTES_MAX });
      }),
  },
  'what waits to be sent to a peer': {
    value: `${TCP_LIMITS.queueBytesMax} bytes`,
    standard: '',
    cross: () =>
      member({ queueBytesMax: 1000 }, async (port, a) => {
        const raw = await new RawPeer(port).greet();
        const up = await a.see(({ kind }) => kind === 'up');
        const peer = nodeId(up.kind === 'up' ? up.peer : -1);
        for (let i = 0; i < 3; i++) a.send(peer, long(600));
        expect(a.transport.peerStats(peer)).toMatchObject({ dropped: 1, messagesOut: 2 });
        raw.socket.destroy();
      }),
  },
  'what waits to be sent to all clients': {
    value: `${TCP_LIMITS.clientQueuesBytesMax} bytes, an equal part for each`,
    standard: '',
    cross: () =>
      member({ clientQueuesBytesMax: 2000 }, async (port, a) => {
        const raws = [await new RawPeer(port).greet(), await new RawPeer(port).greet()];
        await a.see(() => a.events.filter(({ kind }) => kind === 'up').length === 2);
        const [up] = a.events.filter(({ kind }) => kind === 'up');
        const peer = nodeId(up?.kind === 'up' ? up.peer : -1);
        for (let i = 0; i < 3; i++) a.send(peer, long(600));
        expect(a.transport.peerStats(peer)).toMatchObject({ dropped: 1, messagesOut: 2 });
        for (const raw of raws) raw.socket.destroy();
      }),
  },
  'what is free where the data directory is': {
    value: `at least ${ROOM_BYTES} bytes`,
    standard: '',
    cross: async () => {
      const path = mkdtempSync(join(tmpdir(), 'tenure-'));
      const options = { path, cell: 'x', member: 'a', incarnation: incarnation(1) };
      const dir = await DataDir.open({ ...options, freeBytes: () => ROOM_BYTES });
      await dir.close();
      await refused(DataDir.open({ ...options, freeBytes: () => ROOM_BYTES - 1 }), 'TENURE_DATA_DIR');
      rmSync(path, { recursive: true, force: true });
    },
  },
  'what waits to be written to a history': {
    value: `${HISTORY_QUEUE_BYTES_MAX} bytes`,
    standard: '',
    cross() {
      const codes: string[] = [];
      const origin = { cell: 'x', node: 'a', incarnation: 1 };
      const disk = { write: () => undefined, close: () => undefined };
      const history = new HistoryFile('h', disk, origin, ({ code }) => codes.push(code));
      const entry = { kind: 'requested', resource: long(255), request: 1 } as const;
      for (let bytes = 0; bytes < HISTORY_QUEUE_BYTES_MAX; bytes += 255) history.append(entry);
      expect(codes).toEqual(['TENURE_HISTORY_FAILED']);
      return Promise.resolve();
    },
  },
  'members of a test cell': {
    value: `1 to ${TEST_MEMBERS_MAX}`,
    standard: '3',
    cross: () => refused(testCell({ members: TEST_MEMBERS_MAX + 1 }), 'TENURE_BAD_ARGUMENT'),
  },
};

/** The shortest longest term with the round trip that timing starts from. */
function shortest(): string {
  const rateErrorPpm = Math.round(RATE_ERROR * 1_000_000);
  for (let ms = 1; ; ms++) {
    try {
      const timing = deriveTiming({ maxTermUs: ms * 1000, rateErrorPpm, rttUs: RTT_US });
      if (shortestTermUs(timing) <= ms * 1000) return formatDuration(spanUs(ms * 1000));
    } catch {
      // Still too short.
    }
  }
}

describe('docs/limits.md', () => {
  it('has these limits with these values and defaults', () => {
    expect(rowsOf(sectionOf(page, 'Limits')).map(([name, value, standard]) => [name, value, standard])).toEqual(
      Object.entries(LIMITS).map(([name, { value, standard }]) => [name, value, standard]),
    );
  });

  it('has these fixed times', () => {
    const { pingMs, backoffMsMin, backoffMsMax, refusedMs, lingerMs } = TCP_LIMITS;
    const times = rowsOf(sectionOf(page, 'Fixed times')).map(([, value]) => value);
    expect(times).toEqual(
      [pingMs, backoffMsMin, backoffMsMax, refusedMs, lingerMs, GRACE_US / 1000].map((ms) => formatDuration(spanUs(ms * 1000))),
    );
  });

  it.each(Object.entries(LIMITS))('says truly that there is a limit: %s', async (_name, limit) => {
    expect.hasAssertions();
    await limit.cross();
  });
});
