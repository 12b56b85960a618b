/** The set that knows its lowest member, against a Set. */
import { expect, it } from 'vitest';
import * as fc from 'fast-check';
import { LowestSet } from '../../../src/core/tables/lowest-set.ts';

it('a lowest-set does what a Set does', () => {
  const member = fc.oneof(fc.nat(40), fc.nat(5000), fc.nat(3_000_000));
  fc.assert(
    fc.property(fc.array(fc.record({ add: fc.boolean(), member }), { maxLength: 60, size: 'max' }), (steps) => {
      const set = new LowestSet();
      const model = new Set<number>();
      for (const { add, member: one } of steps) {
        if (add) {
          set.add(one);
          model.add(one);
        } else {
          set.delete(one);
          model.delete(one);
        }
        expect(set.lowest).toBe(model.size === 0 ? -1 : Math.min(...model));
      }
      while (model.size > 0) {
        const { lowest } = set;
        expect(model.delete(lowest)).toBe(true);
        set.delete(lowest);
      }
      expect(set.lowest).toBe(-1);
      set.clear();
      expect(set.bytes).toBe(0);
    }),
    { numRuns: 60 },
  );
});
