/** Readers, slots and early ends where details matter: members of older versions, disks, copies that come late. */
import { describe, expect, it } from 'vitest';
import { PROPOSE } from '../../../src/core/index.ts';
import { Cell, R, TERM_US, type Node } from './cell.ts';

const SHARED = { mode: 'shared' } as const;

function ask(node: Node, lease: number, more: object = {}): number {
  node.command({ kind: 'acquire', lease, name: R, termUs: TERM_US, waitUs: 0, keep: false, ...more });
  return lease;
}

function clients(cell: Cell): Node[] {
  return cell.nodes.slice(3);
}

describe('members of an older version', () => {
  function greeted(old: readonly number[]): { cell: Cell; client: Node } {
    const cell = new Cell({ clients: 1 });
    const client = cell.node(3);
    for (const member of [0, 1, 2]) client.command({ kind: 'greet', member, plain: old.includes(member) });
    return { cell, client };
  }

  it.each([SHARED, { slots: 4 }])('are sent nothing of %j, and the others are enough', (wanted) => {
    const { cell, client } = greeted([2]);
    const lease = ask(client, 1, { ...wanted, keep: true });
    cell.run(3 * TERM_US);
    expect(client.holds(lease)).toBe(true);
    client.release(lease);
    cell.settle();
    expect(cell.sent.filter(({ to }) => to === 2)).toEqual([]);
  });

  it.each([SHARED, { slots: 4 }])('are named where too few others know %j', (wanted) => {
    const { cell, client } = greeted([0, 2]);
    ask(client, 1, wanted);
    expect(client.last('refused')).toMatchObject({ reason: 'old-version', unreached: [0, 2] });
    expect(cell.sent).toEqual([]);
    // An exclusive one is what it always was.
    const lease = ask(client, 2);
    cell.settle();
    expect(client.holds(lease)).toBe(true);
  });

  it('leave a writer the only one where too few others know of readers, and it is renewed as ever', () => {
    const { cell, client } = greeted([0, 2]);
    const lease = ask(client, 1, { keep: true });
    cell.settle();
    client.command({ kind: 'downgrade', lease, name: R });
    cell.run(3 * TERM_US);
    expect(client.said('downgraded')).toEqual([]);
    expect(client.holds(lease)).toBe(true);
  });

  it('hear of a release as of later when its time has come, as of a plain one', () => {
    const { cell, client } = greeted([2]);
    const lease = ask(client, 1);
    cell.settle();
    client.command({ kind: 'release', lease, name: R, inUs: TERM_US / 4 });
    cell.settle();
    expect(cell.sent.filter(({ kind, to }) => kind === 'RELEASE' && to === 2)).toEqual([]);
    expect(cell.sent.filter(({ kind, to }) => kind === 'RELEASE' && to === 1).length).toBe(1);
    cell.run(TERM_US / 2);
    expect(client.said('released')).toHaveLength(1);
    expect(client.holds(lease)).toBe(false);
  });
});

it('messages about exclusive leases do not say so', () => {
  const cell = new Cell({ clients: 1 });
  const [client] = clients(cell) as [Node];
  const lease = ask(client, 1);
  cell.settle();
  client.renew(lease);
  cell.settle();
  client.release(lease);
  cell.settle();
  // Kind, flags, owner, lease, ballot, token, term, print, name and metadata: nothing is added.
  const proposals = cell.sent.filter(({ bytes }) => bytes[0] === PROPOSE).map(({ bytes }) => bytes.length);
  expect(new Set(proposals)).toEqual(new Set([2 + 6 * 8 + 1 + R.length + 2]));
  const releases = cell.sent.filter(({ kind }) => kind === 'RELEASE').map(({ bytes }) => bytes.length);
  expect(new Set(releases)).toEqual(new Set([2 + 3 * 8 + 1 + R.length]));
});

describe('a member that keeps its votes', () => {
  function started(): { cell: Cell; readers: Node[] } {
    const cell = new Cell({ clients: 3, keeps: 'votes' });
    for (const reader of clients(cell).slice(0, 2)) ask(reader, 1, SHARED);
    cell.settle();
    return { cell, readers: clients(cell).slice(0, 2) };
  }

  it('knows of all readers after a restart, and votes for no writer beside them', () => {
    const { cell, readers } = started();
    for (const member of [0, 1, 2]) cell.node(member).restart();
    expect(cell.node(0).said('ready')).toEqual([{ kind: 'ready', restored: 2 }]);
    const [, , writer] = clients(cell) as [Node, Node, Node];
    ask(writer, 1);
    cell.settle();
    expect(writer.last('refused')).toMatchObject({ reason: 'held' });
    expect(readers.every((reader) => reader.holds(1))).toBe(true);
    const late = ask(writer, 2, SHARED);
    cell.settle();
    expect(writer.holds(late)).toBe(true);
  });

  it('knows after a restart that a reader has become the only one', () => {
    const { cell, readers } = started();
    const [first, second] = readers as [Node, Node];
    second.release(1);
    cell.settle();
    first.command({ kind: 'upgrade', lease: 1, name: R, waitUs: 0 });
    cell.settle();
    expect(first.said('upgraded')).toHaveLength(1);
    for (const member of [0, 1, 2]) cell.node(member).restart();
    ask(second, 2, SHARED);
    cell.settle();
    expect(second.last('refused')).toMatchObject({ reason: 'held' });
  });

  it('honours a vote that changed its mode for as long as before', () => {
    const { cell, readers } = started();
    const [first, second] = readers as [Node, Node];
    second.release(1);
    cell.settle();
    // From here on its term is short, and its deadline is where it was.
    first.renew(1, TERM_US / 100);
    cell.settle();
    const leftUs = first.remaining(1);
    first.command({ kind: 'upgrade', lease: 1, name: R, waitUs: 0 });
    // The upgrade comes to nothing: too few hear of it.
    cell.deliver(({ to }) => to === 0);
    cell.drop();
    cell.node(0).restart();
    cell.run(leftUs / 2, ({ to, from }) => to !== 3 && from !== 3);
    const writer = cell.node(5);
    ask(writer, 1);
    cell.deliver(({ to }) => to === 0);
    cell.deliver(({ from }) => from === 0);
    expect(first.holds(1)).toBe(true);
    expect(cell.sent.filter(({ from, to, kind }) => from === 0 && to === 5 && kind === 'ACCEPTED')).toEqual([]);
  });
});

describe('a slot', () => {
  it.each([{ mode: 'shared' } as const, {}])('of a name that is held otherwise (%j) is not tried again and again', (wanted) => {
    const cell = new Cell({ clients: 2 });
    const [holder, other] = [cell.node(3), cell.node(4)];
    holder.command({ kind: 'acquire', lease: 1, name: R, termUs: TERM_US, waitUs: 0, keep: false, ...wanted });
    cell.settle();
    const before = cell.sent.length;
    other.command({ kind: 'acquire', lease: 1, name: R, termUs: TERM_US, waitUs: TERM_US, keep: false, slots: 4 });
    cell.settle();
    expect(cell.tally(before)['PROPOSE']).toBe(3);
    holder.release(1);
    cell.settle();
    expect(other.holds(1)).toBe(true);
  });

  it('is not given twice where voters know of different ones', () => {
    const cell = new Cell({ clients: 2 });
    const [a, b] = clients(cell) as [Node, Node];
    ask(a, 1, { slots: 2, slot: 1 });
    // One voter hears of it late.
    cell.deliver(({ to }) => to !== 2);
    const [late] = cell.drop(({ to }) => to === 2);
    cell.settle();
    expect(a.last('granted')).toMatchObject({ slot: 1 });
    ask(b, 1, { slots: 2, slot: 1 });
    cell.settle();
    expect(b.last('granted')).toMatchObject({ slot: 0 });
    if (late) cell.hand(late);
    cell.settle();
    expect([a.holds(1), b.holds(1)]).toEqual([true, true]);
  });

  it('that rests is remembered for its quarantine, though its holder has run out', () => {
    const cell = new Cell({ clients: 2 });
    const [a, b] = clients(cell) as [Node, Node];
    const used = TERM_US / 4;
    a.command({ kind: 'acquire', lease: 1, name: R, termUs: used, waitUs: 0, keep: false, slots: 1, quarantineUs: TERM_US / 2 });
    cell.settle();
    cell.run(used + TERM_US / 10);
    expect(a.said('lost')).toHaveLength(1);
    ask(b, 1, { slots: 1 });
    cell.settle();
    expect(b.last('refused')).toMatchObject({ reason: 'held' });
    cell.run(TERM_US / 2);
    const lease = ask(b, 2, { slots: 1 });
    cell.settle();
    expect(b.holds(lease)).toBe(true);
  });
});

it('a reader that is renewed by a voter which did not know it keeps its place in line for an upgrade', () => {
  const cell = new Cell({ clients: 2 });
  const [a, b] = clients(cell) as [Node, Node];
  ask(a, 1, { ...SHARED, keep: true });
  cell.drop(({ to }) => to === 2);
  cell.settle();
  ask(b, 1, { ...SHARED, keep: true });
  cell.settle();
  a.command({ kind: 'upgrade', lease: 1, name: R, waitUs: 10 * TERM_US });
  cell.run(TERM_US);
  b.command({ kind: 'upgrade', lease: 1, name: R, waitUs: 10 * TERM_US });
  cell.settle();
  expect(b.last('upgrade-refused')).toMatchObject({ reason: 'upgrading' });
  b.release(1);
  cell.run(TERM_US / 2);
  expect(a.said('upgraded')).toHaveLength(1);
});
