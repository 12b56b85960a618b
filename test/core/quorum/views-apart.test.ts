/**
 * What each rule of views keeps apart, scripted with every packet in hand: without it two hold one lease. Random worlds come across these
 * so rarely that they are told here.
 */
import { describe, expect, it } from 'vitest';
import { monoUs } from '../../../src/kernel/index.ts';
import { ALL_RULES, ViewInitiator, type QuorumRules, type ViewConfig } from '../../../src/core/index.ts';
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

/** Changes the cell from a node; members other than `negligent` store what they adopt. Says whether that came to its end. */
function change(node: Node, target: (cur: ViewConfig) => ViewConfig, pick: Filter, negligent: readonly number[] = [], terms = 30): boolean {
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

function pairsBelow(count: number): [number, number][] {
  return Array.from({ length: count }, (_, x) => Array.from({ length: x }, (_unused, y): [number, number] => [y, x])).flat();
}
