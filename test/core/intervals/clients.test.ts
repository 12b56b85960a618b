/** Clients of interval leases: whom they hear, what they may ask of members, and what is sent again when one can be reached. */
import { describe, expect, it } from 'vitest';
import { incarnation, nodeId } from '../../../src/kernel/index.ts';
import type { IntervalLeaseCore, IntervalMessage } from '../../../src/core/index.ts';
import { IntervalCell, type Flight } from './cell.ts';

const RTT_US = 1000;
const CLIENT = 3;

function blank(): IntervalCell {
  return new IntervalCell({ members: 3, rttUs: RTT_US }, 4);
}

describe('a client', () => {
  it('begins the disks of a new cell, and is told when they are in use', () => {
    const cell = blank();
    cell.command(CLIENT, { kind: 'bootstrap', waitUs: 100 * RTT_US });
    cell.deliver();
    expect(cell.last(CLIENT, 'bootstrapped')).toEqual({ kind: 'bootstrapped', begun: true, absent: [], inUse: [] });
    expect(cell.cores.map(({ diskPhase }) => diskPhase)).toEqual(['ready', 'ready', 'ready', null]);
  });

  it('goes on with a bootstrap when it is woken, and after it was written down', () => {
    const cell = blank();
    cell.command(CLIENT, { kind: 'bootstrap', waitUs: 100 * RTT_US });
    cell.flights.length = 0;
    const core = cell.cores[CLIENT] as IntervalLeaseCore;
    const before = core.snapshot();
    core.restore(before);
    expect(core.snapshot()).toEqual(before);
    cell.pass(50 * RTT_US);
    expect(cell.last(CLIENT, 'bootstrapped')?.begun).toBe(true);
  });

  it('looks how far disks are, and only those that answer are told of', () => {
    const cell = blank();
    cell.command(CLIENT, { kind: 'look' });
    cell.deliver(({ to }) => to === 2);
    const standings = cell.events[CLIENT]?.filter(({ kind }) => kind === 'standing');
    expect(standings).toMatchObject([
      { member: 0, phase: 'blank', needed: 2 },
      { member: 1, phase: 'blank', needed: 2 },
    ]);
  });

  it('hears members, though they have not proved the secret of members to it', () => {
    const client = blank().cores[CLIENT] as IntervalLeaseCore;
    const ack: IntervalMessage = { kind: 'ack', incarnation: incarnation(1), counter: 1, generations: [1, 1, 1] };
    const begun: IntervalMessage = { kind: 'begun', founding: 1, start: 1 };
    for (const message of [ack, begun]) {
      expect(client.admits({ node: nodeId(0), incarnation: incarnation(9), isAdmin: false }, message)).toBe(true);
      expect(client.admits({ node: nodeId(4), incarnation: incarnation(9), isAdmin: true }, message)).toBe(false);
    }
  });

  it('counts no answer to its earlier life', () => {
    const cell = blank();
    cell.bootstrap();
    cell.command(CLIENT, { kind: 'claim', claim: 1, space: 's', from: 0, to: 9 });
    const acks: Flight[] = [];
    cell.deliver((flight) => {
      if (flight.message.kind === 'ack') acks.push(flight);
      return flight.message.kind === 'ack';
    });
    cell.start(CLIENT);
    cell.command(CLIENT, { kind: 'claim', claim: 1, space: 's', from: 50, to: 59 });
    cell.flights.length = 0;
    for (const ack of acks) cell.again(ack);
    expect(acks.length).toBe(3);
    expect(cell.last(CLIENT, 'granted')).toBe(undefined);
  });

  it('may look, and with the secret of the members begin; it never speaks as a member', () => {
    const member = blank().cores[0] as IntervalLeaseCore;
    const admits = (message: IntervalMessage, isAdmin: boolean): boolean =>
      member.admits({ node: nodeId(CLIENT), incarnation: incarnation(4), isAdmin }, message);
    expect(admits({ kind: 'look' }, false)).toBe(true);
    for (const message of [
      { kind: 'found', founding: 4, round: 1, start: 0 },
      { kind: 'begin', founding: 4, start: 1, disks: [1, 2, 3] },
    ] as const) {
      expect(admits(message, false)).toBe(false);
      expect(admits(message, true)).toBe(true);
    }
    for (const message of [
      { kind: 'hello', asker: 1 },
      { kind: 'note', generation: 9 },
      { kind: 'copy', generation: 9, space: '', from: 0 },
      { kind: 'ack', incarnation: incarnation(5), counter: 1, generations: [] },
      { kind: 'withdrawn', incarnation: incarnation(5), counter: 1, generations: [] },
    ] as const)
      expect(admits(message, true)).toBe(false);
  });

  it('claims and withdraws for itself alone', () => {
    const member = blank().cores[0] as IntervalLeaseCore;
    for (const kind of ['lease', 'withdraw'] as const)
      for (const own of [4, 5]) {
        const message: IntervalMessage = { kind, incarnation: incarnation(own), counter: 1, space: 's', from: 0, to: 9, closed: 0 };
        expect(member.admits({ node: nodeId(CLIENT), incarnation: incarnation(4), isAdmin: true }, message)).toBe(own === 4);
      }
  });
});

describe('a member that can be reached again', () => {
  it('is sent what it has not answered at once, and nothing else', () => {
    const cell = blank();
    cell.bootstrap();
    cell.command(CLIENT, { kind: 'claim', claim: 1, space: 's', from: 0, to: 9 });
    cell.command(CLIENT, { kind: 'claim', claim: 2, space: 's', from: 20, to: 29 });
    cell.deliver(({ to }) => to !== 0 && to !== CLIENT);
    cell.command(CLIENT, { kind: 'call-off', claim: 2 });
    cell.deliver(({ to }) => to !== 0 && to !== CLIENT);
    cell.command(CLIENT, { kind: 'reached', member: 0 });
    expect(cell.flights).toEqual([]);
    cell.command(CLIENT, { kind: 'reached', member: 1 });
    expect(cell.flights.map(({ to, message }) => [to, message.kind])).toEqual([
      [1, 'lease'],
      [1, 'withdraw'],
    ]);
    cell.deliver();
    expect(cell.last(CLIENT, 'granted')).toMatchObject({ claim: 1 });
  });
});
