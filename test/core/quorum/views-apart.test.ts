/**
 * What each rule of views keeps apart, scripted with every packet in hand: without it two hold one lease. Random worlds come across these
 * so rarely that they are told here.
 */
import { describe, expect, it } from 'vitest';
import { ballotTime, monoUs } from '../../../src/kernel/index.ts';
import { ALL_RULES, ViewInitiator, type QuorumRules, type View, type ViewConfig } from '../../../src/core/index.ts';
import { Cell, TERM_US, viewHost, type CellOptions, type Node, type Packet } from './cell.ts';

type Filter = (packet: Packet) => boolean;

const among =
  (...ids: readonly number[]): Filter =>
  ({ from, to }) =>
    ids.includes(from) && ids.includes(to);
const apart =
  (one: readonly number[], other: readonly number[]): Filter =>
  (packet) =>
    among(...one)(packet) || among(...other)(packet);

function cellOf(rules: QuorumRules, options: CellOptions = {}): Cell {
  const cell = new Cell({ members: 3, numbers: 5, clients: 3, keeps: 'nothing', rules, ...options });
  cell.run(2 * TERM_US);
  return cell;
}

/** Changes the cell from a node; members other than `negligent` store what they adopt. `before`: called before each of its wakes. Says whether that came to its end. */
function change(
  node: Node,
  target: (cur: ViewConfig) => ViewConfig,
  pick: Filter,
  negligent: readonly number[] = [],
  terms = 30,
  before?: (initiator: ViewInitiator) => void,
): boolean {
  const initiator = new ViewInitiator(viewHost(node), target, node.cell.rules);
  let heard = node.events.length;
  initiator.start(monoUs(node.mono));
  for (let part = 0; part < terms * 20 && initiator.state.kind !== 'done'; part++) {
    node.cell.run(TERM_US / 20, pick);
    for (const member of node.cell.nodes.filter(({ id }) => !negligent.includes(id))) {
      for (const { view } of member.said('view-adopted')) member.command({ kind: 'view-stored', epoch: view.epoch, id: view.id });
    }
    for (const event of node.events.slice(heard)) initiator.event(event, monoUs(node.mono));
    heard = node.events.length;
    before?.(initiator);
    initiator.wake(monoUs(node.mono));
  }
  return initiator.state.kind === 'done';
}

const membersOf =
  (numbers: readonly number[], replication = numbers.length) =>
  (cur: ViewConfig): ViewConfig => ({
    ...cur,
    members: numbers.map((number) => cur.members.find((member) => member.number === number) ?? { number, key: 1000 + number, text: '' }),
    replication,
  });

const joint = (cell: Cell, id: number, numbers: readonly number[]): View => {
  const { cur: old } = cell.node(0).core.view;
  return { epoch: 1, id, cur: membersOf(numbers)(old), old, floor: ballotTime(0), isMoved: true };
};

const without = (rule: keyof QuorumRules): QuorumRules => ({ ...ALL_RULES, [rule]: false });
const RULES: [QuorumRules, number][] = [[ALL_RULES, 1]];

describe('two sides of a cell that falls apart have one holder between them', () => {
  it.each([...RULES, [without('sealStored'), 2] as const])('though members forget a view that they had not stored', (rules, holders) => {
    const cell = cellOf(rules);
    const [old, young] = [cell.node(5), cell.node(7)];
    change(cell.node(6), membersOf([0, 1, 3]), among(0, 1, 3, 6, 7), [0, 1, 2, 3]);
    cell.node(1).restart();
    const pick = apart([1, 2, 5], [0, 3, 7]);
    cell.drop();
    const [first, second] = [old.acquire({ waitUs: 9 * TERM_US, keep: true }), young.acquire({ waitUs: 9 * TERM_US, keep: true })];
    cell.run(4 * TERM_US, pick);
    expect(
      cell.holders([
        [old, first],
        [young, second],
      ]),
    ).toHaveLength(holders);
  });

  it.each([...RULES, [without('sealAllButFew'), 2] as const])('though all voters of a name forget it', (rules, holders) => {
    let most = 0;
    for (const [x, y] of pairsBelow(5)) {
      const cell = cellOf(rules, { members: 5, replication: 2 });
      const others = [0, 1, 2, 3, 4].filter((member) => member !== x && member !== y);
      change(cell.node(6), membersOf(others, 2), () => true, [x, y], 40);
      for (const member of [x, y]) cell.node(member).restart();
      const pick = apart([x, y, 5], [...others, 7]);
      const [old, young] = [cell.node(5), cell.node(7)];
      cell.drop();
      cell.node(7).command({ kind: 'enter-view', view: cell.node(6).core.view });
      const [first, second] = [old.acquire({ waitUs: 9 * TERM_US, keep: true }), young.acquire({ waitUs: 9 * TERM_US, keep: true })];
      cell.run(4 * TERM_US, pick);
      most = Math.max(
        most,
        cell.holders([
          [old, first],
          [young, second],
        ]).length,
      );
    }
    expect(most).toBe(holders);
  });

  it.each([...RULES, [without('jointTerms'), 2] as const])('though terms become longer', (rules, holders) => {
    const cell = cellOf(rules);
    const [holder, other] = [cell.node(5), cell.node(7)];
    change(cell.node(6), (cur) => ({ ...cur, maxTermUs: 8 * TERM_US }), among(0, 1, 6), [0, 1, 2], 1);
    holder.command({ kind: 'enter-view', view: cell.node(6).core.view });
    const first = holder.acquire({ termUs: 8 * TERM_US });
    cell.run(1000, among(0, 1, 5));
    expect(holder.holds(first)).toBe(true);
    cell.node(0).restart();
    cell.drop();
    const second = other.acquire({ waitUs: 9 * TERM_US, keep: true });
    cell.run(3 * TERM_US, apart([0, 2, 7], [1, 5]));
    expect(
      cell.holders([
        [holder, first],
        [other, second],
      ]),
    ).toHaveLength(holders);
  });
});

describe('of two joint views of one epoch', () => {
  it('the higher is that of whoever held the lease of views later, though a clock was ahead', () => {
    const cell = cellOf(ALL_RULES, { clients: 4 });
    const [second, first, one, other] = [5, 6, 7, 8].map((id) => cell.node(id)) as [Node, Node, Node, Node];
    first.wallOffsetUs += 10 * TERM_US;
    // All that it says after its grant is lost, but for its view, which reaches one member.
    const grantedBy = cell.nowUs + TERM_US / 10;
    change(first, membersOf([0, 1, 4]), ({ from, to }) => cell.nowUs < grantedBy || (from === 6 && to === 2), [], 0.7);
    expect(cell.node(2).core.votesIn).toMatchObject({ epoch: 1 });
    cell.drop();
    first.down = true;
    cell.run(2 * TERM_US, among(0, 1));
    // The next one makes a view of that epoch, which both others store, and ends it; that reaches a new member only.
    change(second, membersOf([1, 2, 3]), (packet) => (second.core.view.epoch < 2 ? among(0, 1, 3, 5) : among(3, 5))(packet), [], 6);
    expect([1, 3].map((member) => cell.node(member).core.votesIn?.epoch)).toEqual([1, 2]);
    cell.drop();
    second.down = true;
    // Whoever is in the first view tells of it, and then hears that the change is over.
    cell.run(2 * TERM_US, among(0, 1, 2));
    cell.drop();
    cell.run(2 * TERM_US, apart([0, 1], [2, 3]));
    cell.drop();
    const leases = [one, other].map((node) => [node, node.acquire({ waitUs: 9 * TERM_US, keep: true })] as const);
    cell.run(4 * TERM_US, apart([0, 1, 7], [2, 3, 8]));
    expect(cell.holders(leases)).toEqual(['8/1']);
  });

  it('that which another finishes is above the other', () => {
    const cell = cellOf(ALL_RULES, { clients: 5 });
    const [first, second, third, one, other] = [5, 6, 7, 8, 9].map((id) => cell.node(id)) as [Node, Node, Node, Node, Node];
    // Two begin a change, one after the other; each reaches one member only.
    const begin = (node: Node, numbers: readonly number[], voters: readonly number[], reached: number): void => {
      const before = among(...voters, node.id);
      change(node, membersOf(numbers), (packet) => (node.core.view.epoch === 0 ? before : among(node.id, reached))(packet), [], 0.7);
      cell.drop();
      node.down = true;
      cell.run(2 * TERM_US, () => false);
      cell.drop();
    };
    begin(first, [0, 1, 4], [0, 1, 2], 2);
    begin(second, [1, 2, 3], [0, 1], 1);
    const [firstOf, secondOf] = [cell.node(2).core.votesIn, cell.node(1).core.votesIn] as [View, View];
    expect([firstOf.epoch, secondOf.epoch]).toEqual([1, 1]);
    expect(secondOf.id).toBeGreaterThan(firstOf.id);
    // A third one finishes what the first has begun. That it is over reaches two of the three that it is for.
    cell.tell(2, 0, firstOf);
    third.command({ kind: 'enter-view', view: firstOf });
    change(third, membersOf([0, 1, 4]), (packet) => (third.core.view.epoch < 2 ? among(0, 2, 4, 7) : among(0, 4, 7))(packet), [], 6);
    expect([0, 2, 4].map((member) => cell.node(member).core.votesIn?.epoch)).toEqual([2, 1, 2]);
    cell.drop();
    third.down = true;
    cell.run(2 * TERM_US, apart([0, 4], [2]));
    cell.drop();
    // The second view is told to whoever has not heard of that.
    cell.tell(1, 2, secondOf);
    const leases = [one, other].map((node) => [node, node.acquire({ waitUs: 9 * TERM_US, keep: true })] as const);
    one.command({ kind: 'enter-view', view: secondOf });
    cell.run(4 * TERM_US, apart([1, 2, 8], [0, 4, 9]));
    expect(cell.holders(leases)).toEqual(['9/1']);
  });

  it('one that is stored says nothing of the other', () => {
    const cell = cellOf(ALL_RULES, { clients: 4 });
    const [administrator, one, other] = [5, 7, 8].map((id) => cell.node(id)) as [Node, Node, Node];
    const [lower, higher] = [joint(cell, 7, [0, 1, 4]), joint(cell, 9, [1, 2, 3])];
    for (const member of [0, 1]) {
      cell.tell(2, member, lower);
      cell.node(member).command({ kind: 'view-stored', epoch: 1, id: 7 });
      cell.node(member).view = lower;
    }
    administrator.command({ kind: 'enter-view', view: higher });
    change(administrator, membersOf([1, 2, 3]), among(0, 1, 3, 5), [0, 1, 2], 6);
    expect([administrator.core.view, cell.node(1).core.votesIn].map((view) => view?.epoch)).toEqual([1, 1]);
    for (const member of [0, 1]) cell.node(member).restart();
    cell.drop();
    cell.tell(3, 2, cell.node(3).core.view);
    const leases = [one, other].map((node) => [node, node.acquire({ waitUs: 9 * TERM_US, keep: true })] as const);
    cell.run(4 * TERM_US, apart([0, 1, 7], [2, 3, 8]));
    expect(cell.holders(leases)).toEqual(['7/1']);
  });
});

it.each([...RULES, [without('gossipYields'), 2] as const])(
  'members that have voted for whoever changes the cell take no rival view from others, though its id is higher',
  (rules, holders) => {
    const cell = cellOf(rules, { clients: 4 });
    const [administrator, one, other] = [5, 6, 7].map((id) => cell.node(id)) as [Node, Node, Node];
    // The view of a process that died: its clock was far ahead, and only one member remembers.
    const rival = joint(cell, 9e15, [0, 1, 4]);
    cell.tell(1, 2, rival);
    one.command({ kind: 'enter-view', view: rival });
    const leases: [Node, number][] = [];
    const pick: Filter = (packet) => (administrator.core.view.epoch < 2 ? among(0, 1, 3, 5) : among(3, 5))(packet);
    change(administrator, membersOf([1, 2, 3]), pick, [], 2, ({ state }) => {
      if (leases.length > 0 || state.kind !== 'terms' || administrator.mono < state.until) return;
      for (const member of [0, 1]) cell.tell(2, member, rival);
      leases.push([one, one.acquire()]);
      cell.run(1000, among(0, 1, 6));
    });
    expect(administrator.core.view.epoch).toBe(2);
    cell.drop();
    cell.tell(3, 2, administrator.core.view);
    other.command({ kind: 'enter-view', view: administrator.core.view });
    leases.push([other, other.acquire({ waitUs: TERM_US })]);
    cell.run(1000, among(2, 3, 7));
    expect(cell.holders(leases)).toHaveLength(holders);
  },
);

function pairsBelow(count: number): [number, number][] {
  return Array.from({ length: count }, (_, x) => Array.from({ length: x }, (_unused, y): [number, number] => [y, x])).flat();
}
