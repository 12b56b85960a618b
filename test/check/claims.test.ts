/** At most once, claims, mandatory: histories that break each, that nearly do, and that are fine. */
import { describe, expect, it } from 'vitest';
import { asItIs, AtMostOnceReferee, ClaimReferee, MandatoryReferee, type HistoryRecord, type Referee } from '../../src/check/index.ts';

type Told = HistoryRecord extends infer R ? (R extends HistoryRecord ? Omit<R, 'at' | 'incarnation'> : never) : never;

/** Node n is of incarnation n + 1; a millisecond passes between two records. */
function history(...told: Told[]): HistoryRecord[] {
  return told.map((one, i) => ({ at: i * 1000, incarnation: Number(one.node) + 1, ...one }));
}

/** Half way through, the referee is taken apart and put together again: it judges alike. */
function judged(make: () => Referee, records: readonly HistoryRecord[]): string[] {
  let referee = make();
  const found: string[] = [];
  for (const [i, record] of records.entries()) {
    const violation = referee.observe(record);
    if (violation) found.push(violation.message);
    if (i !== Math.floor(records.length / 2)) continue;
    const memory = referee.snapshot(asItIs(record.at));
    referee = make();
    referee.restore(JSON.parse(JSON.stringify(memory)) as ReturnType<Referee['snapshot']>, record.at);
    expect(referee.snapshot(asItIs(record.at))).toEqual(memory);
  }
  return found;
}

const claimed = (node: number, claim: number, from: number, to: number): Told => ({ kind: 'claimed', node, space: 's', claim, from, to });
const allotted = (node: number, claim: number, from: number, to: number): Told => ({ kind: 'allotted', node, space: 's', claim, from, to });
const denied = (node: number, claim: number): Told => ({ kind: 'denied', node, space: 's', claim, why: 'overlap' });
const cleared = (node: number, claim: number): Told => ({ kind: 'cleared', node, space: 's', claim });

describe('at most once', () => {
  const judge = (...told: Told[]): string[] => judged(() => new AtMostOnceReferee(), history(...told));

  it('objects to an integer that is given twice, to whomever', () => {
    expect(judge(allotted(0, 1, 1, 10), allotted(1, 1, 10, 12))).toEqual([
      'node 1#2 was given [10, 12] of "s" at 2ms, but node 0#1 was given [1, 10] at 0s'.replace('2ms', '1ms'),
    ]);
    expect(judge(allotted(0, 1, 1, 10), { kind: 'crashed', node: 0 }, allotted(0, 2, 4, 5))).toHaveLength(1);
  });

  it('is content with neighbours, and with the same integers of another space', () => {
    expect(
      judge(allotted(0, 1, 1, 10), allotted(1, 1, 11, 12), { kind: 'allotted', node: 1, space: 't', claim: 2, from: 1, to: 10 }),
    ).toEqual([]);
  });
});

describe('claims', () => {
  const judge = (...told: Told[]): string[] => judged(() => new ClaimReferee(), history(...told));

  it('objects to an answer that nobody asked for, to a second one, and to another interval', () => {
    expect(judge(allotted(0, 1, 1, 10))).toHaveLength(1);
    expect(judge(claimed(0, 1, 1, 10), allotted(0, 1, 1, 10), allotted(0, 1, 1, 10))).toHaveLength(1);
    expect(judge(claimed(0, 1, 1, 10), allotted(0, 1, 1, 9))).toHaveLength(1);
    expect(judge(claimed(0, 1, 1, 10), { kind: 'recalled', node: 0, space: 's', claim: 1 }, allotted(0, 1, 1, 10))).toHaveLength(1);
    expect(judge(claimed(0, 1, 1, 10), { kind: 'crashed', node: 0 }, allotted(0, 1, 1, 10))).toHaveLength(1);
    expect(judge(claimed(0, 1, 1, 10), claimed(0, 1, 20, 30))).toHaveLength(1);
  });

  it('is content with the interval that was asked for, and with a block of that size', () => {
    expect(judge(claimed(0, 1, 1, 10), allotted(0, 1, 1, 10))).toEqual([]);
    expect(judge({ kind: 'claimed', node: 0, space: 's', claim: 1, size: 5 }, allotted(0, 1, 100, 104))).toEqual([]);
    expect(judge({ kind: 'claimed', node: 0, space: 's', claim: 1, size: 5 }, allotted(0, 1, 100, 105))).toHaveLength(1);
  });
});

describe('mandatory', () => {
  const product = (...told: Told[]): string[] => judged(() => new MandatoryReferee('granted-or-open'), history(...told));
  const paper = (...told: Told[]): string[] => judged(() => new MandatoryReferee('ever-claimed'), history(...told));

  it('objects to a refusal without a reason: Figure 1 (f)', () => {
    const run = [claimed(0, 1, 1, 10), claimed(1, 1, 11, 20), denied(0, 1), denied(1, 1)];
    expect(product(...run)).toHaveLength(2);
    expect(paper(...run)).toHaveLength(2);
  });

  it('lets two that overlap be refused at once: Figure 1 (e)', () => {
    const run = [claimed(0, 1, 1, 10), claimed(1, 1, 5, 15), denied(0, 1), denied(1, 1)];
    expect(product(...run)).toEqual([]);
    expect(paper(...run)).toEqual([]);
  });

  it('lets one be refused for what was granted, and for what was open when it was made', () => {
    expect(product(claimed(0, 1, 1, 10), allotted(0, 1, 1, 10), cleared(0, 1), claimed(1, 1, 5, 15), denied(1, 1))).toEqual([]);
    expect(product(claimed(0, 1, 1, 10), denied(0, 1), claimed(1, 1, 5, 15), cleared(0, 1), denied(1, 1))).toHaveLength(1);
    expect(product(claimed(0, 1, 1, 10), claimed(1, 1, 5, 15), cleared(0, 1), denied(1, 1))).toEqual([]);
  });

  it('objects to a refusal for what was cleared before; as the paper has it that is a reason', () => {
    const run = [claimed(0, 1, 1, 10), claimed(2, 1, 1, 2), denied(0, 1), cleared(0, 1), cleared(2, 1), claimed(1, 1, 5, 15), denied(1, 1)];
    expect(product(...run)).toHaveLength(1);
    expect(paper(...run)).toEqual([]);
  });

  it('takes what a crashed process left, and a block that may be anywhere, for a reason', () => {
    expect(product(claimed(0, 1, 1, 10), { kind: 'crashed', node: 0 }, claimed(1, 1, 5, 15), denied(1, 1))).toEqual([]);
    expect(product({ kind: 'claimed', node: 0, space: 's', claim: 1, size: 2 }, claimed(1, 1, 5, 15), denied(1, 1))).toEqual([]);
  });

  it('judges no refusal for want of room, and none once a disk was copied', () => {
    expect(product(claimed(0, 1, 1, 10), { kind: 'denied', node: 0, space: 's', claim: 1, why: 'limit' })).toEqual([]);
    expect(product({ kind: 'rejoined', node: 2, generation: 2 }, claimed(0, 1, 1, 10), denied(0, 1))).toEqual([]);
  });
});
