/** Ballots are totally ordered (rule 9), and a ballot clock only ever moves up. */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { BallotClock, ballotTime, compareBallots, incarnation, NO_BALLOT, WALL_US_BELIEVED_MAX } from '../../src/kernel/index.ts';

// Few values, so that equal times and equal owners are common; and the largest, where a difference could lose precision.
const value = fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: Number.MAX_SAFE_INTEGER - 2, max: Number.MAX_SAFE_INTEGER }));
const ballot = fc.record({ time: value, owner: value });
type Ballot = { time: number; owner: number };

function compare(a: Ballot, b: Ballot): number {
  return compareBallots(ballotTime(a.time), incarnation(a.owner), ballotTime(b.time), incarnation(b.owner));
}

describe('the order of ballots', () => {
  it('is antisymmetric', () => {
    fc.assert(
      fc.property(ballot, ballot, (a, b) => {
        expect(Math.sign(compare(a, b)) + Math.sign(compare(b, a))).toBe(0);
      }),
    );
  });

  it('is transitive', () => {
    fc.assert(
      fc.property(ballot, ballot, ballot, (a, b, c) => {
        fc.pre(compare(a, b) <= 0 && compare(b, c) <= 0);
        expect(compare(a, c)).toBeLessThanOrEqual(0);
      }),
    );
  });

  it('calls two ballots the same only if time and owner are', () => {
    fc.assert(
      fc.property(ballot, ballot, (a, b) => {
        expect(compare(a, b) === 0).toBe(a.time === b.time && a.owner === b.owner);
      }),
    );
  });

  it('goes by time first, then by incarnation', () => {
    expect(compare({ time: 1, owner: 9 }, { time: 2, owner: 1 })).toBeLessThan(0);
    expect(compare({ time: 2, owner: 9 }, { time: 2, owner: 1 })).toBeGreaterThan(0);
  });

  it('puts "no ballot" below every real one', () => {
    fc.assert(
      fc.property(ballot, (a) => {
        expect(compare({ time: NO_BALLOT, owner: Number.MAX_SAFE_INTEGER }, a)).toBeLessThan(0);
      }),
    );
  });
});

describe('a ballot clock', () => {
  it('rises strictly, is never behind the wall clock, and is above all it observed, however the wall clock jumps', () => {
    const seen = fc.array(fc.integer({ min: 0, max: 1000 }), { maxLength: 3 });
    const attempt = fc.record({ seen, wallUs: fc.double({ min: 0, max: 1000, noNaN: true }) });
    fc.assert(
      fc.property(fc.array(attempt, { maxLength: 30 }), (attempts) => {
        const clock = new BallotClock();
        let highest = 0;
        for (const { seen: observed, wallUs } of attempts) {
          for (const time of observed) clock.observe(ballotTime(time));
          highest = Math.max(highest, ...observed);
          expect(clock.last).toBe(highest);
          const next = clock.next(wallUs);
          expect(next).toBeGreaterThan(highest);
          expect(next).toBeGreaterThanOrEqual(Math.floor(wallUs));
          expect(Number.isSafeInteger(next)).toBe(true);
          expect(clock.last).toBe(next);
          highest = next;
        }
      }),
    );
  });

  it('follows the wall clock when nothing is ahead of it', () => {
    expect(new BallotClock().next(1_700_000_000_000_000.5)).toBe(1_700_000_000_000_000);
  });

  it('goes on from the ballot it was started with', () => {
    expect(new BallotClock(ballotTime(50)).next(10)).toBe(51);
  });

  it('stops rather than hand out one ballot twice at the end of the safe integers', () => {
    const clock = new BallotClock(ballotTime(Number.MAX_SAFE_INTEGER - 1));
    expect(clock.next(0)).toBe(Number.MAX_SAFE_INTEGER);
    expect(() => clock.next(0)).toThrow('ballot times have run out');
    expect(clock.last).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('is not spoiled by a wall clock that says NaN', () => {
    const clock = new BallotClock(ballotTime(7));
    expect(() => clock.next(NaN)).toThrow('ballot times have run out');
    expect(clock.next(0)).toBe(8);
  });

  it.each([Infinity, WALL_US_BELIEVED_MAX + 1])(
    'believes a wall clock that says %d no further than about 2200, and goes on from there in single steps',
    (wallUs) => {
      const clock = new BallotClock();
      expect(clock.next(wallUs)).toBe(WALL_US_BELIEVED_MAX);
      expect(clock.next(wallUs)).toBe(WALL_US_BELIEVED_MAX + 1);
    },
  );
});
