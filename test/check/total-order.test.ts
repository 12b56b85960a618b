/** Atomic broadcast: one sequence for all, each message once, only what was broadcast. */
import { describe, expect, it } from 'vitest';
import { TotalOrderReferee } from '../../src/check/index.ts';
import { judge, start, verdicts } from './records.ts';

const a = start(1);
const b = start(2);
const again = start(1, 2);
const sent = a.broadcast('m1', 'm2', 'm3');

describe('the total-order referee', () => {
  it('accepts prefixes of one sequence, whoever is ahead', () => {
    const records = [...sent, ...a.delivered('m2'), ...b.delivered('m2', 'm1'), ...a.delivered('m1', 'm3')];
    expect(verdicts(new TotalOrderReferee(), records)).toEqual([]);
  });

  it('rejects two orders of common messages', () => {
    const [violation, ...more] = judge(new TotalOrderReferee(), [...sent, ...a.delivered('m1', 'm2'), ...b.delivered('m2', 'm1')]);
    expect(violation).toEqual({
      property: 'total-order',
      at: 60,
      message: 'node 2#1 delivered "m2" at 60µs, which is at place 1, where the others have "m1" (place 0)',
    });
    expect(more).toEqual([]);
  });

  it('rejects a gap, at the beginning and later', () => {
    expect(verdicts(new TotalOrderReferee(), [...sent, ...a.delivered('m1', 'm2'), ...b.delivered('m2')])).toEqual(['total-order@60']);
    expect(verdicts(new TotalOrderReferee(), [...sent, ...a.delivered('m1', 'm2', 'm3'), ...b.delivered('m1', 'm3')])).toEqual([
      'total-order@80',
    ]);
  });

  it('rejects a message new to all where the sequence has another', () => {
    expect(verdicts(new TotalOrderReferee(), [...sent, ...a.delivered('m1', 'm2'), ...b.delivered('m1', 'm3')])).toEqual([
      'total-order@70',
    ]);
  });

  it('rejects a message delivered twice by one incarnation', () => {
    expect(verdicts(new TotalOrderReferee(), [...sent, ...a.delivered('m1', 'm2', 'm1', 'm2', 'm3')])).toEqual([
      'integrity@60',
      'integrity@70',
    ]);
  });

  it('rejects a message nobody broadcast, or only later', () => {
    expect(verdicts(new TotalOrderReferee(), a.delivered('m1'))).toEqual(['integrity@10']);
    expect(verdicts(new TotalOrderReferee(), [...a.delivered('m1'), ...b.broadcast('m1'), ...a.delivered('m1')])).toEqual(['integrity@10']);
    expect(verdicts(new TotalOrderReferee(), [a.crashed(), ...again.delivered('m1')])).toEqual(['integrity@20']);
  });

  it('accepts a broadcast repeated before and after its delivery, and still one delivery only', () => {
    const records = [...sent, ...sent, ...a.delivered('m1'), ...sent, ...b.delivered('m1', 'm2'), ...a.delivered('m2', 'm1')];
    expect(verdicts(new TotalOrderReferee(), records)).toEqual(['integrity@140']);
  });

  it('lets a recovered incarnation start anywhere, if it goes on without a gap', () => {
    const before = [...sent, ...b.delivered('m1', 'm2', 'm3'), ...a.delivered('m1'), a.crashed()];
    expect(verdicts(new TotalOrderReferee(), [...before, ...again.delivered('m1', 'm2', 'm3')])).toEqual([]);
    expect(verdicts(new TotalOrderReferee(), [...before, ...again.delivered('m3')])).toEqual([]);
    expect(verdicts(new TotalOrderReferee(), [...before, ...again.delivered('m1', 'm3')])).toEqual(['total-order@100']);
    expect(verdicts(new TotalOrderReferee(), [...before, ...again.delivered('m2', 'm1')])).toEqual(['total-order@100']);
    expect(verdicts(new TotalOrderReferee(), [...before, ...again.delivered('m2', 'm2')])).toEqual(['integrity@100']);
  });

  it('lets a recovered incarnation go on with what nobody has delivered yet, and holds the others to it', () => {
    const before = [...sent, ...b.delivered('m1'), a.crashed(), ...again.delivered('m3')];
    expect(verdicts(new TotalOrderReferee(), [...before, ...b.delivered('m3', 'm2')])).toEqual([]);
    expect(verdicts(new TotalOrderReferee(), [...before, ...b.delivered('m2')])).toEqual(['total-order@70']);
  });

  it('judges nobody else by one that strayed', () => {
    const records = [
      ...sent,
      ...a.broadcast('m4'),
      ...a.delivered('m1', 'm2'),
      ...b.delivered('m3', 'm2', 'm4', 'm1'),
      ...a.delivered('m3', 'm4'),
    ];
    expect(verdicts(new TotalOrderReferee(), records)).toEqual(['total-order@70']);
  });

  it('forgets old messages without accusing those who are behind, and judges them again when they catch up', () => {
    const names = ['1', '2', '3', '4', '5', '6', '7'];
    const before = [...a.broadcast(...names), ...a.delivered(...names)];
    expect(verdicts(new TotalOrderReferee(2), [...before, ...b.delivered(...names)])).toEqual([]);
    expect(verdicts(new TotalOrderReferee(2), [...before, ...b.delivered('1', '2', '3', '4', '5', '7')])).toEqual(['total-order@200']);
    expect(verdicts(new TotalOrderReferee(2), [...before, ...b.delivered('1', '3', '4', '5', '6')])).toEqual(['total-order@180']);
    expect(verdicts(new TotalOrderReferee(2), [...before, ...a.delivered('1')])).toEqual(['integrity@150']);
    expect(verdicts(new TotalOrderReferee(2), [...before, b.crashed(), ...start(2, 2).delivered('1', '2', '3', '4', '5', '7')])).toEqual([
      'total-order@210',
    ]);
  });

  it('is not misled by a broadcast repeated around the time its delivery is forgotten', () => {
    const names = ['1', '2', '3', '4', '5', '6', '7'];
    const repeatedBefore = [...a.broadcast(...names), ...a.delivered('1'), ...a.broadcast('1'), ...a.delivered(...names.slice(1))];
    expect(verdicts(new TotalOrderReferee(2), [...repeatedBefore, ...a.delivered('1')])).toEqual(['integrity@160']);
    const repeatedAfter = [...a.broadcast(...names), ...a.delivered(...names), ...a.broadcast('1')];
    expect(verdicts(new TotalOrderReferee(2), [...repeatedAfter, ...b.delivered(...names)])).toEqual([]);
  });
});
