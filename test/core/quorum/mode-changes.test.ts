/** Votes that change their mode, and what is left of readers that are gone: on the disk, in memory, and of copies that come late. */
import { describe, expect, it } from 'vitest';
import { ballotTime, incarnation, nodeId } from '../../../src/kernel/index.ts';
import { KIND_NAMES, MEMBER_LIMITS, QuorumMessage } from '../../../src/core/index.ts';
import { ByteReader, quorumCodec } from '../../../src/wire/index.ts';
import { Cell, name, ofKind, R, TERM_US, TIMING, type Node } from './cell.ts';

const SHARED = { mode: 'shared' } as const;

function ask(node: Node, lease: number, more: object = {}): number {
  node.command({ kind: 'acquire', lease, name: R, termUs: TERM_US, waitUs: 0, keep: false, ...more });
  return lease;
}

describe('a vote that changes its mode', () => {
  /** Only erasures reach the disk before the machine fails: writes take effect in any order. */
  function loseAllButErasures(member: Node): void {
    for (const { key, value } of member.accesses) if (value?.length === 0) member.disk.set(key, value);
    member.diskHangs = false;
    member.restart();
  }

  it('is on the disk in one mode or the other at every instant of an upgrade', () => {
    const cell = new Cell({ clients: 2, keeps: 'votes' });
    const [reader, writer] = [cell.node(3), cell.node(4)];
    ask(reader, 1, SHARED);
    cell.settle();
    for (const member of [0, 1, 2]) cell.node(member).diskHangs = true;
    reader.command({ kind: 'upgrade', lease: 1, name: R, waitUs: 0 });
    cell.settle();
    for (const member of [0, 1, 2]) loseAllButErasures(cell.node(member));
    expect(reader.holds(1)).toBe(true);
    ask(writer, 1);
    cell.settle(({ to }) => to !== 3);
    expect(writer.holds(1)).toBe(false);
  });

  it('is on the disk in one mode or the other at every instant of a downgrade', () => {
    const cell = new Cell({ clients: 2, keeps: 'votes' });
    const [reader, writer] = [cell.node(3), cell.node(4)];
    ask(reader, 1);
    cell.settle();
    for (const member of [0, 1, 2]) cell.node(member).diskHangs = true;
    reader.command({ kind: 'downgrade', lease: 1, name: R });
    cell.settle();
    for (const member of [0, 1, 2]) loseAllButErasures(cell.node(member));
    expect(reader.holds(1)).toBe(true);
    ask(writer, 1);
    cell.settle(({ to }) => to !== 3);
    expect(writer.holds(1)).toBe(false);
  });
});

describe('where writes take effect in any order, a vote that is read back ends none that may live', () => {
  /** All that a member has to write is on its disk, but for this place, whose write stays under way. */
  function landAllBut(member: Node, place: string): void {
    member.diskHangs = false;
    member.accesses = member.accesses.filter(({ key }) => key !== place);
    member.answerDisk();
    member.diskHangs = true;
  }

  function restart(member: Node): void {
    member.diskHangs = false;
    member.restart();
  }

  it.each([
    ['downgrade', 'vote/0'],
    ['downgrade', 'vote/1'],
    ['failed upgrade', 'vote/0'],
  ])('of a writer that has become a reader by a %s, beside another reader (%s)', (by, place) => {
    const cell = new Cell({ clients: 4, keeps: 'votes' });
    const [first, second, writer] = [cell.node(3), cell.node(4), cell.node(5)];
    const member = cell.node(0);
    // The place of a vote that is gone is the next one's: what is read back first is not what was written first.
    if (place !== 'vote/0') writer.acquire({ name: name('other'), lease: 7 });
    cell.settle();
    const without = (...ids: number[]) => cell.settle(({ from, to }) => !ids.includes(from) && !ids.includes(to));
    if (by === 'downgrade') {
      ask(first, 1);
      without(2);
    } else {
      ask(first, 1, SHARED);
      without(2);
      // One member turns its vote, and the word of that is all that comes of it.
      first.command({ kind: 'upgrade', lease: 1, name: R, waitUs: 0 });
      cell.settle(({ from, to }) => [from, to].includes(0));
    }
    cell.drop();
    expect(first.holds(1)).toBe(true);
    writer.release(7, name('other'));
    cell.settle();
    cell.pass(1000);
    member.diskHangs = true;
    first.command(by === 'downgrade' ? { kind: 'downgrade', lease: 1, name: R } : { kind: 'cancel-upgrade', lease: 1 });
    cell.settle(({ from, to }) => [from, to].includes(0));
    cell.drop();
    cell.pass(1000);
    ask(second, 1, SHARED);
    without(1, 3);
    landAllBut(member, place);
    without(1, 3);
    expect(second.holds(1)).toBe(true);
    restart(member);
    second.release(1);
    without(1, 3);
    // Above how high its disk says that it went.
    cell.pass(TERM_US / 5);
    ask(writer, 1);
    without(1, 3);
    expect([first.holds(1), writer.holds(1)]).toEqual([true, false]);
  });

  it.each([
    [{ slots: 4 }, SHARED, { slots: 4, slot: 2 }],
    [SHARED, { slots: 4 }, SHARED],
  ])('of %j that is over, before that of %j', (before, wanted, later) => {
    const cell = new Cell({ clients: 4, keeps: 'votes' });
    const [gone, holder, third] = [cell.node(3), cell.node(4), cell.node(5)];
    const member = cell.node(0);
    const without = (...ids: number[]) => cell.settle(({ from, to }) => !ids.includes(from) && !ids.includes(to));
    // The place of a vote that is gone is taken again: whoever comes next is written there.
    third.acquire({ name: name('other'), lease: 7 });
    cell.settle();
    // Its clock is ahead, so that its ballot is above that of whoever comes after it.
    gone.wallOffsetUs += 60_000_000;
    ask(gone, 1, { termUs: TERM_US / 10, ...before });
    without(2);
    expect(gone.holds(1)).toBe(true);
    cell.drop();
    third.release(7, name('other'));
    cell.settle();
    member.diskHangs = true;
    gone.release(1);
    cell.settle(({ from, to }) => [from, to].includes(0));
    cell.drop();
    ask(holder, 1, wanted);
    without(1, 3);
    landAllBut(member, 'vote/1');
    without(1, 3);
    expect(holder.holds(1)).toBe(true);
    restart(member);
    cell.drop();
    cell.run(TERM_US / 5, () => false);
    third.wallOffsetUs += 120_000_000;
    ask(third, 1, later);
    without(2, 3, 4);
    ask(third, 2);
    without(2, 3, 4);
    expect([holder.holds(1), third.holds(1), third.holds(2)]).toEqual([true, false, false]);
  });
});

it('nothing of an upgrade that comes after the release of its lease keeps others waiting', () => {
  const cell = new Cell({ clients: 2 });
  const [reader, writer] = [cell.node(3), cell.node(4)];
  ask(reader, 1, SHARED);
  cell.settle();
  reader.command({ kind: 'upgrade', lease: 1, name: R, waitUs: 0 });
  // The members vote, and none of that comes back; it is tried again, and all that is sent then comes late.
  cell.deliver(({ to }) => to < 3);
  cell.drop();
  cell.run(3 * TIMING.attemptUs, () => false);
  const late = cell.drop(ofKind('PROPOSE'));
  expect(late.length).toBeGreaterThan(0);
  reader.release(1);
  cell.settle();
  for (const packet of late) cell.hand(packet);
  cell.settle();
  ask(writer, 1);
  cell.settle();
  expect(writer.holds(1)).toBe(true);
});

describe('of readers that ran out', () => {
  it.each([SHARED, { slots: 4 }])('members keep nothing, though nobody asks for their names again (%j)', (wanted) => {
    const cell = new Cell({ clients: 1 });
    for (let i = 1; i <= 50; i++)
      cell.node(3).command({ kind: 'acquire', lease: i, name: name(`n${i}`), termUs: TERM_US, waitUs: 0, keep: false, ...wanted });
    cell.settle();
    expect(cell.node(3).said('granted')).toHaveLength(50);
    cell.node(3).down = true;
    expect(cell.node(0).core.names).toBe(50);
    cell.run(5 * TERM_US);
    expect(cell.node(0).core.names).toBe(0);
    expect(cell.node(0).core.wakeAt).toBe(Infinity);
  });

  it('a member does not say that nobody has had their name for long', () => {
    const cell = new Cell({ clients: 2 });
    const [reader, asker] = [cell.node(3), cell.node(4)];
    cell.run(3 * TERM_US);
    ask(reader, 1, SHARED);
    cell.settle();
    // Votes have just ended, and nothing was asked of them since.
    cell.pass(Math.ceil(1.03 * TERM_US));
    asker.query();
    cell.deliver();
    const told = cell.flying
      .filter(({ kind }) => kind === 'ANSWER')
      .map(({ bytes }) => {
        const input = new ByteReader();
        input.reset(bytes, 0, bytes.length);
        return quorumCodec().decode(input)?.steadyUs ?? Infinity;
      });
    expect(told).toHaveLength(3);
    expect(Math.max(...told)).toBeLessThan(TERM_US / 10);
  });
});

it.each([SHARED, { slots: 4 }])('of %j a name has so many at most: the next is told so, and may come when one has gone', (wanted) => {
  const cell = new Cell({ clients: 3, limits: { ...MEMBER_LIMITS, sharing: 2 } });
  const [a, b, c] = cell.nodes.slice(3) as [Node, Node, Node];
  for (const node of [a, b, c]) {
    ask(node, 1, wanted);
    cell.settle();
  }
  expect([a.holds(1), b.holds(1), c.holds(1)]).toEqual([true, true, false]);
  expect(c.last('refused')).toMatchObject({ reason: 'no-room' });
  // Those that are there are renewed as ever.
  a.renew(1);
  b.release(1);
  cell.settle();
  expect(a.said('renewed')).toHaveLength(1);
  ask(c, 2, wanted);
  cell.settle();
  expect(c.holds(2)).toBe(true);
});

describe('a waiter that claims an upgrade', () => {
  /** What a liar says, or a reader whose vote has not come to the member. */
  function claim(cell: Cell, node: Node, lease: number, members: readonly number[]): void {
    for (const member of members) {
      const message = new QuorumMessage();
      message.kind = KIND_NAMES.indexOf('WAIT');
      message.owner = incarnation(node.incarnation);
      message.lease = lease;
      message.ballot = ballotTime(cell.node(member).wall);
      message.flags = 1;
      message.setName(R, 0, R.length);
      cell.node(member).core.receive(nodeId(node.id), message, cell.step(cell.node(member)));
    }
  }

  it('and is no reader keeps no reader from its own', () => {
    const cell = new Cell({ clients: 3 });
    const [reader, other, liar] = cell.nodes.slice(3) as [Node, Node, Node];
    ask(reader, 1, { ...SHARED, keep: true });
    ask(other, 2, { ...SHARED, keep: true });
    cell.settle();
    claim(cell, liar, 77, [0, 1, 2]);
    reader.command({ kind: 'upgrade', lease: 1, name: R, waitUs: 3 * TERM_US });
    cell.run(TERM_US / 4);
    expect(reader.said('upgrade-refused')).toEqual([]);
    other.release(2);
    cell.run(TERM_US);
    expect(reader.said('upgraded')).toHaveLength(1);
  });

  it('is refused if another reader waits for the same, also once its own vote as a reader has come', () => {
    const cell = new Cell({ clients: 2 });
    const [reader, late] = cell.nodes.slice(3) as [Node, Node];
    ask(reader, 1, { ...SHARED, keep: true });
    cell.settle();
    ask(late, 2, { ...SHARED, keep: true });
    cell.settle(({ from, to: target }) => !(from === late.id && target === 0));
    cell.drop();
    // At the first member it waits before its vote comes there, and is no reader yet.
    claim(cell, late, 2, [0]);
    reader.command({ kind: 'upgrade', lease: 1, name: R, waitUs: 3 * TERM_US });
    cell.settle();
    cell.run(TERM_US / 2);
    expect(reader.said('upgrade-refused')).toEqual([]);
    const mark = cell.sent.length;
    claim(cell, late, 2, [0]);
    expect(cell.sent.slice(mark).map(({ kind, to: target }) => [kind, target])).toEqual([['REFUSED', late.id]]);
  });
});
