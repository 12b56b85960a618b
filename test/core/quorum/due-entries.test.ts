/** What a queue leaves behind when its lease goes from hand to hand. */
import { expect, it } from 'vitest';
import { Cell, R, TERM_US, type Node } from './cell.ts';
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
