/** What rests, what is left behind in calendars, and leases whose time comes while somebody still asks. */
import { describe, expect, it } from 'vitest';
import { encodeName } from '../../../src/kernel/index.ts';
import { Cell, RTT_US, TERM_US } from './cell.ts';

const RELATIVE = { engine: 'paxoslease', clocks: 'relative' } as const;
const ABSOLUTE = { engine: 'paxoslease' } as const;
const R = encodeName('r');

/** Delivers what is under way, a trip at a time, while clocks move on and cores are woken. */
function runSlowly(cell: Cell, us: number, oneWayUs: number): void {
  for (let passed = 0; passed < us; passed += oneWayUs) {
    const flying = cell.flying;
    cell.flying = [];
    cell.run(oneWayUs, () => false);
    for (const packet of flying) cell.hand(packet);
  }
}

describe('a short term', () => {
  it.each([RELATIVE, ABSOLUTE, { engine: 'flease' } as const])(
    'is renewed though it was time for that before it was won: %o',
    (options) => {
      const cell = new Cell({ ...options, clients: 1 });
      const owner = cell.node(3);
      const oneWayUs = RTT_US / 2;
      const termUs = 57_000;
      const lease = owner.acquire({ termUs, keep: true });
      runSlowly(cell, 4 * oneWayUs, oneWayUs);
      expect(owner.holds(lease)).toBe(true);
      expect(cell.nowUs - 1_000_000).toBeGreaterThan(termUs / 3);
      runSlowly(cell, 20 * termUs, oneWayUs);
      expect(owner.said('lost')).toEqual([]);
      expect(owner.holds(lease)).toBe(true);
    },
  );
});

describe('a learner', () => {
  it.each([RELATIVE, ABSOLUTE])('of a name that comes and goes has a calendar that does not grow: %o', (options) => {
    const cell = new Cell({ ...options, clients: 2 });
    const [owner, learner] = [cell.node(3), cell.node(4)];
    learner.command({ kind: 'watch', prefix: R });
    cell.settle();
    const plannedAfter: number[] = [];
    for (let i = 0; i < 300; i++) {
      const lease = owner.acquire();
      cell.settle();
      expect(learner.believed()).toBeGreaterThan(0);
      owner.release(lease);
      cell.run(TERM_US / 10);
      expect(learner.believed()).toBe(0);
      plannedAfter.push(learner.core.planned);
    }
    expect(Math.max(...plannedAfter)).toBeLessThan(100);
    cell.run(5 * TERM_US);
    expect(learner.core.snapshot()).toMatchObject({ learner: { beliefs: [] } });
  });
});

describe('what a member that was paused passes on', () => {
  it.each([RELATIVE, ABSOLUTE])('neither ends nor extends what is believed, and is told to nobody: %o', (options) => {
    const cell = new Cell({ ...options, clients: 2 });
    const [owner, learner] = [cell.node(3), cell.node(4)];
    learner.command({ kind: 'watch', prefix: R });
    cell.settle();
    const lease = owner.acquire({ keep: true });
    cell.run(1.2 * TERM_US, (packet) => packet.to !== 2);
    expect(learner.believed()).toBe(owner.last('granted').token);
    learner.events = [];
    cell.settle();
    expect(learner.said('learned')).toEqual([]);
    expect(learner.believed()).toBe(owner.last('granted').token);
    // The owner is gone: the belief ends with its lease, not later.
    owner.down = true;
    const left = owner.remaining(lease);
    cell.run(left - 1);
    expect(learner.believed()).toBeGreaterThan(0);
    cell.run(1);
    expect(learner.believed()).toBe(0);
  });
});

describe('an owner that proclaims all the time', () => {
  it.each([RELATIVE, { engine: 'flease' } as const])('keeps its lease, and the last word is heard: %o', (options) => {
    const cell = new Cell({ ...options, clients: 1 });
    const owner = cell.node(3);
    const oneWayUs = RTT_US / 2;
    const lease = owner.acquire({ keep: true });
    cell.settle();
    let number = 100;
    for (let passed = 0; passed < 3 * TERM_US; passed += oneWayUs) {
      if (passed < 2 * TERM_US) owner.command({ kind: 'proclaim', lease, name: R, meta: encodeName(`at ${passed}`), number: number++ });
      runSlowly(cell, oneWayUs, oneWayUs);
    }
    expect(owner.said('lost')).toEqual([]);
    expect(owner.last('proclaimed').number).toBe(number - 1);
    owner.look();
    cell.settle();
    expect(owner.last('answered').meta).toEqual(encodeName(`at ${2 * TERM_US - oneWayUs}`));
  });
});
