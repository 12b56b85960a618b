/** Certain answers: what is told for certain was so at some instant between question and answer. */
import { describe, expect, it } from 'vitest';
import { AnswerReferee, formatRecord, parseRecord } from '../../src/check/index.ts';
import { start, verdicts, type Untimed } from './records.ts';

// An incarnation is one start in the whole history, as in the simulator.
const a = start(1, 1);
const b = start(2, 2);
const asker = start(3, 3);

function judged(records: readonly Untimed[], requestsKnown = true): string[] {
  return verdicts(new AnswerReferee(requestsKnown), records);
}

describe('the referee of answers', () => {
  it('accepts the holder of any instant of the question, and nobody where there is a gap', () => {
    const held = [a.requested('r', 1), a.granted('r', 1), asker.asks(1, 'r')];
    expect(judged([...held, asker.answered(1, 'r', [1, 1])])).toEqual([]);
    const handedOver = [...held, a.ended('r', 1), b.requested('r', 2), b.granted('r', 2)];
    expect(judged([...handedOver, asker.answered(1, 'r')])).toEqual([]);
    expect(judged([...handedOver, asker.answered(1, 'r', [1, 1])])).toEqual([]);
    expect(judged([...handedOver, asker.answered(1, 'r', [2, 2])])).toEqual([]);
  });

  it('rejects nobody while one holds from the question to the answer, and no sooner', () => {
    const held = [a.granted('r', 1), asker.asks(1, 'r')];
    expect(judged([...held, asker.answered(1, 'r')])).toEqual(['certain-answers@30']);
    expect(judged([...held, a.ended('r', 1), asker.answered(1, 'r')])).toEqual([]);
    expect(judged([asker.asks(1, 'r'), a.granted('r', 1), asker.answered(1, 'r')])).toEqual([]);
    expect(judged([...held, a.crashed(), asker.answered(1, 'r')])).toEqual([]);
  });

  it('rejects another token of the one who holds it, and another process', () => {
    const held = [a.requested('r', 1), b.requested('r', 1), a.granted('r', 5), asker.asks(1, 'r')];
    expect(judged([...held, asker.answered(1, 'r', [1, 4])])).toEqual(['certain-answers@50']);
    expect(judged([...held, asker.answered(1, 'r', [2, 5])])).toEqual(['certain-answers@50']);
    expect(judged([...held, asker.answered(1, 'r', [2, 4], 'no')])).toEqual([]);
  });

  it('accepts one whose grant has not come yet, if it has asked; of liars it cannot know', () => {
    const records = [asker.asks(1, 'r'), asker.answered(1, 'r', [1, 5])];
    expect(judged([a.requested('r', 1), ...records])).toEqual([]);
    expect(judged([a.requested('s', 1), ...records])).toEqual(['certain-answers@30']);
    expect(judged(records, false)).toEqual([]);
  });

  it('rejects one that was granted to another before the question, also if nobody holds it now', () => {
    const passed = [a.granted('r', 1), a.ended('r', 1), b.granted('r', 2), b.ended('r', 2)];
    expect(judged([...passed, asker.asks(1, 'r'), asker.answered(1, 'r', [1, 1])])).toEqual(['certain-answers@60']);
    expect(judged([...passed, asker.asks(1, 'r'), asker.answered(1, 'r', [2, 2])])).toEqual([]);
  });

  it('accepts one that was granted again, with the token it had before another', () => {
    const again = [a.granted('r', 1), a.ended('r', 1), b.granted('r', 2), b.ended('r', 2), a.granted('r', 1)];
    expect(judged([...again, a.asks(1, 'r'), a.answered(1, 'r', [1, 1])])).toEqual([]);
    expect(judged([...again, a.ended('r', 1), b.granted('r', 3), asker.asks(1, 'r'), asker.answered(1, 'r', [1, 1])])).toEqual([
      'certain-answers@90',
    ]);
  });

  it('rejects a list that lacks what was held throughout, of names with its prefix', () => {
    const held = [a.granted('r/1', 1), b.granted('s', 2), asker.lists(1, 'r/')];
    expect(judged([...held, asker.listed(1)])).toEqual(['certain-answers@40']);
    expect(judged([...held, asker.listed(1, 'no')])).toEqual([]);
    expect(judged([...held, asker.answered(1, 'r/1', [1, 1], 'no'), asker.listed(1)])).toEqual([]);
    expect(judged([...held, a.ended('r/1', 1), asker.listed(1)])).toEqual([]);
    expect(judged([asker.lists(1, ''), a.granted('r/1', 1), asker.listed(1)])).toEqual([]);
    expect(judged([...held, asker.answered(1, 'r/1', [2, 9]), asker.listed(1)], false)).toEqual(['certain-answers@40']);
  });

  it('forgets questions of those who crashed, and says nothing of what it never heard asked', () => {
    const held = [a.granted('r', 1), asker.asks(1, 'r'), asker.lists(2)];
    expect(judged([...held, asker.crashed(), asker.answered(1, 'r'), asker.listed(2)])).toEqual([]);
    expect(judged([a.granted('r', 1), asker.answered(7, 'r')])).toEqual([]);
  });

  it('reads back what was written', () => {
    for (const record of [
      asker.asks(1, 'r'),
      asker.lists(2),
      asker.answered(1, 'r', [1, 5]),
      asker.answered(1, 'r'),
      asker.listed(2, 'no'),
    ]) {
      const timed = { at: 5, ...record };
      expect(parseRecord(formatRecord(timed), 1)).toEqual(timed);
    }
  });
});
