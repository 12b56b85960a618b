/** Deadline: nobody acts past its deadline or after its hold ended. */
import { describe, expect, it } from 'vitest';
import { DeadlineReferee } from '../../src/check/index.ts';
import { judge, start, verdicts } from './records.ts';

const a = start(1);
const b = start(2);

describe('the deadline referee', () => {
  it('accepts acts with one microsecond left', () => {
    expect(verdicts(new DeadlineReferee(), [a.granted('r', 1, 1), a.renewed('r', 1, 1), a.used('r', 1, 1), a.ended('r', 1)])).toEqual([]);
  });

  it.each([0, -1, Number.NaN])('rejects a lease handed over, renewed or used with %d us left', (remainingUs) => {
    const records = [a.granted('r', 1, remainingUs), a.renewed('r', 1, remainingUs), a.used('r', 1, remainingUs)];
    expect(verdicts(new DeadlineReferee(), records)).toEqual(['deadline@10', 'deadline@20', 'deadline@30']);
  });

  it.each(['released', 'lost', 'deadline', 'crashed'] as const)('rejects renewing and using a hold that ended as %s', (reason) => {
    const records = [a.granted('r', 1), a.ended('r', 1, reason), a.renewed('r', 1), a.used('r', 1)];
    expect(verdicts(new DeadlineReferee(), records)).toEqual(['deadline@30', 'deadline@40']);
  });

  it('rejects acts of a crashed incarnation, not those of others', () => {
    const records = [a.granted('r', 1), b.granted('s', 1), a.crashed(), b.used('s', 1), a.used('r', 1)];
    expect(verdicts(new DeadlineReferee(), records)).toEqual(['deadline@50']);
  });

  it('rejects acting under a lease that was never granted, or granted to another', () => {
    expect(verdicts(new DeadlineReferee(), [a.used('r', 1)])).toEqual(['deadline@10']);
    expect(verdicts(new DeadlineReferee(), [a.granted('r', 1), b.used('r', 1)])).toEqual(['deadline@20']);
    expect(verdicts(new DeadlineReferee(), [a.granted('r', 1), start(1, 2).used('r', 1)])).toEqual(['deadline@20']);
  });

  it('keeps an older hold open when a newer one of the same holder ends', () => {
    const records = [a.granted('r', 1), a.granted('r', 2), a.ended('r', 1), a.used('r', 2), a.ended('r', 2), a.used('r', 2)];
    expect(verdicts(new DeadlineReferee(), records)).toEqual(['deadline@60']);
  });

  it('says who did what with how much time left', () => {
    const [violation] = judge(new DeadlineReferee(), [a.granted('r', 7), a.used('r', 7, -3)]);
    expect(violation?.message).toBe('node 1#1 used "r" (token 7) at 20µs with -3µs left');
  });
});
