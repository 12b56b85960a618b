/** Members that note the number of a new disk and lose their own before that is in use: what they said counts no more. */
import { describe, expect, it } from 'vitest';
import { IntervalCell, type Flight } from './cell.ts';

const RTT_US = 1000;

/** Between these members only. */
const only =
  (...nodes: readonly number[]) =>
  ({ from, to }: Flight): boolean =>
    !nodes.includes(from) || !nodes.includes(to);

describe('a disk that joins, whose source loses its own disk meanwhile', () => {
  const [LOST, OLD_CLIENT, NEW_CLIENT] = [4, 5, 6] as const;

  /** Member 0 has helped member 4 to join, and has lost its disk and joined again without a word of that. */
  function sourceLost(): { readonly cell: IntervalCell; readonly oldAck: Flight } {
    const cell = new IntervalCell({ members: 5, rttUs: RTT_US }, 7);
    cell.bootstrap();
    const kept: Flight[] = [];
    cell.command(OLD_CLIENT, { kind: 'claim', claim: 1, space: 's', from: 0, to: 9 });
    cell.deliver((flight) => flight.to !== LOST && (kept.push(flight), true));
    const oldAck = kept.find(({ from }) => from === LOST) as Flight;
    cell.start(LOST, false);
    cell.deliver((flight) => only(0, 1, 2, 3, LOST)(flight) || (flight.message.kind === 'note' && flight.to !== 0));
    expect(cell.last(LOST, 'disk')).toMatchObject({ phase: 'joining', copied: 1 });
    cell.start(0, false);
    cell.deliver(only(0, 1, 2, 3));
    expect(cell.cores[0]?.diskPhase).toBe('ready');
    return { cell, oldAck };
  }

  it('is not in use before as many others have noted its number on disks that they still have', () => {
    const { cell, oldAck } = sourceLost();
    cell.pass(50 * RTT_US, only(1, 2, LOST));
    expect(cell.last(LOST, 'disk')).toMatchObject({ phase: 'joining', copied: 2 });
    cell.command(NEW_CLIENT, { kind: 'claim', claim: 1, space: 's', from: 5, to: 14 });
    cell.deliver(only(1, 2, LOST, NEW_CLIENT));
    cell.again(oldAck);
    cell.pass(500 * RTT_US, only(0, 3, OLD_CLIENT));
    expect([cell.last(OLD_CLIENT, 'granted'), cell.last(NEW_CLIENT, 'granted')].filter((granted) => granted)).toHaveLength(1);
  });

  it('is in use once its source has noted its number again', () => {
    const { cell } = sourceLost();
    cell.pass(50 * RTT_US, only(1, 2, LOST));
    cell.pass(50 * RTT_US, only(0, 1, 2, LOST));
    expect(cell.cores[LOST]?.diskPhase).toBe('ready');
  });
});

describe('what was said to an earlier life of a blank member', () => {
  const [LOST, OLD_CLIENT, NEW_CLIENT] = [2, 3, 4] as const;

  it('does not make its next disk take the number of the one before', () => {
    const cell = new IntervalCell({ members: 3, rttUs: RTT_US }, 5);
    cell.bootstrap();
    const early: Flight[] = [];
    cell.start(LOST, false);
    cell.deliver((flight) => {
      if (flight.message.kind === 'known') early.push(flight);
      return false;
    });
    expect(cell.cores[LOST]).toMatchObject({ diskPhase: 'ready', generation: 2 });
    const late: Flight[] = [];
    cell.command(OLD_CLIENT, { kind: 'claim', claim: 1, space: 's', from: 0, to: 9 });
    cell.deliver((flight) => (flight.from === LOST ? (late.push(flight), true) : flight.to !== LOST));
    cell.start(LOST, false);
    cell.flights.splice(0, Infinity, ...early);
    cell.deliver(only(0, 1, LOST));
    cell.pass(50 * RTT_US, only(0, 1, LOST));
    expect(cell.cores[LOST]).toMatchObject({ diskPhase: 'ready', generation: 3 });
    cell.command(NEW_CLIENT, { kind: 'claim', claim: 1, space: 's', from: 5, to: 14 });
    cell.deliver(only(1, LOST, NEW_CLIENT));
    cell.flights.push(...late);
    cell.pass(500 * RTT_US, (flight) => only(0, OLD_CLIENT)(flight) && !late.includes(flight));
    expect([cell.last(OLD_CLIENT, 'granted'), cell.last(NEW_CLIENT, 'granted')].filter((granted) => granted)).toHaveLength(1);
  });
});
