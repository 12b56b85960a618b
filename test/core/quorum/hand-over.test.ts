/** Hand-over: a lease goes from its holder to the next in line, and nothing happens where that cannot be (9.3). */
import { describe, expect, it } from 'vitest';
import type { Incarnation } from '../../../src/kernel/index.ts';
import { Cell, R, RTT_US, TERM_US, type CellOptions, type Node, type Packet } from './cell.ts';

interface Line {
  readonly cell: Cell;
  readonly holder: Node;
  readonly waiters: readonly Node[];
}

/** A cell whose first client holds the lease 1, the next wait for it, in order, and the last one does nothing. */
function line(waiters: number, { wanted = {}, ...options }: CellOptions & { wanted?: object } = {}): Line {
  const cell = new Cell({ clients: waiters + 2, ...options });
  const [holder, ...others] = cell.nodes.slice(3, -1) as [Node, ...Node[]];
  ask(holder, { keep: true, ...wanted });
  cell.settle();
  for (const waiter of others) {
    ask(waiter, { waitUs: 20 * TERM_US, ...wanted });
    cell.settle();
    cell.pass(1000);
  }
  return { cell, holder, waiters: others };
}

function ask(node: Node, more: object = {}): void {
  node.command({ kind: 'acquire', lease: 1, name: R, termUs: TERM_US, waitUs: 0, keep: false, ...more });
}

function handOver(node: Node, to: Node | null = null): void {
  node.command({ kind: 'hand-over', lease: 1, name: R, to: to && { owner: to.incarnation as Incarnation, lease: 1 } });
}

function toMember(id: number, kind: string): (packet: Packet) => boolean {
  return (packet) => packet.to === id && packet.kind === kind;
}

describe('a lease that is handed over', () => {
  it('is the next one’s in line, with a higher token', () => {
    const { cell, holder, waiters } = line(2);
    const [heir, third] = waiters as [Node, Node];
    handOver(holder);
    cell.settle();
    expect(holder.last('handed-over')).toMatchObject({ lease: 1, to: heir.incarnation });
    expect(holder.holds(1)).toBe(false);
    expect(heir.holds(1)).toBe(true);
    expect(heir.last('granted').token).toBeGreaterThan(holder.last('granted').token);
    expect(third.said('granted')).toEqual([]);
    expect(holder.said('released')).toMatchObject([{ byQuorum: true }]);
  });

  it('lasts from the heir’s own first message', () => {
    const { cell, holder, waiters } = line(1);
    const [heir] = waiters as [Node];
    handOver(holder);
    cell.deliver();
    cell.deliver();
    const asked = heir.mono;
    cell.pass(RTT_US);
    cell.settle();
    expect(heir.last('granted').deadlineMonoUs).toBe(asked + TERM_US);
  });

  it('takes two messages from its holder’s stop to the heir’s grant', () => {
    const { cell, holder, waiters } = line(1);
    handOver(holder);
    while (holder.holds(1)) cell.deliver();
    expect(cell.flying.filter(({ kind }) => kind === 'RELEASE')).toHaveLength(3);
    cell.deliver(({ kind }) => kind === 'RELEASE');
    cell.deliver(({ kind }) => kind === 'ACCEPTED');
    expect(waiters[0]?.holds(1)).toBe(true);
  });

  it('can be given to a waiter that is not the first', () => {
    const { cell, holder, waiters } = line(3);
    const [first, second] = waiters as [Node, Node, Node];
    handOver(holder, second);
    cell.settle();
    expect(second.holds(1)).toBe(true);
    expect(first.said('granted')).toEqual([]);
  });

  it('goes over slot by slot, and from a writer to readers', () => {
    const slots = line(1, { wanted: { slots: 1 } });
    handOver(slots.holder);
    slots.cell.settle();
    expect(slots.waiters[0]?.last('granted')).toMatchObject({ slot: 0 });
    const { cell, holder } = line(0);
    const reader = cell.nodes.at(-1) as Node;
    ask(reader, { waitUs: TERM_US, mode: 'shared' });
    cell.settle();
    handOver(holder);
    cell.settle();
    expect(reader.holds(1)).toBe(true);
  });

  it('is never one that has to rest', () => {
    const { cell, holder } = line(1, { wanted: { slots: 1, termUs: TERM_US / 2, quarantineUs: TERM_US / 4 } });
    handOver(holder);
    expect(holder.last('hand-over-failed')).toMatchObject({ reason: 'rests' });
    cell.settle();
    expect(holder.holds(1)).toBe(true);
  });
});

describe('nothing has happened, and the holder goes on, where', () => {
  function goesOn({ cell, holder }: Line): void {
    cell.run(3 * TERM_US);
    expect(holder.said('handed-over')).toEqual([]);
    expect(holder.said('lost')).toEqual([]);
    expect(holder.holds(1)).toBe(true);
  }

  it('nobody waits, and that is told at once', () => {
    const world = line(0);
    handOver(world.holder);
    world.cell.settle();
    expect(world.holder.last('hand-over-failed')).toMatchObject({ reason: 'nobody' });
    goesOn(world);
  });

  it('the heir has died', () => {
    const world = line(1);
    (world.waiters[0] as Node).down = true;
    handOver(world.holder);
    goesOn(world);
    expect(world.holder.last('hand-over-failed')).toMatchObject({ reason: 'nobody' });
  });

  it('the heir’s proposal waits at too few', () => {
    const world = line(1);
    handOver(world.holder);
    world.cell.deliver();
    world.cell.deliver();
    world.cell.drop((packet) => packet.kind === 'PROPOSE' && packet.to > 0);
    goesOn(world);
    expect(world.waiters[0]?.said('granted')).toEqual([]);
    // Its next release finds it in line as before.
    world.holder.release(1);
    world.cell.run(TERM_US);
    expect(world.waiters[0]?.said('granted')).toHaveLength(1);
  });

  it('half of what was left is over', () => {
    const world = line(1);
    world.cell.pass(TERM_US - RTT_US);
    handOver(world.holder);
    world.cell.pass(RTT_US / 2);
    for (const node of world.cell.nodes) node.wake();
    expect(world.holder.last('hand-over-failed')).toMatchObject({ reason: 'nobody' });
    world.cell.settle();
    expect(world.holder.holds(1)).toBe(true);
  });

  it('too few voters know of hand-over', () => {
    const world = line(1);
    for (const member of [0, 2]) world.holder.command({ kind: 'greet', member, plain: true });
    handOver(world.holder);
    expect(world.holder.last('hand-over-failed')).toMatchObject({ reason: 'old-version' });
    goesOn(world);
  });

  it('the lease is not held', () => {
    const { cell } = line(0);
    const other = cell.node(0);
    handOver(other);
    expect(other.last('hand-over-failed')).toMatchObject({ reason: 'not-held' });
  });
});

describe('an heir that dies after it was promised the lease', () => {
  it('leaves it to the next one in line', () => {
    const { cell, holder, waiters } = line(2);
    const [heir, next] = waiters as [Node, Node];
    handOver(holder);
    while (holder.holds(1)) cell.deliver();
    heir.down = true;
    cell.run(4 * TERM_US);
    expect(next.holds(1) || next.said('granted').length > 0).toBe(true);
    expect(holder.said('lost')).toEqual([]);
  });
});

describe('a proposal that is parked', () => {
  it('is decided where the release comes, though its floor was raised by a refusal', () => {
    const { cell, holder, waiters } = line(1);
    const [heir] = waiters as [Node];
    handOver(holder);
    for (let i = 0; i < 3; i++) cell.deliver();
    // Another one asks, with a higher ballot, and is refused.
    const other = cell.nodes.at(-1) as Node;
    ask(other);
    cell.settle(({ kind }) => kind === 'PROPOSE' || kind === 'REFUSED');
    cell.settle();
    expect(heir.holds(1)).toBe(true);
  });

  it('is void once its proposer gives up', () => {
    const { cell, holder, waiters } = line(1);
    const [heir] = waiters as [Node];
    handOver(holder);
    for (let i = 0; i < 3; i++) cell.deliver();
    heir.cancel(1);
    cell.settle(({ from }) => from === heir.id);
    cell.settle();
    expect(heir.said('granted')).toEqual([]);
    // It was handed over all the same, and no vote was given to the one that is gone.
    expect(holder.holds(1)).toBe(false);
    const other = cell.nodes.at(-1) as Node;
    ask(other);
    cell.settle();
    expect(other.holds(1)).toBe(true);
  });

  it('gives way to the holder’s renewals', () => {
    const { cell, holder, waiters } = line(1);
    handOver(holder);
    cell.deliver();
    cell.deliver();
    cell.deliver(toMember(0, 'PROPOSE'));
    cell.drop();
    cell.run(3 * TERM_US);
    expect(holder.said('lost')).toEqual([]);
    expect(holder.holds(1)).toBe(true);
    expect(waiters[0]?.said('granted')).toEqual([]);
  });

  it('of a holder whose vote is not there is decided when the other goes', () => {
    const cell = new Cell({ clients: 2 });
    const [holder, other] = [cell.node(3), cell.node(4)];
    ask(holder, { keep: true });
    cell.drop(toMember(2, 'PROPOSE'));
    cell.settle();
    // Another one has the third vote for a moment.
    ask(other);
    cell.deliver();
    expect(cell.drop(({ kind, from }) => kind === 'ACCEPTED' && from === 2)).toHaveLength(1);
    holder.renew(1);
    cell.deliver(toMember(2, 'PROPOSE'));
    expect(cell.flying.filter(({ from }) => from === 2)).toEqual([]);
    cell.settle(({ from, to }) => from === other.id || to === other.id);
    expect(cell.flying.filter(({ kind, from }) => kind === 'ACCEPTED' && from === 2)).toHaveLength(1);
  });
});

it('a member tells who waits, in order', () => {
  const { cell, holder, waiters } = line(3);
  holder.command({ kind: 'line', lease: 9, name: R });
  cell.settle();
  const told = holder.last('line-told');
  expect(told).toMatchObject({ lease: 9, count: 3, certain: true });
  expect(told.waiters.map(({ owner }) => owner)).toEqual(waiters.map(({ incarnation }) => incarnation));
});

it('a core that is restored goes on with a hand-over as if nothing had been', () => {
  const { cell, holder, waiters } = line(2);
  handOver(holder);
  for (let i = 0; i < 3; i++) cell.deliver();
  for (const node of cell.nodes) node.refresh();
  cell.settle();
  expect(waiters[0]?.holds(1)).toBe(true);
});
