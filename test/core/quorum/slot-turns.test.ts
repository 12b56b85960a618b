/** Turns of waiters for slots: a turn that was taken back comes again, and a head that has died holds up nobody for long. */
import { expect, it } from 'vitest';
import { Cell, R, TERM_US, TIMING, type Node, type Packet } from './cell.ts';

/** How long the third in line waits for a slot that is free, after the head gave up and the second has died, in head starts. */
function headStartsUntilGranted(refreshes: boolean): number {
  const cell = new Cell({ clients: 4 });
  const [holder, first, second, third] = cell.nodes.slice(3) as [Node, Node, Node, Node];
  const ask = (node: Node, lease: number): void => {
    node.command({ kind: 'acquire', lease, name: R, slots: 1, termUs: TERM_US, waitUs: 20 * TERM_US, keep: true });
    cell.run(1000);
  };
  ask(holder, 100);
  ask(first, 1);
  ask(second, 2);
  ask(third, 3);
  first.down = true;
  second.down = true;
  holder.release(100);
  // Two head starts later it is the third one's turn; its proposals are slow.
  cell.run(2 * TIMING.headStartUs + 1000, ({ from, kind }: Packet) => !(from === third.id && kind === 'PROPOSE'));
  first.down = false;
  first.cancel(1);
  cell.settle(({ from }) => from === first.id);
  first.down = true;
  cell.settle();
  if (refreshes) for (const member of cell.nodes.slice(0, 3)) member.refresh();
  const start = cell.nowUs;
  while (third.said('granted').length === 0 && cell.nowUs < start + 3 * TERM_US) cell.run(1000);
  return (cell.nowUs - start) / TIMING.headStartUs;
}

it('a waiter that asked again while its turn was taken back is told of its next turn', () => {
  expect(headStartsUntilGranted(false)).toBeLessThan(1.5);
});

it('restored members tell the same waiters as members that were not', () => {
  expect(headStartsUntilGranted(false)).toBe(headStartsUntilGranted(true));
});

it('the second in line takes the only slot that both living voters have free, when the head has died', () => {
  const cell = new Cell({ clients: 5 });
  const [holder, half0, half1, dead, waiter] = cell.nodes.slice(3) as [Node, Node, Node, Node, Node];
  cell.node(2).down = true;
  const ask = (node: Node, lease: number, slot?: number): void =>
    node.command({
      kind: 'acquire',
      lease,
      name: R,
      slots: 3,
      ...(slot === undefined ? {} : { slot }),
      termUs: TERM_US,
      waitUs: 20 * TERM_US,
      keep: true,
    });
  // Two processes die in the middle of an acquire: slot 0 is taken at one voter, slot 1 at the other.
  ask(half0, 2, 0);
  cell.deliver(({ to }) => to === 0);
  half0.down = true;
  cell.drop();
  ask(half1, 3, 1);
  cell.deliver(({ to }) => to === 1);
  half1.down = true;
  cell.drop();
  ask(holder, 100, 2);
  cell.settle();
  ask(dead, 1, 2);
  cell.settle();
  dead.down = true;
  ask(waiter, 4);
  cell.settle();
  cell.run(TIMING.headStartUs);
  expect(holder.holds(100)).toBe(true);
  holder.release(100);
  const start = cell.nowUs;
  while (waiter.said('granted').length === 0 && cell.nowUs < start + 3 * TERM_US) cell.run(1000);
  expect(cell.nowUs - start).toBeLessThan(4 * TIMING.headStartUs);
});
