/** What of a snapshot may name nodes: all that a renaming copies. */
import { describe, expect, test } from 'vitest';
import { Renamings } from '../../src/sim/explorer/renamings.ts';

const rows = [['x', 1]];
const before = { clock: 7, acceptor: { rows, floors: [0] }, proposer: [3], none: null };
const renamed = { ...before, acceptor: { ...before.acceptor, rows: [['x', 2]] }, proposer: [4] };

describe('the parts of a snapshot', () => {
  test('are those that a renaming copies, and the others with where they are', () => {
    const renamings = new Renamings(before, renamed);
    expect(renamings.copied(renamed)).toEqual([[['x', 2]], [4]]);
    expect(renamings.kept).toEqual([
      [
        ['acceptor', 'rows'],
        ['proposer', null],
      ],
      [
        ['acceptor', 'floors'],
        ['clock', null],
        ['none', null],
      ],
      [[0], 7, null],
    ]);
  });

  test('are the same for every renaming, or it is an error', () => {
    const renamings = new Renamings(before, renamed);
    expect(() => renamings.copied({ ...renamed, clock: 8 })).toThrow('a renaming copies what another one keeps');
  });
});
