/** Publishers that live on while their group is begun anew: what the lost epoch had acknowledged leaves nobody waiting. */
import { expect, it } from 'vitest';
import { BROADCAST_OWN_LANE, type BroadcastMessage } from '../../../src/core/index.ts';
import { Cluster, LATENCY_US, textOf } from './cluster.ts';

const SETTLED_US = 60 * LATENCY_US;
const LONG_US = 600_000;
const CLIENT = 3;

function isOwn(message: BroadcastMessage, kind: string): boolean {
  return message.lane === BROADCAST_OWN_LANE && message.message.kind === kind;
}

function loseMemory(cluster: Cluster, members: readonly number[]): void {
  for (const number of members) cluster.node(number).crash();
  for (const number of members) cluster.node(number).restart(false);
  cluster.run(LONG_US);
}

function beginAnew(cluster: Cluster): void {
  cluster.node(0).command({ kind: 'renew', waitUs: 1_000_000 });
  cluster.run(LONG_US);
  expect(cluster.node(0).of('renewed')).toMatchObject([{ ok: true }]);
}

it('a client whose earlier messages were lost with their epoch is told that the next one is uncertain, and publishes again', () => {
  const cluster = new Cluster({ clients: 1 });
  cluster.run(SETTLED_US);
  const client = cluster.node(CLIENT);
  cluster.loses = (from, _to, message) => from === CLIENT && message.lane === BROADCAST_OWN_LANE && isSecond(message);
  client.publish('acknowledged');
  // The client has heard where the log ends, and has sent it.
  cluster.run(2 * LATENCY_US);
  client.publish('under way');
  cluster.run(SETTLED_US);
  expect(client.of('published')).toHaveLength(1);
  loseMemory(cluster, [0, 1, 2]);
  cluster.loses = () => false;
  beginAnew(cluster);
  expect(client.of('uncertain')).toEqual([{ kind: 'uncertain', first: 2, last: 2 }]);
  client.publish('anew');
  cluster.run(LONG_US);
  expect(client.of('published').at(-1)).toEqual({ kind: 'published', first: 3, last: 3, position: 1 });
  expect(cluster.node(0).texts()).toEqual(['anew']);
});

it('a client of which the new epoch knows only the first messages publishes on', () => {
  const cluster = new Cluster({ clients: 1, keeps: 'disk' });
  cluster.run(SETTLED_US);
  const client = cluster.node(CLIENT);
  client.publish('kept');
  cluster.run(SETTLED_US);
  cluster.node(0).crash();
  client.publish('lost');
  cluster.run(LONG_US);
  expect(client.of('published')).toHaveLength(2);
  for (const number of [1, 2]) cluster.node(number).crash();
  for (const number of [1, 2]) cluster.node(number).restart(false);
  cluster.node(0).restart(true);
  cluster.run(LONG_US);
  beginAnew(cluster);
  client.publish('after');
  cluster.run(LONG_US);
  expect(client.of('published').at(-1)).toEqual({ kind: 'published', first: 3, last: 3, position: 2 });
  expect(cluster.node(1).texts()).toEqual(['kept', 'after']);
});

it('a reader that waits beyond the end of the new log hears of the new epoch', () => {
  const cluster = new Cluster({ clients: 1 });
  cluster.run(SETTLED_US);
  const client = cluster.node(CLIENT);
  client.publish('one', 'two');
  cluster.run(SETTLED_US);
  client.command({ kind: 'read', reader: 7, after: 2, name: null, bytesMax: 1000 });
  cluster.run(SETTLED_US);
  loseMemory(cluster, [0, 1, 2]);
  beginAnew(cluster);
  const { epoch } = cluster.node(0).member;
  expect(client.of('page')).toEqual([{ kind: 'page', reader: 7, entries: [], upTo: 2, epoch }]);
});

it('a client goes on in a lower epoch when no member knows the one that it has heard of', () => {
  const cluster = new Cluster({ clients: 1 });
  cluster.run(SETTLED_US);
  loseMemory(cluster, [0, 1]);
  beginAnew(cluster);
  const client = cluster.node(CLIENT);
  client.publish('lost');
  cluster.run(LONG_US);
  const { epoch } = cluster.node(0).member;
  loseMemory(cluster, [0, 1, 2]);
  beginAnew(cluster);
  expect(cluster.node(0).member.epoch).toBeLessThan(epoch);
  client.publish('anew');
  cluster.run(LONG_US);
  expect(client.of('published').at(-1)).toEqual({ kind: 'published', first: 2, last: 2, position: 1 });
});

it('a client does not hear of the end of the log from a member that is still in the lost epoch', () => {
  const cluster = new Cluster({ clients: 1 });
  cluster.run(SETTLED_US);
  const client = cluster.node(CLIENT);
  for (const text of ['one', 'two', 'three']) client.publish(text);
  cluster.run(SETTLED_US);
  const stale = cluster.sent.findLast(({ message }) => isOwn(message, 'published'))?.message;
  loseMemory(cluster, [0, 1, 2]);
  beginAnew(cluster);
  client.command({ kind: 'look' });
  cluster.run(SETTLED_US);
  expect(client.of('end').at(-1)).toEqual({ kind: 'end', first: 1, last: 0 });
  expect(client.core.position).toBe(0);
  if (stale) client.do((step) => client.core.receive(cluster.node(1).self, stale, step));
  expect(client.core.position).toBe(0);
});

function isSecond(message: BroadcastMessage): boolean {
  return message.lane === BROADCAST_OWN_LANE && message.message.kind === 'publish' && textOf(message.message.group).endsWith('under way');
}
