/** Belief: a learner does not believe in a lease after the next one was granted. */
import { describe, expect, it } from 'vitest';
import { BeliefReferee, formatRecord, parseRecord } from '../../src/check/index.ts';
import { start, verdicts } from './records.ts';

const a = start(1);
const b = start(2);
const learner = start(3);

describe('the belief referee', () => {
  it('accepts belief in the newest lease, and in one whose holder has crashed', () => {
    const records = [
      a.granted('r', 1),
      learner.believed('r', 1),
      a.crashed(),
      learner.believed('r', 1),
      b.granted('r', 2),
      learner.believed('r', 2),
    ];
    expect(verdicts(new BeliefReferee(true), records)).toEqual([]);
  });

  it('rejects belief in a lease that ran out, once the next is granted', () => {
    const records = [a.granted('r', 1), a.ended('r', 1, 'deadline'), b.granted('r', 2), learner.believed('r', 1)];
    expect(verdicts(new BeliefReferee(false), records)).toEqual(['belief@40']);
  });

  it('rejects belief in a lease that was given back only where every message is heard', () => {
    const records = [a.granted('r', 1), a.ended('r', 1), b.granted('r', 2), learner.believed('r', 1)];
    expect(verdicts(new BeliefReferee(true), records)).toEqual(['belief@40']);
    expect(verdicts(new BeliefReferee(false), records)).toEqual([]);
  });

  it('keeps resources apart, and says nothing of a lease it never saw', () => {
    const records = [a.granted('r', 1), b.granted('s', 2), learner.believed('r', 1), learner.believed('r', 7)];
    expect(verdicts(new BeliefReferee(true), records)).toEqual([]);
  });

  it('reads back what was written', () => {
    const record = { at: 5, ...learner.believed('r', 1) };
    expect(parseRecord(formatRecord(record), 2)).toEqual(record);
  });
});
