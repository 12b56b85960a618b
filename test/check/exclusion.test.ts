/** Exclusion: hand-written overlaps, and a comparison with plain overlap of intervals on random histories. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ExclusionReferee } from '../../src/check/index.ts';
import { judge, start, verdicts, type Untimed } from './records.ts';

const a = start(1);
const b = start(2);
const again = start(1, 2);

describe('the exclusion referee', () => {
  it('accepts holds that follow each other', () => {
    const records = [
      a.granted('r', 1),
      a.renewed('r', 1),
      a.used('r', 1),
      a.ended('r', 1),
      b.granted('r', 2),
      b.ended('r', 2, 'deadline'),
      a.granted('r', 3),
    ];
    expect(verdicts(new ExclusionReferee(), records)).toEqual([]);
  });

  it('accepts holds of different resources at one time', () => {
    expect(verdicts(new ExclusionReferee(), [a.granted('r', 1), b.granted('s', 1)])).toEqual([]);
  });

  it('rejects a grant while another holds, naming both with tokens and times', () => {
    const [violation] = judge(new ExclusionReferee(), [a.granted('r', 1), b.granted('r', 2)]);
    expect(violation).toEqual({
      property: 'exclusion',
      at: 20,
      message: 'node 2#1 was granted "r" with token 2 at 20µs, while node 1#1 holds it with token 1 since 10µs',
    });
  });

  it('rejects two grants to one incarnation: two callers in one process are two holders', () => {
    expect(verdicts(new ExclusionReferee(), [a.granted('r', 1), a.granted('r', 2)])).toEqual(['exclusion@20']);
    expect(verdicts(new ExclusionReferee(), [a.granted('r', 1), a.granted('r', 1)])).toEqual(['exclusion@20']);
  });

  it('closes one of two equal holds by one end', () => {
    const records = [a.granted('r', 1), a.granted('r', 1), a.ended('r', 1), b.granted('r', 2)];
    expect(verdicts(new ExclusionReferee(), records)).toEqual(['exclusion@20', 'exclusion@40']);
  });

  it('closes the holds of a crashed incarnation, and only those', () => {
    expect(verdicts(new ExclusionReferee(), [a.granted('r', 1), a.crashed(), b.granted('r', 2)])).toEqual([]);
    expect(verdicts(new ExclusionReferee(), [again.granted('r', 1), a.crashed(), b.granted('r', 2)])).toEqual(['exclusion@30']);
    expect(verdicts(new ExclusionReferee(), [a.granted('r', 1), b.crashed(), b.granted('r', 2)])).toEqual(['exclusion@30']);
  });

  it('does not take node 1 for node "1"', () => {
    expect(verdicts(new ExclusionReferee(), [a.granted('r', 1), start('1').crashed(), b.granted('r', 2)])).toEqual(['exclusion@30']);
  });

  it('keeps judging the others when one of three overlapping holds crashes', () => {
    const c = start(3);
    const records = [
      a.granted('r', 1),
      b.granted('r', 2),
      c.granted('r', 3),
      b.crashed(),
      c.ended('r', 3),
      b.granted('r', 4),
      a.ended('r', 1),
    ];
    expect(verdicts(new ExclusionReferee(), records)).toEqual(['exclusion@20', 'exclusion@30', 'exclusion@60']);
  });

  it('forgets a crashed hold that is older than another', () => {
    const records = [a.granted('r', 1), b.granted('r', 2), a.crashed(), b.ended('r', 2), b.granted('r', 3)];
    expect(verdicts(new ExclusionReferee(), records)).toEqual(['exclusion@20']);
  });

  it('forgets a crashed hold between two others', () => {
    const c = start(3);
    const overlap = [a.granted('r', 1), b.granted('r', 2), c.granted('r', 3)];
    const records = [...overlap, b.crashed(), c.ended('r', 3), a.ended('r', 1), b.granted('r', 4)];
    expect(verdicts(new ExclusionReferee(), records)).toEqual(['exclusion@20', 'exclusion@30']);
  });

  it("is not closed by somebody else's end, nor by the end of another token or incarnation", () => {
    expect(verdicts(new ExclusionReferee(), [a.granted('r', 1), again.ended('r', 1), b.granted('r', 2)])).toEqual(['exclusion@30']);
    expect(verdicts(new ExclusionReferee(), [a.granted('r', 1), b.ended('r', 1), b.granted('r', 2)])).toEqual(['exclusion@30']);
    expect(verdicts(new ExclusionReferee(), [a.granted('r', 2), a.ended('r', 1), b.granted('r', 3)])).toEqual(['exclusion@30']);
  });

  it('rejects a hold that is revived while another is open, by renewing or by using it', () => {
    const records = [a.granted('r', 1), a.ended('r', 1, 'deadline'), b.granted('r', 2), a.renewed('r', 1), a.used('r', 1)];
    expect(judge(new ExclusionReferee(), records).map(({ message }) => message)).toEqual([
      'node 1#1 revived and renewed "r" with token 1 at 40µs, while node 2#1 holds it with token 2 since 30µs',
      'node 1#1 revived and used "r" with token 1 at 50µs, while node 2#1 holds it with token 2 since 30µs',
    ]);
  });

  it('leaves a revived hold to the deadline referee while nobody else holds', () => {
    expect(verdicts(new ExclusionReferee(), [a.granted('r', 1), a.ended('r', 1), a.used('r', 1)])).toEqual([]);
  });

  it('finds an overlap exactly where two intervals overlap', () => {
    interface Interval {
      from: number;
      to: number;
      node: number;
    }
    // Each act: a node is granted with a fresh token, ends its oldest hold, or crashes.
    const act = fc.record({ node: fc.integer({ min: 0, max: 2 }), what: fc.constantFrom('grant', 'end', 'end', 'crash') });
    let clean = 0;
    let broken = 0;
    const property = fc.property(fc.array(act, { maxLength: 14 }), (acts) => {
      const records: Untimed[] = [];
      const intervals: Interval[] = [];
      for (const [place, { node, what }] of acts.entries()) {
        const open = intervals
          .map((interval, token) => ({ interval, token: token + 1 }))
          .filter(({ interval }) => interval.node === node && interval.to === Infinity);
        if (what === 'grant') {
          intervals.push({ from: place, to: Infinity, node });
          records.push(start(node).granted('r', intervals.length));
        } else if (what === 'crash') {
          for (const { interval } of open) interval.to = place;
          records.push(start(node).crashed());
        } else {
          const [oldest] = open;
          if (oldest !== undefined) oldest.interval.to = place;
          records.push(start(node).ended('r', oldest?.token ?? 99));
        }
      }
      const expected = intervals
        .filter((later, index) => intervals.slice(0, index).some((earlier) => earlier.to > later.from))
        .map(({ from }) => `exclusion@${(from + 1) * 10}`);
      if (expected.length === 0) clean++;
      else broken++;
      expect(verdicts(new ExclusionReferee(), records)).toEqual(expected);
    });
    fc.assert(property, { numRuns: 1000 });
    expect(Math.min(clean, broken)).toBeGreaterThan(100);
  });
});
