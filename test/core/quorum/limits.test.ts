/** What members keep for their clients, at most: whoever is refused is told so, and one that is greedy leaves room for others. */
import { describe, expect, it } from 'vitest';
import { ALL_RULES, MEMBER_LIMITS, QuorumMessage, shareOf, WAIT, type QuorumStep } from '../../../src/core/index.ts';
import { WaitingRoom } from '../../../src/core/leases/quorum/waiting-room.ts';
import { NameTable } from '../../../src/core/tables/index.ts';
import { incarnation, monoUs, nodeId } from '../../../src/kernel/index.ts';
import { TCP_LIMITS } from '../../../src/transport/index.ts';
import { Cell, name, not, TERM_US, TIMING, to, type Node } from './cell.ts';
import { ALL_TAKEN, heldUntil, NONE_TAKEN } from '../../support/lease-view.ts';

const LONG_US = 100 * TERM_US;
/** One waiter and one watch of each client. */
const TIGHT = { ...MEMBER_LIMITS, waiters: 1, watches: 1 };

function tight(clients: number): { cell: Cell; holder: Node; lease: number; clients: Node[] } {
  const cell = new Cell({ clients: clients + 1, limits: TIGHT });
  const holder = cell.node(3);
  const lease = holder.acquire({ keep: true });
  cell.settle();
  return { cell, holder, lease, clients: cell.nodes.slice(4) };
}

describe('a request that waits', () => {
  it('is told if a majority has no place for it, and asks no more', () => {
    const { cell, clients } = tight(1);
    const [greedy] = clients as [Node];
    const first = greedy.acquire({ waitUs: LONG_US });
    cell.settle();
    const second = greedy.acquire({ waitUs: LONG_US });
    cell.settle();
    expect(greedy.said('queued').map(({ lease }) => lease)).toEqual([first]);
    expect(greedy.last('refused')).toMatchObject({ lease: second, reason: 'no-place' });
    cell.run(2 * TERM_US);
    expect(greedy.said('refused')).toHaveLength(1);
  });

  it('finds a place though another client has all that one client may have', () => {
    const { cell, holder, lease, clients } = tight(2);
    const [greedy, honest] = clients as [Node, Node];
    for (let i = 0; i < 5; i++) greedy.acquire({ waitUs: LONG_US });
    cell.settle();
    const waiting = honest.acquire({ waitUs: LONG_US });
    cell.settle();
    greedy.cancel(1);
    holder.release(lease);
    cell.settle();
    expect(honest.last('granted').lease).toBe(waiting);
  });

  it('goes on waiting where a majority has a place for it', () => {
    const { cell, holder, lease, clients } = tight(1);
    const [client] = clients as [Node];
    client.acquire({ name: name('other'), waitUs: LONG_US });
    cell.settle();
    client.release(1, name('other'));
    cell.settle();
    // Only the first member does not hear that this one waits no more.
    const other = cell.node(3).acquire({ name: name('other'), keep: true });
    cell.settle();
    const leaving = client.acquire({ name: name('other'), waitUs: LONG_US });
    cell.settle();
    client.cancel(leaving);
    cell.settle(not(to(0)));
    cell.drop();
    const staying = client.acquire({ waitUs: LONG_US });
    cell.settle();
    expect(client.said('refused').map(({ reason }) => reason)).toEqual(['cancelled']);
    expect(client.last('queued').lease).toBe(staying);
    holder.release(lease);
    cell.settle();
    expect(client.last('granted').lease).toBe(staying);
    expect(other).toBeGreaterThan(0);
  });

  it('has its place again once others have left', () => {
    const { cell, clients } = tight(1);
    const [client] = clients as [Node];
    const first = client.acquire({ waitUs: LONG_US });
    cell.settle();
    client.cancel(first);
    cell.settle();
    const second = client.acquire({ waitUs: LONG_US });
    cell.settle();
    expect(client.last('queued').lease).toBe(second);
  });
});

describe('a waiter', () => {
  it('that connects again is told where it is now', () => {
    let isHeld = true;
    const leases = { ...heldUntil(1_000_000), taken: () => (isHeld ? ALL_TAKEN : NONE_TAKEN) };
    const room = new WaitingRoom({ names: new NameTable(), timing: TIMING, leases, rules: ALL_RULES });
    const sent: number[] = [];
    const step = { monoUs: monoUs(1), send: (node: number) => sent.push(node) } as unknown as QuorumStep;
    const message = new QuorumMessage();
    message.kind = WAIT;
    message.owner = incarnation(1);
    message.lease = 1;
    message.setName(name('r'), 0, 1);
    room.enter(nodeId(5), message, step);
    room.enter(nodeId(9), message, step);
    isHeld = false;
    room.leaseChanged(0, step);
    expect(sent).toEqual([5, 9, 9]);
  });
});

describe('a watch', () => {
  it('is told if a majority has no room for it', () => {
    const { cell, clients } = tight(2);
    const [greedy, honest] = clients as [Node, Node];
    const prefixes = [name('a'), name('b')] as const;
    for (const prefix of prefixes) greedy.command({ kind: 'watch', prefix });
    cell.settle();
    expect(greedy.said('watch-refused')).toEqual([{ kind: 'watch-refused', prefix: prefixes[1] }]);
    honest.command({ kind: 'watch', prefix: name('c') });
    cell.settle();
    expect(honest.said('watch-refused')).toEqual([]);
    // What was refused is asked for no more; what was taken in is kept.
    cell.run(3 * TERM_US);
    expect(greedy.said('watch-refused')).toHaveLength(1);
    cell.node(3).acquire({ name: name('a') });
    cell.settle();
    expect(greedy.said('learned')).toHaveLength(1);
  });

  it('with several prefixes of one name hears of it once', () => {
    const cell = new Cell({ clients: 2 });
    const [holder, watcher] = [cell.node(3), cell.node(4)];
    for (const prefix of ['', 'r', 'ra', 'x']) watcher.command({ kind: 'watch', prefix: new TextEncoder().encode(prefix) });
    cell.settle();
    holder.acquire({ name: name('rab') });
    cell.settle((packet) => packet.kind !== 'LEARNED');
    expect(cell.flying.filter(({ kind }) => kind === 'LEARNED').map(({ from }) => from)).toEqual([0, 1, 2]);
  });
});

describe('a lease', () => {
  it('beyond what a majority keeps for its client is refused, waiting or not, and others have theirs', () => {
    const cell = new Cell({ clients: 2, limits: { ...MEMBER_LIMITS, leases: 4 } });
    const [greedy, honest] = [cell.node(3), cell.node(4)];
    for (let i = 0; i < 4; i++) greedy.acquire({ name: name(`g${i}`), keep: true });
    cell.settle();
    expect(greedy.said('granted')).toHaveLength(4);
    greedy.acquire({ name: name('g4') });
    greedy.acquire({ name: name('g5'), waitUs: LONG_US });
    cell.settle();
    expect(greedy.said('refused').map(({ reason }) => reason)).toEqual(['no-room', 'no-room']);
    honest.acquire({ name: name('h') });
    cell.settle();
    expect(honest.said('granted')).toHaveLength(1);
    // What it has is renewed, and what it gives back can be had again.
    cell.run(3 * TERM_US);
    expect(greedy.said('lost')).toEqual([]);
    greedy.release(1, name('g0'));
    greedy.release(2, name('g1'));
    greedy.release(3, name('g2'));
    cell.run(2 * TERM_US);
    greedy.acquire({ name: name('g6') });
    cell.settle();
    expect(greedy.said('granted')).toHaveLength(5);
  });
});

describe('the part of one client', () => {
  it('leaves room for the next one beside as many greedy ones as a member has connections, and is bounded in all', () => {
    let all = 0;
    for (let clients = 1; clients <= TCP_LIMITS.connectionsMax; clients++) {
      const own = shareOf(MEMBER_LIMITS.waiters, clients);
      expect(own).toBeGreaterThan(1);
      all += own;
    }
    expect(all).toBeLessThan(11 * MEMBER_LIMITS.waiters);
    expect(shareOf(MEMBER_LIMITS.waiters, 1)).toBe(MEMBER_LIMITS.waiters);
  });
});
