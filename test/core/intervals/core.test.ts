/** The core of interval leases, stepped by hand. */
import { describe, expect, it } from 'vitest';
import { incarnation, nodeId, stateHash } from '../../../src/kernel/index.ts';
import { INTEGER_MAX, IntervalLeaseCore, type IntervalLimits } from '../../../src/core/index.ts';
import { IntervalCell, type Flight } from './cell.ts';

const RTT_US = 1000;
const LIMITS: IntervalLimits = { open: 4, spaces: 2, entries: 8, claimants: 4 };

function begun(nodes = 5, more: { limits?: IntervalLimits; placesMin?: number; piecesPerPage?: number } = {}): IntervalCell {
  const cell = new IntervalCell({ members: 3, rttUs: RTT_US, ...more }, nodes);
  cell.bootstrap();
  return cell;
}

function claim(cell: IntervalCell, node: number, number: number, from: number, to: number, space = 's'): void {
  cell.command(node, { kind: 'claim', claim: number, space, from, to });
  cell.deliver();
}

describe('a cell whose disks are all blank', () => {
  it('answers nobody before one act begins it, and everybody after', () => {
    const cell = new IntervalCell({ members: 3, rttUs: RTT_US }, 4);
    claim(cell, 3, 1, 0, 9);
    expect(cell.events[3]).toEqual([]);
    expect(cell.cores.map(({ diskPhase }) => diskPhase)).toEqual(['blank', 'blank', 'blank', null]);
    cell.bootstrap();
    expect(cell.last(0, 'bootstrapped')).toEqual({ kind: 'bootstrapped', begun: true, absent: [], inUse: [] });
    expect(cell.cores.map(({ diskPhase }) => diskPhase)).toEqual(['ready', 'ready', 'ready', null]);
    cell.pass(100 * RTT_US);
    expect(cell.last(3, 'granted')).toMatchObject({ claim: 1, from: 0, to: 9 });
  });

  it('is not begun while a member is absent, nor a second time', () => {
    const cell = new IntervalCell({ members: 3, rttUs: RTT_US }, 3);
    cell.command(0, { kind: 'bootstrap', waitUs: 100 * RTT_US });
    cell.pass(200 * RTT_US, ({ to }) => to === 2);
    expect(cell.last(0, 'bootstrapped')).toEqual({ kind: 'bootstrapped', begun: false, absent: [2], inUse: [] });
    cell.bootstrap();
    expect(cell.last(0, 'bootstrapped')?.begun).toBe(true);
    cell.command(1, { kind: 'bootstrap', waitUs: 100 * RTT_US });
    cell.deliver();
    expect(cell.last(1, 'bootstrapped')).toMatchObject({ begun: false });
  });

  it('is begun later by a member that missed the act but had said that it is ready', () => {
    const cell = new IntervalCell({ members: 3, rttUs: RTT_US }, 3);
    cell.command(0, { kind: 'bootstrap', waitUs: 1_000_000 });
    cell.deliver(({ to, message }) => to === 2 && message.kind === 'begin');
    expect(cell.cores[2]?.diskPhase).toBe('founding');
    cell.start(2);
    cell.pass(20 * RTT_US, ({ message }) => message.kind === 'begin');
    expect(cell.cores[2]?.diskPhase).toBe('ready');
    expect(cell.cores[2]?.generation).toBe(1);
  });
});

describe('a claim', () => {
  it('is granted once, and what overlaps it is refused, with what overlapped and where there is room', () => {
    const cell = begun();
    claim(cell, 3, 1, 10, 19);
    claim(cell, 4, 1, 15, 24);
    expect(cell.last(3, 'granted')).toEqual({ kind: 'granted', claim: 1, space: 's', from: 10, to: 19, attempts: 1 });
    expect(cell.last(4, 'refused')).toEqual({
      kind: 'refused',
      claim: 1,
      space: 's',
      why: 'overlap',
      overlap: [15, 19],
      next: 20,
      attempts: 1,
    });
    expect(cell.last(4, 'cleared')).toEqual({ kind: 'cleared', claim: 1, everywhere: true });
    claim(cell, 4, 2, 20, 24);
    expect(cell.last(4, 'granted')).toMatchObject({ from: 20, to: 24 });
  });

  it('may be of everything, and of members', () => {
    const cell = begun();
    claim(cell, 1, 1, 0, INTEGER_MAX);
    expect(cell.last(1, 'granted')).toMatchObject({ from: 0, to: INTEGER_MAX });
    cell.command(3, { kind: 'next', claim: 1, space: 's', size: 1 });
    cell.pass(100 * RTT_US);
    expect(cell.last(3, 'refused')).toMatchObject({ why: 'exhausted', next: null });
  });

  it('of everything that one member alone has heard of does not exhaust the integers', () => {
    const cell = begun();
    cell.command(3, { kind: 'claim', claim: 1, space: 's', from: 0, to: INTEGER_MAX });
    cell.deliver(({ to }) => to === 1 || to === 2);
    cell.command(4, { kind: 'next', claim: 1, space: 's', size: 1 });
    cell.deliver(({ from, to }) => [from, to].includes(nodeId(2)));
    expect(cell.last(4, 'refused')).toBeUndefined();
    cell.command(3, { kind: 'call-off', claim: 1 });
    cell.pass(100 * RTT_US);
    expect(cell.last(4, 'granted')).toMatchObject({ claim: 1 });
  });

  it('of what is no interval throws', () => {
    const cell = begun();
    for (const [from, to] of [
      [-1, 3],
      [4, 3],
      [0, 2 ** 53],
      [0.5, 3],
      [NaN, 3],
    ] as const)
      expect(() => cell.command(3, { kind: 'claim', claim: 1, space: 's', from, to })).toThrow(
        expect.objectContaining({ code: 'TENURE_BAD_INTERVAL' }),
      );
    expect(() => cell.command(3, { kind: 'next', claim: 1, space: 's', size: 0 })).toThrow(
      expect.objectContaining({ code: 'TENURE_BAD_INTERVAL' }),
    );
    expect(() => cell.command(3, { kind: 'claim', claim: 1, space: '', from: 0, to: 1 })).toThrow(
      expect.objectContaining({ code: 'TENURE_BAD_NAME' }),
    );
    expect(() => cell.command(3, { kind: 'claim', claim: 0, space: 's', from: 0, to: 1 })).toThrow(
      expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }),
    );
    expect(() => cell.command(3, { kind: 'begin', taken: [] })).toThrow(expect.objectContaining({ code: 'TENURE_UNSUPPORTED' }));
  });

  it('that is called off is withdrawn, and its integers can be had by another', () => {
    const cell = begun();
    cell.command(3, { kind: 'claim', claim: 1, space: 's', from: 0, to: 9 });
    cell.deliver(({ message }) => message.kind === 'ack');
    cell.command(3, { kind: 'call-off', claim: 1 });
    cell.deliver();
    expect(cell.last(3, 'cleared')).toEqual({ kind: 'cleared', claim: 1, everywhere: true });
    expect(cell.last(3, 'granted')).toBe(undefined);
    claim(cell, 4, 1, 0, 9);
    expect(cell.last(4, 'granted')).toMatchObject({ from: 0, to: 9 });
  });

  it('is asked for again until it is answered, and is the same claim', () => {
    const cell = begun();
    cell.command(3, { kind: 'claim', claim: 1, space: 's', from: 0, to: 9 });
    cell.deliver(({ message }) => message.kind === 'ack');
    expect(cell.last(3, 'granted')).toBe(undefined);
    cell.pass(10 * RTT_US);
    expect(cell.last(3, 'granted')).toMatchObject({ from: 0, to: 9 });
  });

  it('outlives every member', () => {
    const cell = begun(5, { placesMin: 1 });
    for (let number = 1; number <= 6; number++) claim(cell, 3, number, number * 10, number * 10 + 4, number % 2 === 0 ? 's' : 't');
    for (const member of [0, 1, 2]) cell.start(member);
    for (let number = 1; number <= 6; number++) {
      claim(cell, 4, number, number * 10 + 4, number * 10 + 4, number % 2 === 0 ? 's' : 't');
      expect(cell.last(4, 'refused')).toMatchObject({ claim: number, why: 'overlap' });
    }
  });
});

describe('a block', () => {
  it('is not spoilt by a claim far away', () => {
    const cell = begun();
    claim(cell, 3, 1, INTEGER_MAX - 5, INTEGER_MAX);
    cell.command(4, { kind: 'next', claim: 1, space: 's', size: 100 });
    cell.deliver();
    expect(cell.last(4, 'granted')).toMatchObject({ from: 0, to: 99, attempts: 1 });
    cell.command(4, { kind: 'next', claim: 2, space: 's', size: 100 });
    cell.deliver();
    expect(cell.last(4, 'granted')).toMatchObject({ from: 100, to: 199, attempts: 1 });
  });

  it('is found behind what others have, and every one is served though all ask at once', () => {
    const cell = begun(67);
    for (let node = 3; node < 67; node++) cell.command(node, { kind: 'next', claim: 1, space: 's', size: 100 });
    cell.pass(20_000 * RTT_US);
    const blocks = cell.events.slice(3).map((events) => events.find((event) => event.kind === 'granted'));
    expect(blocks.every((block) => block !== undefined)).toBe(true);
    const starts = blocks.map((block) => block?.from ?? -1).sort((a, b) => a - b);
    const gaps = starts.slice(1).map((start, i) => start - (starts[i] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(100);
  });

  it('costs one entry with those before it, once they are closed', () => {
    const cell = begun();
    for (let number = 1; number <= 200; number++) {
      cell.command(3, { kind: 'next', claim: number, space: 's', size: 10_000_000 });
      cell.deliver();
    }
    expect(cell.cores[0]?.entries).toBe(2);
    expect(cell.disks[0]?.size).toBeLessThan(20);
    for (const bytes of cell.disks[0]?.values() ?? []) expect(bytes.length).toBeLessThan(400);
  });
});

describe('what a member keeps', () => {
  it('is bounded for one claimant, for spaces and in all: more is refused, and told so', () => {
    const cell = begun(5, { limits: LIMITS });
    const ask = (number: number, at: number, space = 's'): string | undefined => {
      cell.command(3, { kind: 'claim', claim: number, space, from: at, to: at });
      cell.deliver(({ message }) => message.kind === 'ack');
      return cell.last(3, 'refused')?.claim === number ? cell.last(3, 'refused')?.why : undefined;
    };
    for (let number = 1; number <= 4; number++) expect(ask(number, number * 2)).toBe(undefined);
    expect(ask(5, 100)).toBe('limit');
  });

  it('of spaces and intervals is bounded, too', () => {
    const cell = begun(5, { limits: LIMITS });
    claim(cell, 3, 1, 0, 0, 'a');
    claim(cell, 3, 2, 0, 0, 'b');
    claim(cell, 3, 3, 0, 0, 'c');
    expect(cell.last(3, 'refused')).toMatchObject({ claim: 3, why: 'limit' });
    for (let number = 4; number <= 9; number++) claim(cell, 3, number, number * 10, number * 10, 'a');
    claim(cell, 3, 10, 500, 500, 'a');
    expect(cell.last(3, 'refused')).toMatchObject({ claim: 10, why: 'limit' });
  });

  it('of spaces is only what has something in it', () => {
    const cell = begun(5, { limits: LIMITS });
    for (const [index, space] of ['a', 'b', 'c', 'd'].entries()) {
      cell.command(3, { kind: 'claim', claim: index + 1, space, from: 0, to: 0 });
      cell.command(3, { kind: 'call-off', claim: index + 1 });
      cell.deliver();
    }
    claim(cell, 3, 5, 0, 0, 'e');
    expect(cell.last(3, 'granted')).toMatchObject({ claim: 5 });
  });

  it('of dead claimants is folded: it is still theirs, and there is room for others', () => {
    const cell = begun(5, { limits: { ...LIMITS, open: 2, entries: 100 } });
    for (let life = 0; life < 10; life++) {
      claim(cell, 3, 1, life * 10, life * 10 + 4);
      expect(cell.last(3, 'granted')).toMatchObject({ from: life * 10 });
      cell.start(3);
    }
    expect(cell.cores[0]?.open).toBeLessThanOrEqual(3);
    for (let life = 0; life < 10; life++) {
      claim(cell, 4, life + 1, life * 10 + 2, life * 10 + 2);
      expect(cell.last(4, 'refused')).toMatchObject({ claim: life + 1, why: 'overlap' });
    }
  });

  it('of dead claimants takes no room from a process that has several under way', () => {
    const cell = begun(5, { limits: { open: 512, spaces: 10, entries: 10_000, claimants: 10 } });
    for (let life = 0; life < 600; life++) {
      claim(cell, 3, 1, life * 2, life * 2);
      cell.start(3);
    }
    for (const number of [1, 2])
      cell.command(4, { kind: 'claim', claim: number, space: 's', from: 5000 + 2 * number, to: 5000 + 2 * number });
    cell.deliver();
    expect(cell.last(4, 'refused')).toBe(undefined);
    expect(cell.last(4, 'granted')).toMatchObject({ claim: 2 });
    expect(cell.cores[0]?.open).toBeLessThanOrEqual(512);
  });

  it('of whoever was silent for longest is folded first', () => {
    const cell = begun(7, { limits: { ...LIMITS, open: 2, entries: 100 } });
    const isHalfWay = ({ message }: Flight): boolean => message.kind === 'ack';
    cell.command(3, { kind: 'claim', claim: 1, space: 's', from: 0, to: 9 });
    cell.deliver(isHalfWay);
    cell.command(4, { kind: 'claim', claim: 1, space: 's', from: 10, to: 19 });
    cell.deliver(isHalfWay);
    // Client 3 asks again, so client 4 is the silent one.
    cell.pass(4 * RTT_US, (flight) => isHalfWay(flight) || flight.from === 4);
    claim(cell, 5, 1, 20, 29);
    cell.pass(100 * RTT_US);
    expect(cell.last(3, 'granted')).toMatchObject({ from: 0 });
    expect(cell.last(4, 'refused')).toMatchObject({ overlap: [10, 19] });
  });

  it('of processes that withdrew something is bounded, in memory and on disk, and open claims are not forgotten with them', () => {
    const cell = begun(5, { limits: { ...LIMITS, open: 10, entries: 100, claimants: 2 }, placesMin: 1 });
    cell.command(4, { kind: 'claim', claim: 1, space: 's', from: 0, to: 9 });
    cell.deliver(({ message }) => message.kind === 'ack');
    for (let life = 0; life < 20; life++) {
      cell.command(3, { kind: 'claim', claim: 1, space: 's', from: 20, to: 29 });
      cell.command(3, { kind: 'call-off', claim: 1 });
      cell.deliver();
      cell.start(3);
    }
    const { acceptor } = (cell.cores[0] as IntervalLeaseCore).snapshot() as unknown as { acceptor: { claimants: readonly unknown[] } };
    expect(acceptor.claimants.length).toBeLessThanOrEqual(3);
    expect(cell.disks[0]?.size).toBeLessThanOrEqual(9);
    cell.pass(10 * RTT_US);
    expect(cell.last(4, 'granted')).toMatchObject({ from: 0, to: 9 });
  });

  it('of withdrawals of a process that closes nothing is bounded', () => {
    const cell = begun();
    const from = { from: nodeId(3), life: cell.lives[3] ?? 0, to: nodeId(0) };
    for (let counter = 1; counter <= 600; counter++)
      cell.again({
        ...from,
        message: { kind: 'withdraw', incarnation: incarnation(from.life), counter, closed: 0, space: 's', from: 0, to: 0 },
      });
    const { acceptor } = (cell.cores[0] as IntervalLeaseCore).snapshot() as unknown as {
      acceptor: { claimants: readonly (readonly [unknown, number, number[]])[] };
    };
    expect(acceptor.claimants[0]?.[2].length).toBe(512);
    expect(acceptor.claimants[0]?.[1]).toBe(88);
  });

  it('is on its disk before it says so: a disk that fails makes it silent, and it says that', () => {
    const cell = begun();
    cell.isFailing = true;
    claim(cell, 3, 1, 0, 9);
    expect(cell.last(3, 'granted')).toBe(undefined);
    expect(cell.last(0, 'disk')?.phase).toBe('failed');
    cell.isFailing = false;
    cell.pass(50 * RTT_US);
    expect(cell.last(3, 'granted')).toBe(undefined);
  });

  it('is refused if it cannot be read', () => {
    const cell = begun();
    claim(cell, 3, 1, 0, 9);
    const bytes = cell.disks[0]?.get('place/1') as Uint8Array;
    bytes[6] = (bytes[6] ?? 0) ^ 1;
    cell.start(0);
    expect(cell.last(0, 'disk')?.phase).toBe('failed');
  });
});

describe('a member that lost its disk', () => {
  it('holds what the others hold before it answers, in another generation', () => {
    const cell = begun(5, { piecesPerPage: 1, placesMin: 1 });
    for (let number = 1; number <= 5; number++) claim(cell, 3, number, number * 10, number * 10 + 3, number === 5 ? 't' : 's');
    cell.start(0, false);
    expect(cell.cores[0]?.diskPhase).toBe('blank');
    cell.pass(10 * RTT_US);
    expect(cell.last(0, 'disk')).toEqual({ kind: 'disk', phase: 'ready', generation: 2, noted: 2, copied: 2, needed: 2 });
    // Alone with one other it still refuses what was given.
    cell.command(4, { kind: 'claim', claim: 1, space: 't', from: 53, to: 60 });
    cell.deliver(({ to }) => to === 1);
    expect(cell.last(4, 'refused')).toMatchObject({ overlap: [53, 53] });
  });

  it('waits for as many as it takes, and says how far it is', () => {
    const cell = begun();
    cell.start(0, false);
    cell.pass(100 * RTT_US, ({ to, from }) => to === 2 || from === 2);
    expect(cell.cores[0]?.diskPhase).toBe('blank');
    cell.pass(20 * RTT_US);
    expect(cell.cores[0]?.diskPhase).toBe('ready');
  });

  it('stays silent with most of the others: nobody begins of itself', () => {
    const cell = begun();
    cell.start(0, false);
    cell.start(1, false);
    cell.pass(1000 * RTT_US);
    expect(cell.cores.slice(0, 3).map(({ diskPhase }) => diskPhase)).toEqual(['blank', 'blank', 'ready']);
  });
});

describe('where an outer core sees to lost disks', () => {
  it('a blank disk begins when that says so, with what it says is taken', () => {
    const cell = new IntervalCell({ members: 1, rttUs: RTT_US, disks: 'told' }, 2);
    claim(cell, 1, 1, 0, 9);
    expect(cell.events[1]).toEqual([]);
    cell.command(0, { kind: 'begin', taken: [{ space: 's', from: 0, to: 5 }] });
    cell.pass(10 * RTT_US);
    expect(cell.last(1, 'refused')).toMatchObject({ overlap: [0, 5], next: 6 });
    cell.start(0);
    claim(cell, 1, 2, 5, 5);
    expect(cell.last(1, 'refused')).toMatchObject({ claim: 2 });
  });
});

describe('the literal variant', () => {
  it('records what it refuses: a refused claim of everything burns everything', () => {
    const cell = new IntervalCell({ members: 3, rttUs: RTT_US, variant: 'literal' }, 5);
    cell.bootstrap();
    claim(cell, 3, 1, 5, 5);
    claim(cell, 4, 1, 0, INTEGER_MAX);
    claim(cell, 3, 2, 100, 100);
    expect(cell.last(3, 'refused')).toMatchObject({ claim: 2, why: 'overlap' });
  });
});

describe('a snapshot', () => {
  it('is the whole state: a core that goes on from it does the same', () => {
    const cell = begun(5, { placesMin: 1 });
    for (let number = 1; number <= 5; number++) claim(cell, 3, number, number * 3, number * 4);
    cell.command(4, { kind: 'next', claim: 1, space: 't', size: 5 });
    for (const [node, core] of cell.cores.entries()) {
      const boot = { self: node as never, incarnation: (cell.lives[node] ?? 0) as never, restarted: true, diskKept: true };
      const twin = new IntervalLeaseCore(cell.config, boot);
      twin.restore(core.snapshot());
      expect(twin.snapshot()).toEqual(core.snapshot());
      expect(stateHash(twin.snapshot())).toBe(stateHash(core.snapshot()));
    }
  });
});
