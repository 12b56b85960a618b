/** Swaps, erasures, lists and damage in the explorer: tiny locks whose faults it finds, and which it exhausts without them. */
import { describe, expect, test } from 'vitest';
import { exploring, usualBounds, type Exploration } from '../../src/sim/explorer/index.ts';
import { lockWorld, type LockFault } from './locks.ts';

const SLOW = 60_000;

function explore(which: 'swaps' | 'lists', fault: LockFault | null, bounds: object): Exploration {
  const world = lockWorld(which, fault);
  return exploring(world).explore({ ...usualBounds(world.bounds), ...bounds }, null, { maxStates: 500_000, isOver: () => false });
}

const linesOf = ({ found }: Exploration): string[] => found?.lines.map(({ line }) => line) ?? [];

describe('a lock by compare-and-set', () => {
  test.each([{}, { attempts: 2 }, { failures: 2, crashes: 1 }])(
    'is one, whatever becomes of its swaps, with %j',
    (bounds) => {
      const { found, exhausted, states } = explore('swaps', null, bounds);
      expect(found).toBeNull();
      expect(exhausted).toBe(true);
      expect(states).toBeGreaterThan(20);
    },
    SLOW,
  );

  test('is none if its swap is unconditional', () => {
    const exploration = explore('swaps', 'unconditional', {});
    expect(exploration.found?.violation.property).toBe('exclusion');
    expect(linesOf(exploration)).toHaveLength(6);
    expect(linesOf(exploration).filter((line) => line.includes('finding nothing'))).toHaveLength(2);
  });

  test('is none if an unknown outcome is taken for a good one, and only where accesses fail', () => {
    expect(explore('swaps', 'hopeful', { attempts: 2 })).toMatchObject({ found: null, exhausted: true });
    const exploration = explore('swaps', 'hopeful', { failures: 1 });
    expect(exploration.found?.violation.property).toBe('exclusion');
    expect(linesOf(exploration).some((line) => line.startsWith('fail '))).toBe(true);
  });

  test('is none if two holds of a node look the same: the swap that ends the first may end the second', () => {
    const exploration = explore('swaps', 'same-bytes', { attempts: 2 });
    expect(exploration.found?.violation.property).toBe('exclusion');
  });

  test.each([
    ['a record is wiped or forgotten', null, /^(?:wipe|forget) unit 0/],
    ['a record is corrupted and taken for none', 'careless', /^(?:wipe|forget|corrupt) unit 0/],
  ] as const)('is none where %s', (_what, fault, line) => {
    const exploration = explore('swaps', fault, { damages: 1 });
    expect(exploration.found?.violation.property).toBe('exclusion');
    expect(linesOf(exploration).some((one) => line.test(one))).toBe(true);
  });
});

describe('a lock by a list', () => {
  test.each([{ attempts: 2 }, { failures: 1, crashes: 1 }])(
    'is one, whatever a list names of the records that come and go, with %j',
    (bounds) => {
      expect(explore('lists', null, bounds)).toMatchObject({ found: null, exhausted: true });
    },
    SLOW,
  );

  test('is none if each looks before its own record is there', () => {
    const exploration = explore('lists', 'looks-first', {});
    expect(exploration.found?.violation.property).toBe('exclusion');
    expect(linesOf(exploration).filter((line) => line.endsWith('listing nothing'))).toHaveLength(2);
  });

  test('is none where records are damaged', () => {
    const exploration = explore('lists', null, { damages: 1 });
    expect(exploration.found?.violation.property).toBe('exclusion');
    expect(linesOf(exploration).some((line) => /^(?:wipe|forget) unit 0/.test(line))).toBe(true);
  });
});
