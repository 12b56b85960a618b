/** I8, atomic broadcast: one order for all, each message once, whoever publishes, whoever was away. */
import { describe, expect, it } from 'vitest';
import {
  BROADCAST_FAST_LANE,
  BROADCAST_LIMITS,
  BROADCAST_OWN_LANE,
  CONSENSUS_LANE,
  type BroadcastMessage,
} from '../../../src/core/index.ts';
import { bytesOf, Cluster, LATENCY_US, textOf, type ClusterNode } from './cluster.ts';

const SETTLED_US = 60 * LATENCY_US;
const LONG_US = 2_000_000;

function isOwn(message: BroadcastMessage, kind: string): boolean {
  return message.lane === BROADCAST_OWN_LANE && message.message.kind === kind;
}

/** What all members read, if they read the same. */
function common(nodes: readonly ClusterNode[]): string[] {
  const [first, ...others] = nodes.map((node) => node.texts());
  for (const other of others) expect(other).toEqual(first);
  return first ?? [];
}

describe.each(['fast-ct', 'chandra-toueg'] as const)('over %s', (consensus) => {
  it('all members deliver what all of them publish, in one order, and each publisher hears the positions', () => {
    const cluster = new Cluster({ consensus });
    cluster.run(SETTLED_US);
    for (const node of cluster.nodes) for (let i = 1; i <= 5; i++) node.publish(`${node.self}.${i}`);
    cluster.run(SETTLED_US);
    const all = common(cluster.nodes);
    expect(all.toSorted()).toEqual(cluster.nodes.flatMap(({ self }) => [1, 2, 3, 4, 5].map((i) => `${self}.${i}`)));
    for (const node of cluster.nodes) {
      const told = node.of('published').flatMap(({ first, last, position }) => {
        return Array.from({ length: last - first + 1 }, (_, i) => [`${node.self}.${first + i}`, position + i] as const);
      });
      expect(told).toEqual([1, 2, 3, 4, 5].map((i) => [`${node.self}.${i}`, all.indexOf(`${node.self}.${i}`) + 1]));
    }
  });

  it('with a disk: a member that comes back goes on where it was, and all of them at once lose nothing', () => {
    const cluster = new Cluster({ consensus, keeps: 'disk', limits: { ...BROADCAST_LIMITS, retainInstances: 50 } });
    cluster.run(SETTLED_US);
    cluster.node(1).publish('one', 'two');
    cluster.run(SETTLED_US);
    for (const node of cluster.nodes) node.crash();
    for (const node of cluster.nodes) node.restart(true);
    cluster.run(LONG_US);
    cluster.node(2).publish('three');
    cluster.run(SETTLED_US);
    expect(common(cluster.nodes)).toEqual(['one', 'two', 'three']);
  });
});

it.each(['epoch', 'consensus/member'])(
  'a brand-new member does not vote before %s is on its disk: its votes would be forgotten after a crash',
  (record) => {
    const cluster = new Cluster({ keeps: 'disk', hangs: (node, key) => node > 0 && key.endsWith(record) });
    cluster.run(SETTLED_US);
    cluster.node(0).publish('too early');
    cluster.run(LONG_US / 4);
    expect(cluster.node(0).of('published')).toEqual([]);
  },
);

it('many messages share an instance, and the bytes of a batch travel once to each member', () => {
  const cluster = new Cluster();
  cluster.run(SETTLED_US);
  const before = cluster.sent.length;
  cluster.node(0).publish(...Array.from({ length: 100 }, (_, i) => `${i}`.padEnd(100, '.')));
  cluster.run(SETTLED_US);
  expect(cluster.node(2).member.position).toBe(100);
  const bytes = cluster.sent.slice(before).reduce((sum, one) => sum + one.bytes, 0);
  expect(bytes).toBeLessThan(2 * 100 * 110 + 10_000);
});

it('in a stable run all instances end FAST from some instance on', () => {
  const cluster = new Cluster();
  cluster.run(SETTLED_US);
  cluster.node(0).crash();
  cluster.run(LONG_US);
  const rounds: number[] = [];
  cluster.loses = (_from, _to, message) => {
    if (message.lane !== BROADCAST_FAST_LANE || message.message.lane !== CONSENSUS_LANE) return false;
    const { message: inner } = message.message;
    if (inner.kind === 'decide') rounds.push(inner.round);
    return false;
  };
  for (let i = 0; i < 20; i++) {
    cluster.node(2).publish(`${i}`);
    cluster.run(SETTLED_US);
  }
  expect(cluster.node(1).member.position).toBe(20);
  expect(rounds.length).toBeGreaterThan(20);
  expect(rounds.slice(10).every((round) => round < cluster.config.members)).toBe(true);
});

describe('clients', () => {
  it('publish through a member that does not lead, and read', () => {
    const cluster = new Cluster({ clients: 2 });
    cluster.run(SETTLED_US);
    const client = cluster.node(4);
    client.publish('hello', 'world');
    cluster.run(SETTLED_US);
    expect(client.of('published')).toEqual([{ kind: 'published', first: 1, last: 2, position: 1 }]);
    expect(cluster.node(3).texts()).toEqual(['hello', 'world']);
    expect(cluster.node(3).read()[0]).toMatchObject({ origin: client.life, from: 'client', number: 1, position: 1 });
  });

  it('whose answer is lost turn to another member, and are told the same position', () => {
    const cluster = new Cluster({ clients: 1 });
    cluster.run(SETTLED_US);
    let lost = 0;
    const mute = cluster.node(3).life % 3;
    cluster.loses = (from, _to, message) => from === mute && isOwn(message, 'published') && ++lost > 0;
    cluster.node(3).publish('once');
    cluster.run(LONG_US);
    expect(lost).toBeGreaterThan(0);
    expect(cluster.node(3).of('published')).toEqual([{ kind: 'published', first: 1, last: 1, position: 1 }]);
    expect(common(cluster.nodes.slice(0, 3))).toEqual(['once']);
  });

  it('may not publish as another process', () => {
    const cluster = new Cluster({ clients: 2 });
    cluster.run(SETTLED_US);
    cluster.node(3).publish('mine');
    cluster.run(SETTLED_US);
    const stolen = cluster.sent.find(({ message }) => isOwn(message, 'publish'));
    expect(stolen).toBeDefined();
    if (!stolen) return;
    const sender = { node: cluster.node(4).self, incarnation: 99 as never, isAdmin: true };
    expect(cluster.node(0).core.admits(sender, stolen.message)).toBe(false);
    expect(cluster.node(0).core.admits({ ...sender, incarnation: cluster.node(3).life as never }, stolen.message)).toBe(true);
  });
});

describe('a log that keeps little', () => {
  const limits = { ...BROADCAST_LIMITS, retainInstances: 4 };

  it('says what is gone, and what it still has', () => {
    const cluster = new Cluster({ limits });
    cluster.run(SETTLED_US);
    for (let i = 1; i <= 10; i++) {
      cluster.node(0).publish(`${i}`);
      cluster.run(SETTLED_US);
    }
    cluster.node(1).command({ kind: 'read', reader: 7, after: 0, name: null, bytesMax: 1000 });
    expect(cluster.node(1).of('gone')).toEqual([{ kind: 'gone', reader: 7, first: 7 }]);
    expect(cluster.node(1).texts(6)).toEqual(['7', '8', '9', '10']);
  });

  it('is copied to a member that was away, which then has what the others have', () => {
    const cluster = new Cluster({ limits });
    cluster.run(SETTLED_US);
    cluster.node(2).crash();
    for (let i = 1; i <= 10; i++) {
      cluster.node(0).publish(`${i}`);
      cluster.run(SETTLED_US);
    }
    cluster.node(2).restart(false);
    cluster.run(LONG_US);
    expect(cluster.node(2).member.standing).toBe('ready');
    expect(cluster.node(2).member.position).toBe(10);
    const first = cluster.node(0).member.firstPosition;
    expect(cluster.node(2).member.firstPosition).toBe(first);
    expect(cluster.node(2).texts(first - 1)).toEqual(cluster.node(0).texts(first - 1));
  });

  it('takes no more of a disk than it keeps, and all that it keeps is there for the next life', () => {
    const cluster = new Cluster({ keeps: 'disk', limits: { ...BROADCAST_LIMITS, retainInstances: 50, retainBytes: 1000 } });
    cluster.run(SETTLED_US);
    for (let i = 1; i <= 40; i++) {
      cluster.node(0).publish(`${i}`.padEnd(100, '.'));
      cluster.run(SETTLED_US);
    }
    const { firstPosition } = cluster.node(1).member;
    expect(firstPosition).toBeGreaterThan(30);
    for (const { disk } of cluster.nodes) {
      const pieces = [...disk].filter(([key, bytes]) => key.startsWith('log/') && bytes.length > 0);
      // The piece that says so is stored after those that were dropped before it came.
      expect(pieces.length).toBeLessThanOrEqual(40 - firstPosition + 1 + 2);
    }
    const kept = cluster.node(1).texts(firstPosition - 1);
    for (const node of cluster.nodes) node.crash();
    for (const node of cluster.nodes) node.restart(true);
    cluster.run(LONG_US);
    for (const node of cluster.nodes) expect([node.member.firstPosition, node.texts(firstPosition - 1)]).toEqual([firstPosition, kept]);
  });

  it('empties the places of what it had before it was begun anew', () => {
    const cluster = new Cluster({ keeps: 'disk', limits: { ...BROADCAST_LIMITS, retainInstances: 20, retainBytes: 1000 } });
    cluster.run(SETTLED_US);
    for (let i = 1; i <= 3; i++) {
      cluster.node(0).publish(`${i}`.padEnd(100, '.'));
      cluster.run(SETTLED_US);
    }
    cluster.node(2).crash();
    for (let i = 4; i <= 40; i++) {
      cluster.node(0).publish(`${i}`.padEnd(100, '.'));
      cluster.run(SETTLED_US);
    }
    cluster.node(2).restart(true);
    cluster.run(LONG_US);
    cluster.node(0).publish('last');
    cluster.run(SETTLED_US);
    const { firstPosition } = cluster.node(2).member;
    const pieces = [...cluster.node(2).disk].filter(([key, bytes]) => key.startsWith('log/') && bytes.length > 0);
    expect(pieces.length).toBeLessThanOrEqual(41 - firstPosition + 1 + 2);
    expect(cluster.node(2).texts(firstPosition - 1)).toEqual(cluster.node(0).texts(firstPosition - 1));
  });
});

describe('readers', () => {
  it('are served by name, with the positions of the one log', () => {
    const cluster = new Cluster();
    cluster.run(SETTLED_US);
    const messages = ['a', 'b', 'a', 'a', 'b'].map((name, i) => ({ name: bytesOf(name), message: bytesOf(`${i + 1}`) }));
    cluster.node(0).command({ kind: 'publish', messages });
    cluster.run(SETTLED_US);
    const read = (name: string): unknown =>
      cluster
        .node(1)
        .read(0, name)
        .map(({ position, message }) => [position, textOf(message)]);
    expect(read('b')).toEqual([
      [2, '2'],
      [5, '5'],
    ]);
    expect(read('a')).toEqual([
      [1, '1'],
      [3, '3'],
      [4, '4'],
    ]);
    expect(read('c')).toEqual([]);
  });

  it('that wait are answered when something comes, and not after they have gone', () => {
    const cluster = new Cluster();
    cluster.run(SETTLED_US);
    cluster.node(1).command({ kind: 'read', reader: 1, after: 0, name: null, bytesMax: 1000 });
    cluster.node(1).command({ kind: 'read', reader: 2, after: 0, name: null, bytesMax: 1000 });
    cluster.node(1).command({ kind: 'forget', reader: 2 });
    cluster.node(0).publish('x');
    cluster.run(SETTLED_US);
    expect(
      cluster
        .node(1)
        .of('page')
        .map(({ reader }) => reader),
    ).toEqual([1]);
  });
});

describe('backpressure', () => {
  it('refuses what there is no room for, and says when there is', () => {
    const cluster = new Cluster({ limits: { ...BROADCAST_LIMITS, ownBytes: 300 } });
    cluster.run(SETTLED_US);
    const node = cluster.node(1);
    node.publish('x'.repeat(200));
    expect(node.core.room).toBeLessThan(200);
    expect(() => node.publish('y'.repeat(200))).toThrow(expect.objectContaining({ code: 'TENURE_LIMIT' }));
    cluster.run(SETTLED_US);
    expect(node.of('room')).toHaveLength(1);
    node.publish('y'.repeat(200));
    cluster.run(SETTLED_US);
    expect(cluster.node(0).member.position).toBe(2);
  });

  it('refuses a message that no frame could carry', () => {
    const cluster = new Cluster();
    expect(() => cluster.node(0).publish('x'.repeat(600_000))).toThrow(expect.objectContaining({ code: 'TENURE_LIMIT' }));
  });
});

describe('an act', () => {
  it('begins a group in which nobody remembers anything', () => {
    const cluster = new Cluster({ isBlank: true });
    cluster.run(LONG_US);
    expect(cluster.nodes.map(({ member }) => member.standing)).toEqual(['blank', 'blank', 'blank']);
    cluster.node(1).command({ kind: 'renew', waitUs: 1_000_000 });
    cluster.run(SETTLED_US);
    expect(cluster.node(1).of('renewed')).toMatchObject([{ ok: true, absent: [], barred: [] }]);
    cluster.node(2).publish('first');
    cluster.run(SETTLED_US);
    expect(common(cluster.nodes)).toEqual(['first']);
  });

  it('needs all members, and says who is absent', () => {
    const cluster = new Cluster({ isBlank: true });
    cluster.node(2).crash();
    cluster.node(1).command({ kind: 'renew', waitUs: 100_000 });
    cluster.run(LONG_US);
    expect(cluster.node(1).of('renewed')).toMatchObject([{ ok: false, absent: [2] }]);
    expect(cluster.node(1).member.standing).toBe('blank');
  });

  it('is refused while a majority remembers', () => {
    const cluster = new Cluster();
    cluster.run(SETTLED_US);
    cluster.node(1).command({ kind: 'renew', waitUs: 100_000 });
    cluster.run(SETTLED_US);
    expect(cluster.node(1).of('renewed')).toMatchObject([{ ok: false, barred: [0, 1, 2] }]);
    cluster.run(LONG_US);
    cluster.node(1).publish('goes on');
    cluster.run(SETTLED_US);
    expect(common(cluster.nodes)).toEqual(['goes on']);
  });

  it('goes on with the longest log, in another epoch, when fewer than a majority remember', () => {
    const cluster = new Cluster();
    cluster.run(SETTLED_US);
    cluster.node(0).publish('kept');
    cluster.run(SETTLED_US);
    const { epoch } = cluster.node(2).member;
    for (const number of [0, 1]) cluster.node(number).crash();
    for (const number of [0, 1]) cluster.node(number).restart(false);
    cluster.run(LONG_US);
    expect(cluster.node(2).member.isStopped).toBe(true);
    expect(cluster.node(2).of('stopped').at(-1)?.without).toEqual([0, 1]);
    cluster.node(0).command({ kind: 'renew', waitUs: 1_000_000 });
    cluster.run(LONG_US);
    expect(cluster.node(0).of('renewed')).toMatchObject([{ ok: true }]);
    expect(cluster.node(1).member.epoch).toBeGreaterThan(epoch);
    cluster.node(1).publish('after');
    cluster.run(LONG_US);
    expect(common(cluster.nodes)).toEqual(['kept', 'after']);
  });
});

it('a copy of the state is given to whoever needs one, in parts, and to nobody who does not', () => {
  const cluster = new Cluster({ clients: 1 });
  cluster.run(SETTLED_US);
  const bytes = Uint8Array.from({ length: 300_000 }, (_, i) => i % 251);
  const name = Uint8Array.of(1, 2);
  cluster.node(2).command({ kind: 'offer', name, snapshot: { position: 5, bytes } });
  for (const number of [0, 3]) cluster.node(number).command({ kind: 'fetch', name, after: 3 });
  cluster.run(LONG_US);
  for (const number of [0, 3]) {
    const [event] = cluster.node(number).of('snapshot');
    expect(event?.snapshot?.position).toBe(5);
    expect(Buffer.compare(event?.snapshot?.bytes ?? new Uint8Array(0), bytes)).toBe(0);
  }
  cluster.node(1).command({ kind: 'offer', name: Uint8Array.of(7), snapshot: { position: 9, bytes } });
  cluster.node(0).command({ kind: 'fetch', name, after: 5 });
  cluster.run(LONG_US);
  expect(cluster.node(0).of('snapshot').at(-1)).toEqual({ kind: 'snapshot', snapshot: null });
});

it('where nobody comes back, a member that was restarted stays silent, whatever it is asked', () => {
  const cluster = new Cluster({ keeps: 'crash-stop' });
  const member = cluster.node(2);
  member.crash();
  member.restart(false);
  member.command({ kind: 'read', reader: 1, after: 0, name: null, bytesMax: 1000 });
  expect(member.of('standing')).toEqual([{ kind: 'standing', standing: 'silent' }]);
  expect(member.member.standing).toBe('silent');
});

it('every member says how it stands when it is asked, also to a client', () => {
  const cluster = new Cluster({ clients: 1 });
  cluster.run(SETTLED_US);
  for (const number of [1, 3]) cluster.node(number).command({ kind: 'survey' });
  cluster.run(LONG_US);
  for (const number of [1, 3]) {
    const surveyed = cluster
      .node(number)
      .of('surveyed')
      .toSorted((one, other) => one.member - other.member);
    expect(surveyed.map(({ member, standing, first, last, without }) => [member, standing, first, last, without.length])).toEqual(
      [0, 1, 2].map((member) => [member, 'ready', 1, 0, 0]),
    );
  }
});
