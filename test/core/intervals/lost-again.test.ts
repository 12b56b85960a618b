/** A disk that is lost again while it joins: some members have noted a number that the disk in use does not have. */
import { describe, expect, it } from 'vitest';
import { IntervalCell, type Flight } from './cell.ts';

const RTT_US = 1000;
const LOST = 4;
const CLIENT = 5;

/** Member 0 of five has noted generation 3 of member 4, whose disk in use is of a lower one: it was lost twice, and joined without a word of member 0. */
function outnumbered(): IntervalCell {
  const cell = new IntervalCell({ members: 5, rttUs: RTT_US }, 7);
  cell.bootstrap();
  for (let life = 0; life < 2; life++) {
    cell.start(LOST, false);
    // Only member 0 notes what it takes for its number, and only members 0, 1 and 2 say what they know.
    cell.pass(3 * RTT_US, ({ from, to, message }) => to === 3 || from === 3 || (message.kind === 'note' && to !== 0));
  }
  cell.start(LOST, false);
  cell.flights.length = 0;
  cell.pass(50 * RTT_US, ({ from, to }) => (from === LOST && to === 0) || (from === 0 && to === LOST));
  expect(cell.last(LOST, 'disk')).toMatchObject({ phase: 'ready', generation: 2 });
  return cell;
}

describe('a member whose disk was lost again while it joined', () => {
  it('is counted again, also by those that hear of the disk it never used', () => {
    const cell = outnumbered();
    cell.pass(10_000 * RTT_US);
    cell.command(CLIENT, { kind: 'claim', claim: 1, space: 's', from: 0, to: 9 });
    cell.pass(1000 * RTT_US, ({ from, to }) => [from, to].some((node) => node === 2 || node === 3));
    expect(cell.last(CLIENT, 'granted')).toMatchObject({ claim: 1 });
  });

  it('gives its disk a higher number only once so many have noted it that the next disk hears of it', () => {
    const cell = outnumbered();
    const own = (): number => cell.cores[LOST]?.generation ?? 0;
    cell.pass(10_000 * RTT_US, ({ from, to, message }) => from === LOST && message.kind === 'note' && to > 0 && to < 3);
    expect(own()).toBe(2);
    cell.pass(10_000 * RTT_US);
    expect(own()).toBeGreaterThan(3);
    const higher = own();
    cell.start(LOST, false);
    cell.flights.length = 0;
    cell.pass(50 * RTT_US, ({ from, to }) => from === 0 || to === 0);
    expect(cell.cores[LOST]).toMatchObject({ diskPhase: 'ready', generation: higher + 1 });
  });

  it('has nothing more to say once all others have noted its disk, and one that was never lost says nothing', () => {
    const cell = outnumbered();
    cell.pass(10_000 * RTT_US);
    const said: string[] = [];
    const listen = ({ message }: { readonly message: { readonly kind: string } }): boolean => {
      said.push(message.kind);
      return false;
    };
    cell.pass(10_000 * RTT_US, listen);
    expect(said).toEqual([]);
    cell.start(0);
    cell.pass(10_000 * RTT_US, listen);
    expect(said).toEqual([]);
    cell.start(LOST);
    cell.deliver(listen);
    cell.pass(10_000 * RTT_US, listen);
    expect(said.toSorted()).toEqual(['note', 'note', 'note', 'note', 'noted', 'noted', 'noted', 'noted']);
  });

  it('says it again to a member that can be reached again', () => {
    const cell = outnumbered();
    cell.pass(10_000 * RTT_US, ({ from, to }) => from === LOST && to === 0);
    expect(cell.cores[LOST]?.generation).toBe(2);
    cell.command(LOST, { kind: 'reached', member: 0 });
    cell.deliver();
    expect(cell.cores[LOST]?.generation).toBeGreaterThan(3);
  });
});

describe('a member that gives its disk a higher number', () => {
  const OLD_CLIENT = 5;
  const NEW_CLIENT = 6;
  const only =
    (...nodes: readonly number[]) =>
    ({ from, to }: Flight): boolean =>
      !nodes.includes(from) || !nodes.includes(to);

  it('does not count those that noted it on disks that are lost since', () => {
    const cell = outnumbered();
    const held: Flight[] = [];
    // Members 0 and 1 note the higher number, and what they say of it is late.
    cell.pass(10_000 * RTT_US, (flight) => {
      if (flight.message.kind === 'noted' && flight.from < 2 && flight.to === LOST) held.push(flight);
      return only(0, 1, LOST)(flight) || flight.message.kind === 'noted';
    });
    for (const noter of [0, 1]) {
      cell.start(noter, false);
      cell.flights.length = 0;
      cell.pass(50 * RTT_US, (flight) => only(noter, 2, 3, LOST)(flight) || (flight.from === LOST && flight.message.kind === 'note'));
      expect(cell.cores[noter]?.diskPhase).toBe('ready');
    }
    cell.pass(600 * RTT_US, only(2, LOST));
    for (const flight of held) {
      cell.flights.push(flight);
      cell.deliver(only(0, 1, LOST));
    }
    // What it acknowledges from here on is late as well, and its disk is lost.
    cell.command(OLD_CLIENT, { kind: 'claim', claim: 1, space: 's', from: 0, to: 9 });
    const late: Flight[] = [];
    cell.deliver((flight) => (flight.from === LOST ? (late.push(flight), true) : flight.to !== LOST));
    cell.start(LOST, false);
    cell.pass(50 * RTT_US, only(0, 1, 3, LOST));
    expect(cell.cores[LOST]?.diskPhase).toBe('ready');
    cell.command(NEW_CLIENT, { kind: 'claim', claim: 1, space: 's', from: 5, to: 14 });
    cell.deliver(only(1, 3, LOST, NEW_CLIENT));
    expect(cell.last(NEW_CLIENT, 'granted')).toMatchObject({ claim: 1 });
    for (const flight of late) if (flight.to === OLD_CLIENT) cell.flights.push(flight);
    cell.pass(500 * RTT_US, (flight) => only(0, 2, OLD_CLIENT)(flight) && !late.includes(flight));
    expect(cell.last(OLD_CLIENT, 'granted')).toBe(undefined);
  });
});

describe('a claimant', () => {
  it('counts a disk, though an earlier answer knew of a newer one that never was in use', () => {
    const cell = outnumbered();
    const cut = ({ from, to }: { readonly from: number; readonly to: number }): boolean => from === LOST && to < LOST;
    cell.command(CLIENT, { kind: 'claim', claim: 1, space: 's', from: 0, to: 9 });
    cell.deliver();
    expect(cell.last(CLIENT, 'granted')).toMatchObject({ claim: 1 });
    // With the disk of member 0 goes the word of it.
    cell.start(0, false);
    cell.pass(50 * RTT_US, cut);
    expect(cell.cores[0]?.diskPhase).toBe('ready');
    cell.command(CLIENT, { kind: 'claim', claim: 2, space: 's', from: 10, to: 19 });
    cell.pass(1000 * RTT_US, (flight) => cut(flight) || [flight.from, flight.to].some((node) => node === 2 || node === 3));
    expect(cell.last(CLIENT, 'granted')).toMatchObject({ claim: 2 });
  });
});
