/** Requests: no lease for a dead request. */
import { describe, expect, it } from 'vitest';
import { RequestReferee } from '../../src/check/index.ts';
import { judge, start, verdicts } from './records.ts';

const a = start(1);
const b = start(2);
const again = start(1, 2);

describe('the request referee', () => {
  it('accepts a grant for a live request, of several in any order', () => {
    const records = [
      a.requested('r', 1),
      a.requested('r', 2),
      b.requested('r', 1),
      a.granted('r', 5, 1, 2),
      b.granted('r', 6, 1, 1),
      a.granted('r', 7, 1, 1),
    ];
    expect(verdicts(new RequestReferee(), records)).toEqual([]);
  });

  it('accepts abandoning a request that was granted: there is nothing left to abandon', () => {
    expect(verdicts(new RequestReferee(), [a.requested('r', 1), a.granted('r', 5, 1, 1), a.abandoned('r', 1)])).toEqual([]);
  });

  it('rejects a grant nobody asked for', () => {
    expect(verdicts(new RequestReferee(), [a.granted('r', 5, 1, 1)])).toEqual(['requests@10']);
    expect(verdicts(new RequestReferee(), [b.requested('r', 1), a.granted('r', 5, 1, 1)])).toEqual(['requests@20']);
  });

  it('rejects a grant for an abandoned request', () => {
    const [violation] = judge(new RequestReferee(), [a.requested('r', 1), a.abandoned('r', 1), a.granted('r', 5, 1, 1)]);
    expect(violation?.message).toBe(
      'request 1 of node 1#1 for "r" was granted token 5 but is not live: never made, abandoned, granted before, or crashed (at 30µs)',
    );
  });

  it('rejects a second grant for one request', () => {
    expect(verdicts(new RequestReferee(), [a.requested('r', 1), a.granted('r', 5, 1, 1), a.granted('r', 6, 1, 1)])).toEqual([
      'requests@30',
    ]);
  });

  it('rejects a grant of another resource than the one asked for', () => {
    const [violation] = judge(new RequestReferee(), [a.requested('r', 1), a.granted('s', 5, 1, 1)]);
    expect(violation?.message).toBe('request 1 of node 1#1 for "s" was granted token 5 but asked for "r" (at 20µs)');
  });

  it("rejects a grant to a crashed incarnation, and to the next one for its predecessor's request", () => {
    expect(verdicts(new RequestReferee(), [a.requested('r', 1), a.crashed(), a.granted('r', 5, 1, 1)])).toEqual(['requests@30']);
    expect(verdicts(new RequestReferee(), [a.requested('r', 1), a.crashed(), again.granted('r', 5, 1, 1)])).toEqual(['requests@30']);
  });

  it('rejects a request of a crashed incarnation, and a grant for it', () => {
    expect(verdicts(new RequestReferee(), [a.crashed(), a.requested('r', 1), a.granted('r', 5, 1, 1)])).toEqual([
      'requests@20',
      'requests@30',
    ]);
  });

  it('accepts requests of the next incarnation, which may count from the start again', () => {
    expect(
      verdicts(new RequestReferee(), [a.requested('r', 1), a.crashed(), again.requested('r', 1), again.granted('r', 5, 1, 1)]),
    ).toEqual([]);
  });

  it('rejects a request number that is live already', () => {
    expect(verdicts(new RequestReferee(), [a.requested('r', 1), a.requested('s', 1)])).toEqual(['requests@20']);
  });

  it('does not let an abandoned request of another resource kill a live one', () => {
    expect(verdicts(new RequestReferee(), [a.requested('r', 1), a.abandoned('s', 1), a.granted('r', 5, 1, 1)])).toEqual([]);
  });
});
