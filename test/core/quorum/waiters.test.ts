/** Those who wait: in which order they are served, how soon, and what the dead among them cost. */
import { describe, expect, it } from 'vitest';
import { Cell, not, ofKind, TERM_US, TIMING, to, type Node } from './cell.ts';
import { kept } from './census.ts';

const LONG_US = 100 * TERM_US;
const HOUR_US = 3_600_000_000;

function held(members: number, clients: number): { cell: Cell; holder: Node; lease: number; clients: Node[] } {
  const cell = new Cell({ members, clients: clients + 1 });
  const holder = cell.node(members);
  const lease = holder.acquire({ keep: true });
  cell.settle();
  return { cell, holder, lease, clients: cell.nodes.slice(members + 1) };
}

describe.each([1, 2, 3, 4, 5])('with %i members, waiters', (members) => {
  it('are told at once when the lease is let go, and get it', () => {
    const { cell, holder, lease, clients } = held(members, 1);
    const [waiter] = clients as [Node];
    const waiting = waiter.acquire({ waitUs: LONG_US });
    cell.run(TERM_US);
    holder.release(lease);
    cell.settle();
    expect(waiter.last('granted')).toMatchObject({ lease: waiting, waited: true });
  });

  it('are served in the order in which they queued', () => {
    const { cell, holder, lease, clients } = held(members, 5);
    for (const client of clients) {
      client.acquire({ waitUs: LONG_US, keep: true });
      cell.run(10_000);
    }
    holder.release(lease);
    const served: number[] = [];
    for (const _ of clients) {
      cell.settle();
      const next = clients.find((client) => client.holds(1));
      if (!next) throw new Error(`nobody got it after ${served.join(', ')}`);
      served.push(next.id);
      next.release(1);
    }
    expect(served).toEqual(clients.map(({ id }) => id));
  });

  it('get the lease of a holder that died when its term is over', () => {
    const { cell, holder, clients } = held(members, 1);
    const [waiter] = clients as [Node];
    const waiting = waiter.acquire({ waitUs: LONG_US });
    cell.run(10_000);
    holder.down = true;
    cell.run(TIMING.silenceUs + 3 * TIMING.headStartUs);
    expect(waiter.last('granted').lease).toBe(waiting);
  });
});

describe('a request', () => {
  it('that begins after mine was queued at a majority does not overtake me, though its wall clock is an hour behind', () => {
    const { cell, holder, lease, clients } = held(3, 2);
    const [mine, other] = clients as [Node, Node];
    other.wallOffsetUs -= HOUR_US;
    mine.acquire({ waitUs: LONG_US });
    cell.settle(not((packet) => packet.to === 2 && packet.kind === 'WAIT'));
    cell.drop();
    other.acquire({ waitUs: LONG_US });
    cell.settle();
    holder.release(lease);
    cell.settle();
    expect(mine.said('granted')).toHaveLength(1);
    expect(other.said('granted')).toEqual([]);
  });

  it('that does not wait is not served before those who do', () => {
    const { cell, holder, lease, clients } = held(3, 2);
    const [waiter, other] = clients as [Node, Node];
    waiter.acquire({ waitUs: LONG_US });
    cell.settle();
    holder.release(lease);
    // The word that it is free has not reached the waiter yet.
    cell.settle(not(ofKind('FREE')));
    other.acquire();
    cell.settle(not(ofKind('FREE')));
    expect(other.last('refused').reason).toBe('queued');
    cell.settle();
    expect(waiter.said('granted')).toHaveLength(1);
  });

  it('stops waiting when its time is over, and leaves the queues', () => {
    const { cell, clients } = held(3, 1);
    const [waiter] = clients as [Node];
    const waiting = waiter.acquire({ waitUs: TERM_US });
    cell.run(TERM_US - 1);
    expect(waiter.said('refused')).toEqual([]);
    cell.run(1);
    expect(waiter.last('refused')).toMatchObject({ lease: waiting, reason: 'timeout' });
    for (const member of [0, 1, 2]) expect(kept(cell.node(member).core, '#queues')).toBe(0);
  });
});

describe('a waiter', () => {
  it('that is dead at the head costs a head start, and not a term', () => {
    const { cell, holder, lease, clients } = held(3, 3);
    const [dead, dead2, alive] = clients as [Node, Node, Node];
    for (const client of clients) {
      client.acquire({ waitUs: LONG_US });
      cell.run(10_000);
    }
    dead.down = dead2.down = true;
    holder.release(lease);
    cell.run(2 * TIMING.headStartUs - 1);
    expect(alive.said('granted')).toEqual([]);
    cell.run(1);
    expect(alive.said('granted')).toHaveLength(1);
  });

  it('that is not heard of any more is forgotten', () => {
    const { cell, holder, lease, clients } = held(3, 2);
    const [dead, other] = clients as [Node, Node];
    dead.acquire({ waitUs: LONG_US });
    cell.settle();
    expect(kept(cell.node(0).core, '#queues')).toBe(1);
    dead.down = true;
    cell.run(TIMING.waiterUs + TIMING.refreshUs + TERM_US);
    for (const member of [0, 1, 2]) expect(kept(cell.node(member).core, '#queues')).toBe(0);
    holder.release(lease);
    cell.run(10);
    other.acquire();
    cell.settle();
    expect(other.last('granted').trips).toBe(1);
  });

  it('does not need every word: what it was told and lost is told again', () => {
    const { cell, holder, lease, clients } = held(3, 1);
    const [waiter] = clients as [Node];
    waiter.acquire({ waitUs: LONG_US });
    cell.run(TERM_US);
    holder.release(lease);
    cell.settle(not(ofKind('FREE')));
    cell.drop();
    cell.run(TIMING.refreshUs);
    expect(waiter.said('granted')).toHaveLength(1);
  });

  it('keeps its place when members restart one after the other', () => {
    const { cell, holder, lease, clients } = held(3, 2);
    const [first, second] = clients as [Node, Node];
    for (const client of clients) {
      client.acquire({ waitUs: LONG_US });
      cell.run(10_000);
    }
    for (const member of [0, 1, 2]) {
      cell.node(member).restart();
      cell.run(2 * TERM_US);
    }
    expect(holder.holds(lease)).toBe(true);
    holder.release(lease);
    cell.settle();
    expect(first.said('granted')).toHaveLength(1);
    expect(second.said('granted')).toEqual([]);
  });

  it('is not fooled by an old word that it is free', () => {
    const { cell, holder, lease, clients } = held(3, 2);
    const [first, second] = clients as [Node, Node];
    for (const client of clients) {
      client.acquire({ waitUs: LONG_US, keep: true });
      cell.run(10_000);
    }
    holder.release(lease);
    cell.settle();
    const words = cell.sent.filter((packet) => packet.kind === 'FREE');
    for (const word of words) {
      cell.hand({ ...word, to: second.id });
      cell.hand(word);
    }
    cell.run(3 * TERM_US);
    expect(first.holds(1)).toBe(true);
    first.release(1);
    cell.run(TERM_US / 2);
    expect(second.holds(1)).toBe(true);
  });

  it('waits for the lease though it cannot reach one of the members', () => {
    const { cell, holder, lease, clients } = held(3, 1);
    const [waiter] = clients as [Node];
    const reached = (packet: { from: number; to: number }): boolean =>
      !(packet.from === waiter.id && packet.to === 0) && !(packet.from === 0 && packet.to === waiter.id);
    waiter.acquire({ waitUs: LONG_US });
    cell.run(TERM_US, reached);
    holder.release(lease);
    cell.run(TIMING.headStartUs, reached);
    expect(waiter.said('granted')).toHaveLength(1);
  });
});

describe('a crowd', () => {
  it('of two hundred is served, all of it, without a term lost', () => {
    const { cell, holder, lease } = held(3, 1);
    const waiter = cell.node(4);
    const leases = Array.from({ length: 200 }, () => waiter.acquire({ waitUs: LONG_US }));
    cell.run(TERM_US);
    const began = cell.nowUs;
    holder.release(lease);
    for (let served = 0; served < leases.length; served++) {
      cell.settle();
      for (let i = 0; i < 100 && waiter.said('granted').length <= served; i++) cell.run(TIMING.headStartUs);
      waiter.release(waiter.last('granted').lease);
    }
    cell.settle();
    expect(waiter.said('granted')).toHaveLength(200);
    expect(cell.nowUs - began).toBeLessThan(20 * TERM_US);
    expect(cell.flying.filter(to(0, 1, 2))).toEqual([]);
  });
});

it('the second in line is told at once when the head, which was told, gives up', () => {
  const { cell, holder, lease, clients } = held(3, 2);
  const [head, second] = clients as [Node, Node];
  const first = head.acquire({ waitUs: LONG_US });
  cell.run(1000);
  second.acquire({ waitUs: LONG_US });
  cell.run(1000);
  holder.release(lease);
  // The head is told, and its proposals are lost.
  cell.settle(({ from, kind }) => !(from === head.id && kind === 'PROPOSE'));
  cell.drop();
  head.cancel(first);
  cell.settle();
  expect(second.said('granted')).toHaveLength(1);
});
