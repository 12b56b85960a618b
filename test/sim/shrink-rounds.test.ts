/** Failing seeds of Flease, PaxosLease and the register under them become scripts, whatever the world and the property. */
import { describe, expect, it } from 'vitest';
import type { Shrunk } from '../../src/sim/index.ts';
import { failingSeed, replay, shrinkerOf, soon } from '../support/shrinking.ts';

const KEPT = { failures: [], changes: [] };

function shrink(protocol: string, mutant: string, property: string, tries: number): Shrunk {
  return shrinkerOf(protocol).shrink(failingSeed(protocol, mutant, property), mutant, soon(tries)) as Shrunk;
}

describe('a failing seed', { timeout: 120_000 }, () => {
  it.each([
    ['read-copy-refused', 'R1'],
    ['write-copy-refused', 'R2'],
    ['nack-is-vote', 'R3'],
    ['read-below', 'R4'],
    ['any-answer', 'R5'],
  ])('of the round-based register without %s becomes a script that breaks %s, and leaves the product whole', (mutant, property) => {
    const shrunk = shrink('rounds-register', mutant, property, 1500);
    expect(shrunk.script?.violation.property).toBe(property);
    expect(replay('rounds-register', mutant, shrunk)).toEqual(KEPT);
  });

  it('of the round-based register has small ballots and values in its script', () => {
    const { script } = shrink('rounds-register', 'any-answer', 'R5', 3000);
    const numbers = script?.lines.flatMap((line) => (/^(?:read|write) \S+ (\d+)$/.exec(line) ?? []).slice(1)) ?? [];
    expect(numbers.length).toBeGreaterThan(2);
    expect(Math.max(...numbers.map(Number))).toBeLessThanOrEqual(numbers.length);
  });
});
