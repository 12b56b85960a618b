/** Readers beside each other, and beside nobody else: what the referees make of shared holds. */
import { describe, expect, it } from 'vitest';
import {
  AnswerReferee,
  BeliefReferee,
  ExclusionReferee,
  FencingReferee,
  formatRecord,
  parseRecord,
  WallClockReferee,
} from '../../src/check/index.ts';
import { start, verdicts, type Untimed } from './records.ts';

const a = start(1, 1);
const b = start(2, 2);
const c = start(3, 3);

function shared(record: Untimed): Untimed {
  return { ...record, mode: 'shared' } as Untimed;
}

describe('exclusion, with readers', () => {
  const two = [shared(a.granted('r', 1)), shared(b.granted('r', 2))];

  it('accepts readers beside each other, and their renewals and uses', () => {
    expect(verdicts(new ExclusionReferee(), [...two, shared(a.renewed('r', 1)), shared(b.used('r', 2))])).toEqual([]);
  });

  it('accepts a reader that was revived beside readers: that is for the referee of deadlines', () => {
    expect(verdicts(new ExclusionReferee(), [...two, a.ended('r', 1), shared(a.used('r', 1))])).toEqual([]);
  });

  it('rejects a writer beside any of several readers', () => {
    expect(verdicts(new ExclusionReferee(), [...two, c.granted('r', 3)])).toEqual(['exclusion@30']);
    expect(verdicts(new ExclusionReferee(), [...two, b.ended('r', 2), c.granted('r', 3)])).toEqual(['exclusion@40']);
    expect(verdicts(new ExclusionReferee(), [...two, b.ended('r', 2), a.crashed(), c.granted('r', 3)])).toEqual([]);
  });

  it('rejects a reader beside a writer, also behind another reader', () => {
    expect(verdicts(new ExclusionReferee(), [a.granted('r', 1), shared(b.granted('r', 2))])).toEqual(['exclusion@20']);
    const both = [a.granted('r', 1), shared(b.granted('r', 2)), shared(c.granted('r', 3))];
    expect(verdicts(new ExclusionReferee(), both)).toEqual(['exclusion@20', 'exclusion@30']);
  });

  it('rejects a reader that was revived beside a writer', () => {
    const records = [shared(a.granted('r', 1)), a.ended('r', 1, 'deadline'), b.granted('r', 2), shared(a.renewed('r', 1))];
    expect(verdicts(new ExclusionReferee(), records)).toEqual(['exclusion@40']);
  });

  it('remembers the modes', () => {
    const before = new ExclusionReferee();
    for (const [i, record] of two.entries()) before.observe({ at: i, ...record });
    const after = new ExclusionReferee();
    after.restore(before.snapshot({ now: 9, node: (node) => node, incarnation: (one) => one }));
    expect(after.observe({ at: 10, ...shared(c.granted('r', 3)) })).toBeNull();
    expect(after.observe({ at: 11, ...c.granted('r', 4) })).toMatchObject({ property: 'exclusion' });
  });
});

describe('fencing, with readers', () => {
  it('accepts tokens of readers in any order above the writers before them', () => {
    const records = [
      a.granted('r', 4),
      a.ended('r', 4),
      shared(a.granted('r', 6)),
      shared(b.granted('r', 5)),
      shared(c.granted('r', 6)),
      shared(c.used('r', 6)),
      shared(b.used('r', 5)),
      shared(a.used('r', 6)),
    ];
    expect(verdicts(new FencingReferee(), records)).toEqual([]);
  });

  it('rejects a reader that is not above the last writer, and a writer that is not above all readers', () => {
    expect(verdicts(new FencingReferee(), [a.granted('r', 5), a.ended('r', 5), shared(b.granted('r', 5))])).toEqual(['fencing@30']);
    const read = [shared(a.granted('r', 7)), shared(b.granted('r', 6)), a.ended('r', 7), b.ended('r', 6)];
    expect(verdicts(new FencingReferee(), [...read, c.granted('r', 7)])).toEqual(['fencing@50']);
    expect(verdicts(new FencingReferee(), [...read, c.granted('r', 8), c.ended('r', 8), shared(a.granted('r', 8))])).toEqual([
      'fencing@70',
    ]);
  });

  it('rejects the token of another reader', () => {
    const records = [shared(a.granted('r', 5)), shared(b.granted('r', 6)), shared(b.used('r', 5))];
    expect(verdicts(new FencingReferee(), records)).toEqual(['fencing@30']);
  });
});

describe('answers, with readers', () => {
  const read = [shared(a.granted('r', 5)), shared(b.granted('r', 6)), c.asks(1, 'r')];

  it('accepts any of the readers', () => {
    expect(verdicts(new AnswerReferee(), [...read, c.answered(1, 'r', [1, 5])])).toEqual([]);
    expect(verdicts(new AnswerReferee(), [...read, c.answered(1, 'r', [2, 6])])).toEqual([]);
  });

  it('rejects nobody beside readers, and a writer beside them', () => {
    expect(verdicts(new AnswerReferee(), [...read, c.answered(1, 'r')])).toEqual(['certain-answers@40']);
    const written = [a.granted('r', 4), a.ended('r', 4), ...read];
    expect(verdicts(new AnswerReferee(), [...written, c.answered(1, 'r', [1, 4])])).toEqual(['certain-answers@60']);
  });
});

describe('belief, with readers', () => {
  it('accepts belief in a reader beside others, and rejects it after the next writer', () => {
    const read = [shared(a.granted('r', 5)), shared(b.granted('r', 6))];
    expect(verdicts(new BeliefReferee(true), [...read, c.believed('r', 5)])).toEqual([]);
    expect(verdicts(new BeliefReferee(true), [...read, c.granted('r', 7), a.believed('r', 5)])).toEqual(['belief@40']);
  });
});

describe('wall clocks, with readers', () => {
  it('accepts readers with one token beside each other, and tells a writer beside them', () => {
    const read = [shared(a.granted('r', 5)), shared(b.granted('r', 5))];
    expect(verdicts(new WallClockReferee(1), read)).toEqual([]);
    expect(verdicts(new WallClockReferee(1), [...read, c.granted('r', 6)])).toEqual(['exclusion@30']);
    expect(verdicts(new WallClockReferee(1), [c.granted('r', 4), ...read])).toEqual(['exclusion@20', 'exclusion@30']);
    expect(verdicts(new WallClockReferee(1), [...read, a.ended('r', 5), b.ended('r', 5), c.granted('r', 6)])).toEqual([]);
  });

  it('tells a token that a reader and a writer have', () => {
    expect(verdicts(new WallClockReferee(1), [shared(a.granted('r', 5)), a.ended('r', 5), b.granted('r', 5)])).toEqual(['fencing@30']);
  });
});

it('a mode is read back as it was written, and exclusive is no word', () => {
  const record = { at: 5, ...shared(a.granted('r', 1)) };
  expect(parseRecord(formatRecord(record), 2)).toEqual(record);
  expect(() => parseRecord(formatRecord(record).replace('shared', 'upside-down'), 2)).toThrow(/mode/);
});
