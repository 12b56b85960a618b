/** Consensus: agreement, validity and integrity, each broken once. */
import { describe, expect, it } from 'vitest';
import { AgreementReferee } from '../../src/check/index.ts';
import { judge, start, verdicts } from './records.ts';

const a = start(1);
const b = start(2);
const again = start(1, 2);

describe('the agreement referee', () => {
  it('accepts one proposed value decided by all, in each instance its own', () => {
    const records = [
      a.proposed(1, 'v'),
      b.proposed(1, 'w'),
      a.decided(1, 'w'),
      b.decided(1, 'w'),
      a.proposed(2, 'v'),
      a.decided(2, 'v'),
      b.decided(2, 'v'),
    ];
    expect(verdicts(new AgreementReferee(), records)).toEqual([]);
  });

  it('rejects two nodes that decide differently, naming both', () => {
    const [violation] = judge(new AgreementReferee(), [a.proposed(1, 'v'), b.proposed(1, 'w'), a.decided(1, 'v'), b.decided(1, 'w')]);
    expect(violation).toEqual({
      property: 'agreement',
      at: 40,
      message: 'node 2#1 decided "w" in instance 1 at 40µs, but node 1#1 decided "v" at 30µs',
    });
  });

  it('rejects a value nobody proposed in that instance, or only after the decision', () => {
    expect(verdicts(new AgreementReferee(), [a.proposed(1, 'v'), a.decided(1, 'w'), b.decided(1, 'w')])).toEqual(['validity@20']);
    expect(verdicts(new AgreementReferee(), [a.proposed(1, 'v'), a.decided(2, 'v')])).toEqual(['validity@20']);
    expect(verdicts(new AgreementReferee(), [a.decided(1, 'v'), a.proposed(1, 'v')])).toEqual(['validity@10']);
  });

  it('rejects an incarnation that decides twice, the same or not', () => {
    expect(verdicts(new AgreementReferee(), [a.proposed(1, 'v'), a.decided(1, 'v'), a.decided(1, 'v')])).toEqual(['integrity@30']);
    expect(verdicts(new AgreementReferee(), [a.proposed(1, 'v'), a.proposed(1, 'w'), a.decided(1, 'v'), a.decided(1, 'w')])).toEqual([
      'integrity@40',
    ]);
  });

  it('lets a recovered incarnation decide again, but only the same', () => {
    const before = [a.proposed(1, 'v'), b.proposed(1, 'w'), a.decided(1, 'v'), a.crashed()];
    expect(verdicts(new AgreementReferee(), [...before, again.decided(1, 'v')])).toEqual([]);
    expect(verdicts(new AgreementReferee(), [...before, again.decided(1, 'w')])).toEqual(['agreement@50']);
  });

  it('forgets old instances without accusing those who decide them late', () => {
    const rounds = [0, 1, 2, 3, 4, 5, 6].flatMap((instance) => [a.proposed(instance, 'v'), a.decided(instance, 'v')]);
    expect(verdicts(new AgreementReferee(2), [...rounds, b.decided(0, 'v'), b.decided(6, 'w')])).toEqual(['agreement@160']);
    expect(verdicts(new AgreementReferee(7), [...rounds, b.decided(0, 'w')])).toEqual(['agreement@150']);
  });
});
