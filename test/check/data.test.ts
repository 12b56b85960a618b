/** Data under leases: never older than what was known when the read began. */
import { describe, expect, it } from 'vitest';
import { DataReferee } from '../../src/check/index.ts';
import { start, verdicts, type Untimed } from './records.ts';

const who = (node: number): { node: number; incarnation: number } => ({ node, incarnation: 1 });
const synced = (node: number, token: number): Untimed => ({ ...who(node), kind: 'synced', resource: 'r', token });
const fetching = (node: number, query: number): Untimed => ({ ...who(node), kind: 'fetching', resource: 'r', query });
const fetched = (node: number, query: number, token?: number): Untimed => ({
  ...who(node),
  kind: 'fetched',
  resource: 'r',
  query,
  ...(token !== undefined && { token }),
});

describe('the referee of data', () => {
  it('accepts what was known when the read began, and what came since', () => {
    const known = [synced(1, 5), fetching(2, 1), synced(3, 7)];
    expect(verdicts(new DataReferee('everybody'), [...known, fetched(2, 1, 5)])).toEqual([]);
    expect(verdicts(new DataReferee('everybody'), [...known, fetched(2, 1, 7)])).toEqual([]);
    expect(verdicts(new DataReferee('everybody'), [fetching(2, 1), fetched(2, 1)])).toEqual([]);
  });

  it('rejects older data, and nothing', () => {
    expect(verdicts(new DataReferee('everybody'), [synced(1, 5), fetching(2, 1), fetched(2, 1, 4)])).toEqual(['data@30']);
    expect(verdicts(new DataReferee('everybody'), [synced(1, 5), fetching(2, 1), fetched(2, 1)])).toEqual(['data@30']);
    const read = [fetching(1, 1), fetched(1, 1, 5), fetching(2, 1), fetched(2, 1, 4)];
    expect(verdicts(new DataReferee('everybody'), read)).toEqual(['data@40']);
  });

  it('holds each process to what itself has known, where it is told so', () => {
    expect(verdicts(new DataReferee('each'), [synced(1, 5), fetching(2, 1), fetched(2, 1, 4)])).toEqual([]);
    expect(verdicts(new DataReferee('each'), [synced(1, 5), fetching(1, 1), fetched(1, 1, 4)])).toEqual(['data@30']);
    expect(verdicts(new DataReferee('each'), [synced(1, 5), start(1).crashed(), fetching(1, 1), fetched(1, 1, 4)])).toEqual([]);
  });
});
