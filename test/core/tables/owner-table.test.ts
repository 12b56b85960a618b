/** Owners: an index each while somebody counts on it, and the same index for another afterwards. */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { type Incarnation, incarnation } from '../../../src/kernel/index.ts';
import { OwnerTable } from '../../../src/core/tables/index.ts';

type Model = Map<Incarnation, { index: number; references: number }>;

/** Does to table and model the same; answers with what the table said and what it should have. */
function play(table: OwnerTable, model: Model, retain: boolean, owner: Incarnation): { said: unknown; meant: unknown } {
  const known = model.get(owner);
  if (retain) {
    const before = table.find(owner);
    const index = table.indexOf(owner);
    table.retain(index);
    model.set(owner, { index, references: (known?.references ?? 0) + 1 });
    return { said: [before, index], meant: [known?.index ?? -1, known?.index ?? index] };
  }
  if (!known) return { said: table.find(owner), meant: -1 };
  known.references--;
  if (known.references === 0) model.delete(owner);
  return { said: table.release(known.index), meant: known.references === 0 };
}

describe('a table of owners', () => {
  it('counts like a Map', () => {
    const step = fc.record({ retain: fc.boolean(), owner: fc.nat(5).map((n) => incarnation(Number.MAX_SAFE_INTEGER - n)) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100, size: 'max' }), (steps) => {
        const table = new OwnerTable();
        const model: Model = new Map();
        for (const { retain, owner } of steps) {
          const { said, meant } = play(table, model, retain, owner);
          expect(said).toEqual(meant);
          expect(table.count).toBe(model.size);
          expect(new Set([...model.values()].map(({ index }) => index)).size).toBe(model.size);
          for (const [other, { index }] of model) expect(table.incarnationOf(index)).toBe(other);
        }
      }),
    );
  });

  it('uses indexes again and forgets what has ended', () => {
    const table = new OwnerTable();
    for (let n = 1; n <= 1000; n++) {
      const index = table.indexOf(incarnation(n));
      expect(index).toBe(0);
      table.retain(index);
      table.release(index);
    }
    expect(table.bytes).toBe(0);
  });
});
