/** What each rule of bundles keeps apart, scripted with every packet in hand: without it two hold one lease, or nobody ever does again. */
import { describe, expect, it } from 'vitest';
import { incarnation, monoUs, nodeId } from '../../../src/kernel/index.ts';
import { ALL_RULES, ViewInitiator, type QuorumRules } from '../../../src/core/index.ts';
import { VoteBundles, type VoteBundle } from '../../../src/core/leases/quorum/vote-bundles.ts';
import { Cell, name, not, ofKind, R, TERM_US, TIMING, viewHost, type CellOptions, type Node, type Packet } from './cell.ts';

type Filter = (packet: Packet) => boolean;

const OWN = name('own');

const between =
  (one: number, other: number): Filter =>
  ({ from, to: target }) =>
    (from === one && target === other) || (from === other && target === one);

const without = (...rules: readonly (keyof QuorumRules)[]): QuorumRules => ({
  ...ALL_RULES,
  ...Object.fromEntries(rules.map((rule) => [rule, false])),
});

interface Scene {
  readonly cell: Cell;
  readonly holder: Node;
  readonly other: Node;
  /** Of the name that both want. */
  readonly lease: number;
}

/** One process keeps the name that both want, and another, in bundles; another has nothing yet. */
function scene(rules: QuorumRules, options: CellOptions = {}): Scene {
  const cell = new Cell({ clients: 2, bundles: true, rules, ...options });
  const [holder, other] = [cell.node(cell.nodes.length - 2), cell.node(cell.nodes.length - 1)];
  cell.run(2 * TERM_US);
  const lease = holder.acquire({ keep: true });
  holder.acquire({ name: OWN, keep: true });
  cell.run(2 * TERM_US);
  expect(cell.tally()['RENEWED']).toBeGreaterThan(0);
  return { cell, holder, other, lease };
}

describe('a lease that is renewed in bulk has one holder', () => {
  it.each([
    [ALL_RULES, 1],
    [without('bulkByNumber', 'bulkRepairs'), 2],
  ])('though its voters are started again, and have other bundles since', (rules, holders) => {
    const { cell, holder, other, lease } = scene(rules);
    for (const member of [0, 1]) {
      cell.node(member).restart();
      cell.run(2 * TERM_US);
      holder.acquire({ name: name(`later-${member}`), keep: true });
      cell.run(3 * TERM_US);
    }
    const second = other.acquire();
    cell.settle();
    expect(
      cell.holders([
        [holder, lease],
        [other, second],
      ]),
    ).toHaveLength(holders);
  });

  it.each([
    [ALL_RULES, 1],
    [without('bulkLapses', 'bulkRepairs'), 2],
  ])('though a bundle ran out, and another had the vote meanwhile', (rules, holders) => {
    const { cell, holder, other, lease } = scene(rules);
    for (const member of [0, 1]) {
      const isCut = between(holder.id, member);
      cell.run(TIMING.silenceUs + 1000, not(isCut));
      cell.drop(isCut);
      // It gets no quorum, and lets go again.
      const tried = other.acquire();
      const isHeard = between(other.id, member);
      cell.settle(isHeard);
      other.cancel(tried);
      cell.settle(isHeard);
      cell.drop();
      cell.run(TERM_US);
    }
    const second = other.acquire();
    cell.settle();
    expect(
      cell.holders([
        [holder, lease],
        [other, second],
      ]),
    ).toHaveLength(holders);
  });

  it.each([
    [ALL_RULES, 1],
    [without('bulkFromStart'), 2],
  ])('though the answers of a round came late', (rules, holders) => {
    const { cell, holder, other, lease } = scene(rules);
    const marked = cell.sent.length;
    while (cell.tally(marked)['RENEW'] === undefined) cell.run(1000, not(ofKind('RENEW')));
    cell.settle(ofKind('RENEW'));
    cell.run(TERM_US / 16, not(ofKind('RENEWED')));
    cell.settle(ofKind('RENEWED'));
    const isOfOther: Filter = ({ from, to: target }) => from !== holder.id && target !== holder.id;
    const second = other.acquire({ waitUs: 2 * TERM_US });
    cell.run(TERM_US + TERM_US / 24 - TERM_US / 16, isOfOther);
    expect(other.holds(second)).toBe(true);
    expect(
      cell.holders([
        [holder, lease],
        [other, second],
      ]),
    ).toHaveLength(holders);
  });

  it.each([
    [ALL_RULES, 1],
    [without('bulkInView'), 2],
  ])('though its holder has not heard that the cell has more members', (rules, holders) => {
    const { cell, holder, other, lease } = scene(rules, { members: 3, numbers: 5, clients: 2 });
    // Of all that it is told nothing arrives but answers of two voters to its rounds.
    const isHeard: Filter = (packet) => !between(holder.id, 0)(packet) && (packet.to !== holder.id || packet.kind === 'RENEWED');
    grow(other, 5, isHeard);
    expect(other.core.view.cur.members).toHaveLength(5);
    cell.drop();
    const second = other.acquire({ waitUs: 2 * TERM_US, keep: true });
    cell.run(2 * TERM_US, (packet) => isHeard(packet) && !between(other.id, 1)(packet) && !between(other.id, 2)(packet));
    expect(other.holds(second)).toBe(true);
    expect(
      cell.holders([
        [holder, lease],
        [other, second],
      ]),
    ).toHaveLength(holders);
  });
});

describe('a copy that comes late', () => {
  const holdersOf = ({ cell, holder, other, lease }: Scene, second: number): string[] =>
    cell.holders([
      [holder, lease],
      [other, second],
    ]);

  it('of a vote for an earlier ballot brings nothing into a bundle that its voter has taken out since', () => {
    const stage = scene(ALL_RULES);
    const { cell, holder, other, lease } = stage;
    const marked = cell.sent.length;
    holder.renew(lease);
    cell.settle();
    const votes = cell.sent.slice(marked).filter(ofKind('ACCEPTED'));
    expect(votes).toHaveLength(3);
    // The voters are asked for another term, which has another bundle, and their answers are lost. So is all that is asked of each lease from then on.
    holder.renew(lease, TERM_US / 2);
    cell.settle(ofKind('PROPOSE'));
    cell.drop();
    const isOfHolder: Filter = ({ from, to: target, kind }) =>
      (from === holder.id || target === holder.id) && !['RENEW', 'RENEWED'].includes(kind);
    for (let part = 0; part < 100; part++) {
      for (const packet of votes) cell.hand(packet);
      cell.run(TERM_US / 50, not(isOfHolder));
    }
    cell.drop();
    const second = other.acquire();
    cell.settle(not(isOfHolder));
    expect(holdersOf(stage, second)).toEqual([`${other.id}/${second}`]);
  });

  it('of a renewal does not put a lease back into its bundle that is given back as of later', () => {
    const { cell, holder, other, lease } = scene(ALL_RULES);
    const marked = cell.sent.length;
    holder.renew(lease);
    cell.settle();
    const asked = cell.sent.slice(marked).filter(ofKind('PROPOSE'));
    holder.command({ kind: 'release', lease, name: R, inUs: TERM_US / 10 });
    cell.settle();
    for (const packet of asked) cell.hand(packet);
    // It has died since, so what it gives back at the end does not come.
    cell.run(TERM_US / 5, not(ofKind('RELEASE')));
    cell.drop();
    const second = other.acquire();
    cell.settle();
    expect(other.holds(second)).toBe(true);
  });
});

it.each([{}, { mode: 'shared' } as const])('a vote that leaves its bundle stands for as long as the bundle promised (%j)', (wanted) => {
  const cell = new Cell({ clients: 2, bundles: true });
  const [holder, other] = [cell.node(3), cell.node(4)];
  holder.command({ kind: 'acquire', lease: 1, name: R, termUs: TERM_US, waitUs: 0, keep: true, ...wanted });
  cell.run(5 * TERM_US);
  expect(cell.tally()['RENEWED']).toBeGreaterThan(0);
  holder.command({ kind: 'release', lease: 1, name: R, inUs: TERM_US / 2 });
  cell.settle();
  const second = other.acquire();
  cell.settle();
  expect([holder.holds(1), other.holds(second)]).toEqual([true, false]);
});

it('a bundle that ran out is not begun anew by the next renewal: another may have had its votes', () => {
  const bundles = new VoteBundles(incarnation(1));
  const owner = incarnation(2);
  const open = (now: number): number => {
    const bundle = bundles.open(owner, nodeId(3), TERM_US, TERM_US, now) as VoteBundle;
    bundles.add(bundle, { lease: now, token: now, mode: 0 });
    return bundle.number;
  };
  const first = open(0);
  expect(open(TERM_US - 1)).toBe(first);
  expect(open(3 * TERM_US)).not.toBe(first);
});

it('votes that last longer, since the rate error is larger, are in a bundle of their own: votes of before are shorter on the disk', () => {
  const bundles = new VoteBundles(incarnation(1));
  const open = (spanUs: number): VoteBundle | null => bundles.open(incarnation(2), nodeId(3), TERM_US, spanUs, 0);
  const first = open(TERM_US);
  expect(open(TERM_US + 1)?.number).not.toBe(first?.number);
  expect(first?.until).toBe(TERM_US);
  expect(open(TERM_US)?.number).toBe(first?.number);
});

/** Changes the cell to so many members, all of which store what they adopt. */
function grow(node: Node, members: number, pick: Filter): void {
  const target = Array.from({ length: members }, (_, number) => number);
  const initiator = new ViewInitiator(
    viewHost(node),
    (cur) => ({
      ...cur,
      members: target.map((number) => cur.members.find((one) => one.number === number) ?? { number, key: 1000 + number, text: '' }),
      replication: members,
    }),
    node.cell.rules,
  );
  let heard = node.events.length;
  initiator.start(monoUs(node.mono));
  for (let part = 0; part < 600 && initiator.state.kind !== 'done'; part++) {
    node.cell.run(TERM_US / 20, pick);
    for (const member of node.cell.nodes)
      for (const { view } of member.said('view-adopted')) member.command({ kind: 'view-stored', epoch: view.epoch, id: view.id });
    for (const event of node.events.slice(heard)) initiator.event(event, monoUs(node.mono));
    heard = node.events.length;
    initiator.wake(monoUs(node.mono));
  }
  expect(initiator.state.kind).toBe('done');
}

it('leases that wait for their next round are renewed in another view, where there are no bundles yet', () => {
  const cell = new Cell({ clients: 2, bundles: true, numbers: 4, keeps: 'floor' });
  const holder = cell.node(4);
  cell.run(2 * TERM_US);
  const names = Array.from({ length: 8 }, (_, i) => name(`kept-${i}`));
  const leases = names.map((of) => holder.acquire({ name: of, keep: true }));
  cell.run(3 * TERM_US);
  expect(holder.core.renewedInBulk).toBeGreaterThan(0);
  grow(cell.node(5), 4, () => true);
  cell.run(2 * TERM_US);
  expect(holder.said('lost')).toEqual([]);
  expect(leases.filter((lease, i) => holder.holds(lease, names[i]))).toEqual(leases);
});

describe('what was given back can be had', () => {
  it.each([
    [ALL_RULES, true],
    [without('bulkRepairs'), false],
  ])('though releases were lost of two that had it, one after the other, and keep other leases', (rules, isHad) => {
    const { cell, holder, other, lease } = scene(rules, { clients: 3 });
    const first = cell.node(3);
    const rival = first.acquire({ waitUs: 4 * TERM_US, keep: true });
    first.acquire({ name: name('own-too'), keep: true });
    const isLost =
      (node: Node, member: number): Filter =>
      ({ kind, from, to: target }) =>
        kind === 'RELEASE' && from === node.id && target === member;
    holder.release(lease);
    cell.settle(not(isLost(holder, 0)));
    cell.drop();
    cell.run(2 * TERM_US);
    expect(first.holds(rival)).toBe(true);
    first.release(rival);
    cell.settle(not(isLost(first, 1)));
    cell.drop();
    const third = other.acquire({ waitUs: 9 * TERM_US, keep: true });
    cell.run(8 * TERM_US);
    expect(other.holds(third)).toBe(isHad);
  });
});
