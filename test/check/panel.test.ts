/** Several referees over one history. */
import { describe, expect, it } from 'vitest';
import { DeadlineReferee, ExclusionReferee, FencingReferee, Panel, type Referee } from '../../src/check/index.ts';
import { start, timed } from './records.ts';

const a = start(1);
const b = start(2);

describe('a panel', () => {
  it('collects what each referee finds, in the order of the history', () => {
    const panel = new Panel([new ExclusionReferee(), new FencingReferee(), new DeadlineReferee()]);
    const clean = timed([a.granted('r', 2), b.granted('r', 1), b.used('r', 1, 0)]).map((record) => panel.observe(record));
    expect(clean).toEqual([true, false, false]);
    expect(panel.finish(40).map(({ property, at }) => `${property}@${at}`)).toEqual(['exclusion@20', 'fencing@20', 'deadline@30']);
  });

  it('keeps the first violations and counts the rest', () => {
    const panel = new Panel([new DeadlineReferee()]);
    for (const record of timed(Array.from({ length: 150 }, () => a.used('r', 1)))) panel.observe(record);
    expect(panel.violations).toHaveLength(100);
    expect(panel.violations.at(-1)?.at).toBe(1000);
    expect(panel.violationCount).toBe(150);
  });

  it('adds what can only be judged at the end', () => {
    const late: Referee = {
      property: 'late',
      handles: [],
      observe: () => null,
      finish: (at) => [{ property: 'late', at, message: 'too late' }],
      snapshot: () => null,
      restore: () => undefined,
    };
    const panel = new Panel([late, new ExclusionReferee()]);
    expect(timed([a.crashed()]).map((record) => panel.observe(record))).toEqual([true]);
    expect(panel.finish(70)).toEqual([{ property: 'late', at: 70, message: 'too late' }]);
    expect(panel.violationCount).toBe(1);
  });
});
