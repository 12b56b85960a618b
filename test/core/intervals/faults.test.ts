/** Interval leases when it matters most what was written, and which disk said it. */
import { describe, expect, it } from 'vitest';
import { incarnation, IntervalSet, nodeId } from '../../../src/kernel/index.ts';
import { INTEGER_MAX, type IntervalLeaseConfig, type IntervalLeaseCore } from '../../../src/core/index.ts';
import { IntervalCell, type Flight } from './cell.ts';

const RTT_US = 1000;

function begun(nodes: number, more: Partial<IntervalLeaseConfig> = {}): IntervalCell {
  const cell = new IntervalCell({ members: 3, rttUs: RTT_US, ...more }, nodes);
  cell.bootstrap();
  return cell;
}

function claim(cell: IntervalCell, node: number, number: number, from: number, to: number): void {
  cell.command(node, { kind: 'claim', claim: number, space: 's', from, to });
}

describe('an act that begins the disks', () => {
  it('does not begin a disk that replaces a lost one, though the same process tries again', () => {
    const cell = begun(5);
    claim(cell, 3, 1, 0, 9);
    cell.deliver();
    cell.start(2, false);
    cell.flights.length = 0;
    cell.command(0, { kind: 'bootstrap', waitUs: 10 * RTT_US });
    cell.deliver();
    expect(cell.last(0, 'bootstrapped')).toMatchObject({ begun: false });
    cell.pass(100 * RTT_US);
    expect(cell.last(2, 'disk')).toMatchObject({ phase: 'ready', generation: 2 });
    claim(cell, 4, 1, 0, 9);
    cell.deliver(({ from, to }) => from === 0 || to === 0);
    expect(cell.last(4, 'granted')).toBe(undefined);
  });

  it('does not begin a disk that replaces a lost one by copies of its messages, in whatever order', () => {
    const cell = new IntervalCell({ members: 3, rttUs: RTT_US }, 5);
    const sent: Flight[] = [];
    cell.command(0, { kind: 'bootstrap', waitUs: 1_000_000 });
    cell.deliver((flight) => {
      if (flight.to === 2 && flight.message.kind !== 'hello') sent.push(flight);
      return false;
    });
    expect(cell.cores[2]?.diskPhase).toBe('ready');
    expect(sent.map(({ message }) => message.kind)).toEqual(['found', 'found', 'begin']);
    cell.start(2, false);
    cell.flights.length = 0;
    for (let round = 0; round < 3; round++) {
      for (const flight of sent) cell.again(flight);
      expect(cell.cores[2]?.diskPhase).toBe('founding');
    }
    cell.pass(100 * RTT_US);
    expect(cell.last(2, 'disk')).toMatchObject({ phase: 'ready', generation: 2 });
  });

  it('asks every disk twice: a second copy of a first answer is no second answer', () => {
    const cell = new IntervalCell({ members: 3, rttUs: RTT_US }, 4);
    const first: Flight[] = [];
    cell.command(0, { kind: 'bootstrap', waitUs: 1_000_000 });
    cell.deliver((flight) => {
      const { from, to, message } = flight;
      if (from === 2 && message.kind === 'founded') first.push(flight);
      return to === 2 && message.kind === 'found' && message.round === 2;
    });
    expect(first.length).toBe(1);
    for (const flight of first) cell.again(flight);
    expect(cell.cores.slice(0, 3).map(({ diskPhase }) => diskPhase)).toEqual(['founding', 'founding', 'founding']);
  });

  it('does not begin a disk again that is about to be in use', () => {
    const cell = new IntervalCell({ members: 3, rttUs: RTT_US }, 4);
    cell.command(0, { kind: 'bootstrap', waitUs: 1_000_000 });
    cell.deliver(({ to, message }) => {
      if (to === 2 && message.kind === 'begin') cell.isHeld = (node) => node === 2;
      return message.kind === 'begin' && to !== 2;
    });
    const said: boolean[] = [];
    cell.command(1, { kind: 'bootstrap', waitUs: 1_000_000 });
    cell.deliver(({ from, message }) => {
      if (from === 2 && message.kind === 'founded') said.push(message.isReady);
      return false;
    });
    expect(said).toEqual([false]);
    expect(cell.last(1, 'bootstrapped')).toMatchObject({ begun: false, inUse: [2] });
  });

  it('that a later one replaces takes back what only a lost disk has voted for', () => {
    const cell = new IntervalCell({ members: 3, rttUs: RTT_US }, 5);
    // It begins the disk of member 2 alone, which votes, and is lost.
    cell.command(0, { kind: 'bootstrap', waitUs: 10 * RTT_US });
    cell.deliver(({ to, message }) => message.kind === 'begun' || (message.kind === 'begin' && to !== 2));
    expect(cell.cores.slice(0, 3).map(({ diskPhase }) => diskPhase)).toEqual(['founding', 'founding', 'ready']);
    claim(cell, 3, 1, 0, 9);
    cell.deliver();
    cell.start(2, false);
    cell.pass(20 * RTT_US, ({ message: { kind } }) => kind === 'begin' || kind === 'known' || kind === 'lease');
    expect(cell.last(0, 'bootstrapped')).toMatchObject({ begun: false });
    cell.command(1, { kind: 'bootstrap', waitUs: 100 * RTT_US });
    cell.deliver(({ message }) => message.kind === 'lease');
    expect(cell.last(1, 'bootstrapped')).toMatchObject({ begun: true });
    // Another vote for the same claim does not make it a grant, as member 2 knows nothing of it.
    cell.pass(2000 * RTT_US, ({ from, to }) => from === 3 && to !== 0);
    expect(cell.last(3, 'granted')).toBe(undefined);
    claim(cell, 4, 1, 0, 9);
    cell.deliver(({ to }) => to === 0);
    expect(cell.last(4, 'granted')).toMatchObject({ from: 0, to: 9 });
  });

  it('that a later one has overtaken half way is finished by the word of a member that it has begun', () => {
    const cell = new IntervalCell({ members: 3, rttUs: RTT_US }, 4);
    cell.command(0, { kind: 'bootstrap', waitUs: 1_000_000 });
    cell.deliver(({ message }) => message.kind === 'begin');
    cell.command(1, { kind: 'bootstrap', waitUs: 1_000_000 });
    cell.deliver(({ to, message }) => message.kind === 'begin' || (message.kind === 'found' && message.start > 0 && to === 2));
    expect(cell.cores.slice(0, 3).map(({ diskPhase }) => diskPhase)).toEqual(['founding', 'founding', 'founding']);
    cell.pass(5 * RTT_US, ({ from, to, message }) => message.kind === 'known' || (message.kind === 'begin' && (from !== 0 || to !== 2)));
    expect(cell.cores.slice(0, 3).map(({ diskPhase }) => diskPhase)).toEqual(['founding', 'founding', 'ready']);
    cell.pass(100 * RTT_US, ({ message }) => message.kind === 'begin');
    expect(cell.cores.slice(0, 3).map(({ diskPhase }) => diskPhase)).toEqual(['ready', 'ready', 'ready']);
  });

  it('of two processes at once begins the disks once, and every member is in use in the end', () => {
    const cell = new IntervalCell({ members: 3, rttUs: RTT_US }, 4);
    for (const member of [0, 1, 2]) cell.command(member, { kind: 'bootstrap', waitUs: 100 * RTT_US });
    cell.deliver();
    cell.pass(1000 * RTT_US);
    expect(cell.cores.slice(0, 3).map(({ diskPhase }) => diskPhase)).toEqual(['ready', 'ready', 'ready']);
  });
});

/** Process 3 claims 0 to 9, and calls it off: member 0 removes the claim from memory, which is not written. */
function withdrawUnwritten(cell: IntervalCell): void {
  claim(cell, 3, 1, 0, 9);
  cell.deliver(({ message }) => message.kind === 'ack');
  cell.isHeld = (node, key) => node === 0 && (key === 'place/1' || key === 'place/2');
  cell.command(3, { kind: 'call-off', claim: 1 });
  cell.deliver();
}

describe('a crash between two writes', () => {
  it('brings a withdrawn claim back beside the one that took its place, and its withdrawal frees nothing of that', () => {
    const cell = begun(6);
    withdrawUnwritten(cell);
    claim(cell, 4, 1, 5, 7);
    cell.deliver(({ from, to }) => from === 2 || to === 2);
    expect(cell.last(4, 'granted')).toMatchObject({ from: 5, to: 7 });
    cell.isHeld = () => false;
    cell.start(0);
    cell.pass(1000 * RTT_US);
    expect(cell.last(3, 'cleared')).toMatchObject({ everywhere: true });
    claim(cell, 5, 1, 6, 6);
    cell.deliver(({ from, to }) => from === 1 || to === 1);
    expect(cell.last(5, 'granted')).toBe(undefined);
    expect(cell.last(5, 'refused')).toMatchObject({ why: 'overlap', overlap: [6, 6] });
    // What nobody has is free again.
    claim(cell, 5, 2, 8, 9);
    cell.deliver(({ from, to }) => from === 1 || to === 1);
    expect(cell.last(5, 'granted')).toMatchObject({ from: 8, to: 9 });
  });

  it('leaves claims that overlap, which are copied to a blank disk all the same', () => {
    const cell = begun(6, { piecesPerPage: 1 });
    withdrawUnwritten(cell);
    claim(cell, 4, 1, 5, 7);
    cell.deliver();
    cell.isHeld = () => false;
    cell.start(3);
    cell.start(0);
    cell.start(2, false);
    cell.pass(50 * RTT_US);
    expect(cell.cores[2]?.diskPhase).toBe('ready');
  });

  it('brings a withdrawn claim back, and its withdrawal frees nothing that is taken by then', () => {
    const cell = begun(6);
    withdrawUnwritten(cell);
    claim(cell, 4, 1, 5, 7);
    cell.deliver(({ from, to }) => from === 2 || to === 2);
    cell.isHeld = () => false;
    cell.start(0);
    claim(cell, 4, 2, 100, 100);
    cell.deliver(({ from, to }) => from === 3 && to === 0);
    cell.pass(1000 * RTT_US);
    expect(cell.last(3, 'cleared')).toMatchObject({ everywhere: true });
    claim(cell, 5, 1, 6, 6);
    cell.deliver(({ from, to }) => from === 1 || to === 1);
    expect(cell.last(5, 'refused')).toMatchObject({ overlap: [6, 6] });
  });

  it('brings a withdrawn claim back, and a second one frees nothing that was folded into it', () => {
    const cell = begun(7, { limits: { open: 2, spaces: 10, entries: 100, claimants: 10 } });
    withdrawUnwritten(cell);
    claim(cell, 4, 1, 5, 7);
    cell.deliver(({ from, to }) => from === 2 || to === 2);
    expect(cell.last(4, 'granted')).toMatchObject({ from: 5, to: 7 });
    cell.isHeld = () => false;
    cell.start(0);
    // Too many are open: the withdrawn one, of a process that is not heard, is folded, and what was granted is within it. Its place is used again.
    const isApart = ({ from, to }: Flight): boolean => (from === 3 && to === 0) || (from === 4 && to === 2);
    claim(cell, 5, 1, 100, 109);
    cell.deliver(isApart);
    for (let number = 2; number < 6; number++) {
      claim(cell, 4, number, 100 * number, 100 * number);
      cell.deliver(isApart);
    }
    cell.start(0);
    cell.pass(1000 * RTT_US);
    expect(cell.last(3, 'cleared')).toMatchObject({ claim: 1 });
    claim(cell, 6, 1, 6, 6);
    cell.deliver(({ from, to }) => from === 1 || to === 1);
    expect(cell.last(6, 'granted')).toBe(undefined);
    expect(cell.last(6, 'refused')).toMatchObject({ overlap: [6, 6] });
  });

  it('does not forget what was removed, once that was said', () => {
    const cell = begun(5);
    claim(cell, 3, 1, 0, 9);
    cell.deliver(({ message }) => message.kind === 'ack');
    cell.isHeld = (node, key) => node === 0 && key === 'place/1';
    cell.command(3, { kind: 'call-off', claim: 1 });
    cell.deliver();
    // The withdrawal is noted, and after the restart what was kept is to be removed: that is not written either.
    cell.start(0);
    cell.pass(1000 * RTT_US);
    expect(cell.last(3, 'cleared')).toBe(undefined);
    cell.isHeld = () => false;
    cell.start(0);
    cell.pass(1000 * RTT_US);
    expect(cell.last(3, 'cleared')).toMatchObject({ everywhere: true });
    claim(cell, 4, 1, 0, 9);
    cell.deliver();
    expect(cell.last(4, 'granted')).toMatchObject({ from: 0, to: 9 });
  });

  it('does not leave a disk in use without what an outer core said is taken', () => {
    const cell = new IntervalCell({ members: 1, rttUs: RTT_US, disks: 'told' }, 2);
    const taken = [{ space: 's', from: 0, to: 5 }];
    cell.isHeld = (_node, key) => key === 'place/1';
    cell.command(0, { kind: 'begin', taken });
    cell.isHeld = () => false;
    cell.start(0);
    expect(cell.cores[0]?.diskPhase).toBe('blank');
    cell.command(0, { kind: 'begin', taken });
    expect(cell.cores[0]?.diskPhase).toBe('ready');
    // Once it is in use, nothing is taken by word of mouth: an open claim may be there.
    claim(cell, 1, 1, 10, 19);
    cell.deliver();
    cell.command(0, { kind: 'begin', taken: [{ space: 's', from: 15, to: 30 }] });
    claim(cell, 1, 2, 20, 30);
    cell.deliver();
    expect(cell.last(1, 'granted')).toMatchObject({ from: 20, to: 30 });
  });
});

describe('a lost disk', () => {
  it('of four joins with two others, since every majority without it has one of them', () => {
    const cell = new IntervalCell({ members: 4, rttUs: RTT_US }, 5);
    cell.bootstrap();
    claim(cell, 4, 1, 0, 9);
    cell.deliver();
    cell.start(3, false);
    const isCut = ({ from, to }: Flight): boolean => from === 2 || to === 2;
    cell.pass(50 * RTT_US, isCut);
    expect(cell.last(3, 'disk')).toMatchObject({ phase: 'ready', generation: 2, copied: 2 });
  });
});

describe('a LEASE that comes late', () => {
  it('is over, though the member remembers only that all before it are closed', () => {
    const cell = begun(5);
    const sent: Flight[] = [];
    claim(cell, 3, 1, 0, 9);
    cell.deliver((flight) => {
      if (flight.message.kind === 'lease') sent.push(flight);
      return flight.message.kind === 'ack';
    });
    cell.command(3, { kind: 'call-off', claim: 1 });
    cell.deliver();
    claim(cell, 3, 2, 20, 29);
    cell.deliver();
    for (const flight of sent) cell.again(flight);
    claim(cell, 4, 1, 0, 9);
    cell.deliver();
    expect(cell.last(4, 'granted')).toMatchObject({ from: 0, to: 9 });
  });
});

describe('a block', () => {
  it('is found where there is little room, however many refusals it takes', () => {
    const cell = begun(5);
    const takes = (number: number, from: number, to: number): void => {
      claim(cell, 3, number, from, to);
      cell.deliver();
    };
    takes(1, 0, 99);
    takes(2, 520, INTEGER_MAX);
    // In this cell the choice among n is n/3: each time the block is asked for farther behind, and then there is none behind.
    cell.command(4, { kind: 'next', claim: 1, space: 's', size: 60 });
    cell.deliver();
    takes(3, 100, 159);
    cell.pass(RTT_US);
    takes(4, 160, 399);
    cell.pass(10_000 * RTT_US);
    expect(cell.last(4, 'granted')).toMatchObject({ from: 400, to: 459 });
  });

  it('is found without a member that keeps a claim of everything, though it answers first and the claimant is dead', () => {
    const cell = begun(5);
    claim(cell, 4, 1, 0, 4);
    cell.deliver();
    claim(cell, 3, 1, 5, INTEGER_MAX);
    cell.deliver(({ to }) => to !== 0);
    cell.start(3);
    for (const [number, from] of [
      [2, 5],
      [3, 6],
    ] as const) {
      cell.command(4, { kind: 'next', claim: number, space: 's', size: 1 });
      cell.pass(1000 * RTT_US);
      expect(cell.last(4, 'granted')).toMatchObject({ claim: number, from });
    }
  });

  it('is had at a member that was full, once the claim of everything is withdrawn there', () => {
    const cell = begun(5);
    claim(cell, 3, 1, 0, INTEGER_MAX);
    cell.deliver(({ from, to }) => from !== 3 || to !== 0);
    cell.command(4, { kind: 'next', claim: 1, space: 's', size: 1 });
    const isCut = ({ from, to }: Flight): boolean => from === 2 || to === 2 || (from === 3 && to === 1);
    cell.pass(100 * RTT_US, isCut);
    expect(cell.last(4, 'granted')).toBe(undefined);
    cell.command(3, { kind: 'call-off', claim: 1 });
    cell.pass(10_000 * RTT_US, isCut);
    expect(cell.last(4, 'granted')).toMatchObject({ claim: 1 });
  });

  it('is looked for behind more pieces than one answer looks at, though the last integer is taken', () => {
    const set = new IntervalSet([[INTEGER_MAX, INTEGER_MAX]]);
    for (let i = 0; i < 10; i++) set.add(2 * i, 2 * i);
    expect(set.firstRun(0, 2, 4)).toBe(7);
    expect(set.firstRun(7, 2, 4)).toBe(15);
    expect(set.firstRun(15, 2, 4)).toBe(19);
    set.remove(INTEGER_MAX, INTEGER_MAX);
    expect(set.firstRun(0, 2, 4)).toBe(19);
  });
});

describe('a client that lies', () => {
  it('is not told that it has what nobody has stored', () => {
    const cell = begun(4);
    const heard: string[] = [];
    const liar = { from: nodeId(3), life: cell.lives[3] ?? 0, to: nodeId(0) };
    const request = { kind: 'lease', incarnation: incarnation(liar.life), counter: 1, closed: 0, space: 's' } as const;
    for (const [from, to] of [
      [0, 9],
      [100, 109],
    ] as const) {
      cell.flights.push({ ...liar, message: { ...request, from, to } });
      cell.deliver(({ to: whom, message }) => {
        if (whom === 3) heard.push(message.kind);
        return false;
      });
    }
    expect(heard).toEqual(['ack']);
  });

  it('costs a member no memory without limit, though it asks for the same while the disk is slow', () => {
    const cell = begun(4);
    cell.isHeld = () => true;
    const liar = { from: nodeId(3), life: cell.lives[3] ?? 0, to: nodeId(0) };
    const request = { kind: 'lease', incarnation: incarnation(liar.life), counter: 1, closed: 0, space: 's', from: 0, to: 9 } as const;
    for (let i = 0; i < 66_000; i++) cell.flights.push({ ...liar, message: request });
    cell.deliver();
    const { acceptor } = (cell.cores[0] as IntervalLeaseCore).snapshot() as unknown as {
      acceptor: { ledger: { queue: { waiting: readonly unknown[] } } };
    };
    expect(acceptor.ledger.queue.waiting.length).toBe(65_536);
  });

  it('frees nothing of others, and speaks for itself alone', () => {
    const cell = begun(6);
    claim(cell, 3, 1, 0, 9);
    cell.deliver();
    const liar = { from: nodeId(5), life: cell.lives[5] ?? 0 };
    const other = incarnation(cell.lives[3] ?? 0);
    for (const counter of [0, 1, 2, INTEGER_MAX])
      for (const closed of [0, 1, INTEGER_MAX])
        for (const who of [other, incarnation(liar.life)])
          for (const member of [0, 1, 2]) {
            const request = { incarnation: who, counter, closed, space: 's', from: 0, to: 9 };
            cell.again({ ...liar, to: nodeId(member), message: { kind: 'withdraw', ...request } });
            cell.again({ ...liar, to: nodeId(member), message: { kind: 'lease', ...request } });
          }
    claim(cell, 4, 1, 9, 9);
    cell.deliver();
    expect(cell.last(4, 'refused')).toMatchObject({ overlap: [9, 9] });
    claim(cell, 4, 2, 10, 10);
    cell.deliver();
    expect(cell.last(4, 'granted')).toMatchObject({ from: 10 });
  });
});
