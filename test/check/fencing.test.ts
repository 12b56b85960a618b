/** Fencing: tokens rise for ever, and whoever acts carries its own. */
import { describe, expect, it } from 'vitest';
import { FencingReferee } from '../../src/check/index.ts';
import { judge, start, verdicts } from './records.ts';

const a = start(1);
const b = start(2);

describe('the fencing referee', () => {
  it('accepts tokens that rise, with gaps, and acts that carry them', () => {
    const records = [a.granted('r', 1), a.renewed('r', 1), a.used('r', 1), a.ended('r', 1), b.granted('r', 7), b.used('r', 7)];
    expect(verdicts(new FencingReferee(), records)).toEqual([]);
  });

  it('counts each resource for itself', () => {
    expect(verdicts(new FencingReferee(), [a.granted('r', 5), a.granted('s', 4), a.used('s', 4), a.used('r', 5)])).toEqual([]);
  });

  it('rejects a token granted twice', () => {
    const [violation] = judge(new FencingReferee(), [a.granted('r', 5), a.ended('r', 5), b.granted('r', 5)]);
    expect(violation).toEqual({
      property: 'fencing',
      at: 30,
      message: 'node 2#1 was granted token 5 a second time (resource "r", at 30µs)',
    });
  });

  it('rejects a token below an earlier one, however long ago that ended', () => {
    const records = [
      a.granted('r', 5),
      a.crashed(),
      b.granted('r', 4),
      b.ended('r', 4),
      b.granted('r', 5),
      b.ended('r', 5),
      b.granted('r', 6),
    ];
    expect(verdicts(new FencingReferee(), records)).toEqual(['fencing@30', 'fencing@50']);
  });

  it.each([0, -1, 1.5, Number.NaN, Infinity, 2 ** 53])('rejects %d as a token', (token) => {
    expect(verdicts(new FencingReferee(), [a.granted('r', token)])).toEqual(['fencing@10']);
  });

  it('accepts the largest safe integer', () => {
    expect(verdicts(new FencingReferee(), [a.granted('r', Number.MAX_SAFE_INTEGER)])).toEqual([]);
  });

  it('rejects an act with another token than the one held', () => {
    expect(verdicts(new FencingReferee(), [a.granted('r', 5), a.used('r', 4)])).toEqual(['fencing@20']);
    expect(verdicts(new FencingReferee(), [a.granted('r', 5), a.renewed('r', 6)])).toEqual(['fencing@20']);
  });

  it("rejects an act with somebody else's token", () => {
    const [violation] = judge(new FencingReferee(), [a.granted('r', 5), b.used('r', 5)]);
    expect(violation?.message).toBe('node 2#1 used token 5, which was granted to node 1#1 (resource "r", at 20µs)');
  });

  it('rejects an act with a token nobody was granted', () => {
    expect(verdicts(new FencingReferee(), [a.used('r', 1)])).toEqual(['fencing@10']);
    expect(verdicts(new FencingReferee(), [a.granted('r', 5), a.ended('r', 5), b.used('r', 6)])).toEqual(['fencing@30']);
  });

  it('rejects an act with the token of an earlier hold while a later one is open', () => {
    expect(verdicts(new FencingReferee(), [a.granted('r', 5), a.ended('r', 5), a.granted('r', 6), a.used('r', 5)])).toEqual(['fencing@40']);
  });

  it('leaves acts with the token of a hold that ended or crashed to the deadline referee, whoever acts', () => {
    expect(verdicts(new FencingReferee(), [a.granted('r', 5), a.ended('r', 5), b.used('r', 5)])).toEqual([]);
    expect(verdicts(new FencingReferee(), [a.granted('r', 5), a.crashed(), b.used('r', 5)])).toEqual([]);
  });

  it('leaves acts under an ended hold to the deadline referee', () => {
    expect(verdicts(new FencingReferee(), [a.granted('r', 5), a.ended('r', 5), b.granted('r', 6), a.used('r', 5)])).toEqual([]);
    expect(verdicts(new FencingReferee(), [a.granted('r', 5), a.crashed(), a.used('r', 5)])).toEqual([]);
  });
});
