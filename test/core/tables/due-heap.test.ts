/** The calendar of what to look at again. */
import { expect, test } from 'vitest';
import { monoUs, SeededChooser } from '../../../src/kernel/index.ts';
import { DueHeap } from '../../../src/core/tables/due-heap.ts';

test('what is due comes by its time, and at the same time by its key, in whatever order it was entered', () => {
  const chooser = new SeededChooser(7);
  for (let size = 1; size <= 40; size++) {
    const heap = new DueHeap();
    const entries = Array.from({ length: size }, () => ({ at: chooser.below(5), key: chooser.below(100) }));
    for (const { at, key } of entries) heap.push(monoUs(at), key);
    const due = entries.filter(({ at }) => at <= 3).sort((a, b) => a.at - b.at || a.key - b.key);
    const taken = due.map(() => ({ at: Number(heap.nextAt), key: heap.take(monoUs(3)) }));
    expect(taken).toEqual(due);
    expect(heap.take(monoUs(3))).toBe(-1);
    expect(heap.size).toBe(size - due.length);
  }
});
