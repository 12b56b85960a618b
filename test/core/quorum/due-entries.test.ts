/** What is left behind in calendars when leases go from hand to hand, or come and go. */
import { expect, it } from 'vitest';
import { incarnation, nodeId } from '../../../src/kernel/index.ts';
import { deriveTiming, QuorumCore } from '../../../src/core/index.ts';
import { Cell, R, RTT_US, TERM_US, type Node } from './cell.ts';
import { kept } from './census.ts';

const LONG_US = 100 * TERM_US;
function held(members: number, clients: number): { cell: Cell; holder: Node; lease: number; clients: Node[] } {
  const cell = new Cell({ members, clients: clients + 1 });
  const holder = cell.node(members);
  const lease = holder.acquire({ keep: true });
  cell.settle();
  return { cell, holder, lease, clients: cell.nodes.slice(members + 1) };
}

it('a lease that goes from hand to hand leaves no planned looks behind', () => {
  const { cell, holder, lease, clients } = held(3, 2);
  const [first, second] = clients as [Node, Node];
  first.acquire({ waitUs: LONG_US });
  cell.settle();
  second.acquire({ waitUs: LONG_US });
  cell.settle();
  holder.release(lease);
  cell.settle();
  // From hand to hand, far faster than terms end, with somebody waiting at all times.
  for (let i = 0; i < 300; i++) {
    const owner = first.holds(i >> 1, R) || first.said('granted').length > second.said('granted').length ? first : second;
    const granted = owner.last('granted').lease;
    owner.release(granted);
    owner.acquire({ waitUs: LONG_US });
    cell.run(1000);
  }
  expect(kept(cell.node(0).core, '#waiting.#due.#at')).toBeLessThan(50);
});

it('a lease with a short term that comes and goes leaves no planned looks behind, and is renewed all the same', () => {
  const timing = deriveTiming({ maxTermUs: LONG_US, rateErrorPpm: 0, rttUs: RTT_US });
  const cell = new Cell({ clients: 1, timing });
  const holder = cell.node(3);
  for (let i = 0; i < 500; i++) {
    const given = holder.acquire({ keep: true });
    cell.settle();
    holder.release(given);
    cell.settle();
  }
  const lease = holder.acquire({ keep: true });
  cell.settle();
  expect(kept(holder.core, '#agenda.#soon.#at')).toBeLessThan(100);
  cell.run(10 * TERM_US);
  expect(holder.said('lost')).toEqual([]);
  expect(holder.holds(lease)).toBe(true);
});

/** The node as it is now, and a core restored from its snapshot, both woken: what each is told. */
function woken(cell: Cell, node: Node): { own: unknown; restored: unknown } {
  const restored = new QuorumCore(cell.config, {
    self: nodeId(node.id),
    incarnation: incarnation(node.incarnation),
    restarted: false,
    diskKept: false,
  });
  restored.restore(node.core.snapshot());
  const toldBy = (core: QuorumCore): unknown => {
    node.events = [];
    core.wake(cell.step(node));
    return { events: node.events, left: core.snapshot() };
  };
  return { own: toldBy(node.core), restored: toldBy(restored) };
}

it.each([
  { hold: 'a renewed lease that is over', keep: false, afterUs: TERM_US },
  { hold: 'a renewed lease that is soon to be renewed again', keep: true, afterUs: TERM_US / 3 - 3000 },
])('$hold: an entry of before its renewal changes nothing, or a restored core would do something else', ({ keep, afterUs }) => {
  const cell = new Cell({ clients: 1 });
  const holder = cell.node(3);
  const lease = holder.acquire({ keep });
  cell.settle();
  cell.nowUs += TERM_US / 5;
  holder.renew(lease);
  cell.settle();
  cell.nowUs += Math.floor(afterUs);
  expect(holder.core.wakeAt).toBeLessThan(cell.nowUs);
  const { own, restored } = woken(cell, holder);
  expect(own).toEqual(restored);
});

it('a queue that is to be looked at later: an entry of before it was planned changes nothing, or a restored core would do something else', () => {
  const cell = new Cell({ clients: 4 });
  const [first, second, third, fourth] = [3, 4, 5, 6].map((id) => cell.node(id)) as [Node, Node, Node, Node];
  const given = first.acquire();
  cell.settle();
  second.acquire({ waitUs: LONG_US });
  cell.settle();
  third.acquire({ waitUs: LONG_US });
  cell.settle();
  // Looked at when the lease of the first ends; that it is given back plans a look before that.
  const endsAt = cell.nowUs + TERM_US;
  cell.nowUs += TERM_US / 2;
  first.release(given);
  cell.settle();
  expect(second.said('granted')).toHaveLength(1);
  for (const node of [first, second, third, fourth]) node.down = true;
  cell.run(TERM_US / 4);
  const member = cell.node(0);
  cell.nowUs = Math.ceil(endsAt * 1.02);
  expect(member.core.wakeAt).toBeLessThanOrEqual(cell.nowUs);
  const { own, restored } = woken(cell, member);
  expect(own).toEqual(restored);
});
