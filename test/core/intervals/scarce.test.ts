/** Spaces in which hardly anything is left: members that were away have room where others have none. */
import { describe, expect, it } from 'vitest';
import { INTEGER_MAX } from '../../../src/core/index.ts';
import { IntervalCell } from './cell.ts';

const RTT_US = 1000;
const CLIENT = 3;

/** All is taken but what one member alone has free, each another ten; `free` is free at all. */
function scarce(free: readonly number[] = []): IntervalCell {
  const cell = new IntervalCell({ members: 3, rttUs: RTT_US }, 5);
  cell.bootstrap();
  let claim = 100;
  const take = (from: number, to: number, except: number): void => {
    cell.command(4, { kind: 'claim', claim: ++claim, space: 's', from, to });
    cell.deliver(({ to: member }) => member === except);
    expect(cell.last(4, 'granted')).toMatchObject({ claim });
  };
  for (const [start, except] of [
    [0, 0],
    [20, 1],
    [40, 2],
  ] as const)
    take(start, start + 9, except);
  for (const start of [10, 30, 50, 60, 70]) if (!free.includes(start)) take(start, start + 9, -1);
  take(80, INTEGER_MAX, -1);
  return cell;
}

describe('a block of which no majority has room', () => {
  it('is refused as exhausted, wherever single members have room', () => {
    const cell = scarce();
    cell.command(CLIENT, { kind: 'next', claim: 1, space: 's', size: 10 });
    cell.pass(200_000 * RTT_US);
    expect(cell.last(CLIENT, 'refused')).toMatchObject({ claim: 1, why: 'exhausted' });
    expect(cell.last(CLIENT, 'cleared')).toMatchObject({ claim: 1, everywhere: true });
  });

  it('waits for a member that does not answer, and may have room', () => {
    const cell = scarce();
    cell.command(CLIENT, { kind: 'next', claim: 1, space: 's', size: 10 });
    cell.pass(50_000 * RTT_US, ({ from, to }) => from === 2 || to === 2);
    expect(cell.last(CLIENT, 'refused')).toBe(undefined);
    cell.pass(200_000 * RTT_US);
    expect(cell.last(CLIENT, 'refused')).toMatchObject({ claim: 1, why: 'exhausted' });
  });

  it.each([[[10]], [[30]], [[60]], [[10, 70]]])('is found where a majority has room: %j', (free) => {
    const cell = scarce(free);
    for (const [i] of free.entries()) {
      cell.command(CLIENT, { kind: 'next', claim: i + 1, space: 's', size: 10 });
      cell.pass(200_000 * RTT_US);
      expect(cell.last(CLIENT, 'granted')).toMatchObject({ claim: i + 1 });
    }
    cell.command(CLIENT, { kind: 'next', claim: 9, space: 's', size: 10 });
    cell.pass(200_000 * RTT_US);
    expect(cell.last(CLIENT, 'refused')).toMatchObject({ claim: 9, why: 'exhausted' });
  });

  it('is found though one member has room nowhere, and another does not answer at first', () => {
    const cell = new IntervalCell({ members: 5, rttUs: RTT_US }, 7);
    cell.bootstrap();
    cell.command(6, { kind: 'claim', claim: 1, space: 's', from: 0, to: INTEGER_MAX });
    cell.deliver(({ to }) => to !== 0 && to < 5);
    cell.start(6);
    cell.command(5, { kind: 'next', claim: 1, space: 's', size: 10 });
    cell.pass(20_000 * RTT_US, ({ from, to }) => from === 4 || to === 4);
    expect(cell.last(5, 'granted')).toMatchObject({ claim: 1 });
  });

  it('is not called exhausted for what the claim itself left at a member', () => {
    const cell = scarce([10]);
    cell.command(CLIENT, { kind: 'next', claim: 1, space: 's', size: 10 });
    // Member 0 hears no withdrawal, and keeps what it acknowledged.
    cell.pass(2_000 * RTT_US, ({ to, message }) => (to === 0 && message.kind === 'withdraw') || (to === 2 && message.kind === 'lease'));
    expect(cell.last(CLIENT, 'refused')).toBe(undefined);
    cell.pass(200_000 * RTT_US);
    expect(cell.last(CLIENT, 'granted')).toMatchObject({ claim: 1 });
  });

  it('is refused in the end, though a withdrawal was not answered when all were last asked from 0 on', () => {
    const cell = new IntervalCell({ members: 3, rttUs: RTT_US }, 5);
    cell.bootstrap();
    cell.command(4, { kind: 'claim', claim: 1, space: 's', from: 0, to: 9 });
    cell.deliver();
    cell.command(4, { kind: 'claim', claim: 2, space: 's', from: 10, to: INTEGER_MAX });
    cell.deliver(({ to }) => to === 1);
    expect(cell.last(4, 'granted')).toMatchObject({ claim: 2 });
    cell.command(CLIENT, { kind: 'next', claim: 1, space: 's', size: 10 });
    const fromZero = new Set<number>();
    cell.pass(2000 * RTT_US, ({ to, message }) => {
      if (message.kind === 'lease' && message.from === 0) fromZero.add(message.counter);
      return to === 0 && message.kind === 'withdraw' && fromZero.size < 2;
    });
    expect(fromZero.size).toBeGreaterThan(1);
    cell.pass(200_000 * RTT_US);
    expect(cell.last(CLIENT, 'refused')).toMatchObject({ claim: 1, why: 'exhausted' });
  });
});
