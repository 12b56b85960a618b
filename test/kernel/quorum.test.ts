/** Majorities are counted by distinct voter (rule 5). */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { quorumOf, VoterSet } from '../../src/kernel/index.ts';

describe('a quorum', () => {
  it('is more than half', () => {
    expect([1, 2, 3, 4, 5, 6, 7].map(quorumOf)).toEqual([1, 2, 2, 3, 3, 4, 4]);
  });

  it('always shares a voter with every other quorum', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e6 }), (voters) => {
        expect(2 * quorumOf(voters)).toBeGreaterThan(voters);
      }),
    );
  });

  it('survives the loss of every minority', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e6 }), (voters) => {
        const minority = Math.ceil(voters / 2) - 1;
        expect(voters - minority).toBeGreaterThanOrEqual(quorumOf(voters));
      }),
    );
  });

  it('of nobody cannot be reached', () => {
    expect(quorumOf(0)).toBeGreaterThan(0);
  });
});

describe('a set of voters', () => {
  it('does not take a duplicated answer for a second vote', () => {
    const votes = new VoterSet();
    expect(votes.add(1)).toBe(true);
    expect(votes.add(1)).toBe(false);
    expect(votes.size).toBe(1);
  });

  it('is a set, below and above 32 voters', () => {
    // Around 31, 32 and 64, where a shift wraps around.
    const voter = fc.oneof(fc.integer({ min: 0, max: 100 }), fc.constantFrom(0, 31, 32, 33, 63, 64, 1e9));
    fc.assert(
      fc.property(fc.array(voter, { maxLength: 80 }), (voters) => {
        const votes = new VoterSet();
        const model = new Set<number>();
        for (const each of voters) {
          expect(votes.has(each)).toBe(model.has(each));
          expect(votes.add(each)).toBe(!model.has(each));
          model.add(each);
          expect(votes.has(each)).toBe(true);
          expect(votes.size).toBe(model.size);
        }
        expect(votes.toArray()).toEqual([...model].sort((a, b) => a - b));
      }),
    );
  });

  it('forgets everybody when cleared', () => {
    const votes = new VoterSet();
    for (const voter of [0, 31, 32, 99]) votes.add(voter);
    votes.clear();
    expect(votes.size).toBe(0);
    expect(votes.toArray()).toEqual([]);
    expect([0, 31, 32, 99].some((voter) => votes.has(voter))).toBe(false);
    expect(votes.add(32)).toBe(true);
  });

  it.each([-1, 0.5, NaN])('refuses %d, which would vote under another number', (voter) => {
    const votes = new VoterSet();
    votes.add(31);
    expect(() => votes.add(voter)).toThrow('number of the view');
    expect(votes.has(voter)).toBe(false);
    expect(votes.size).toBe(1);
  });
});
