import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DELIVER, EventQueue, WAKE } from '../../src/sim/event-queue.ts';

function drain(queue: EventQueue): { at: number; target: number; ref: number }[] {
  const taken = [];
  while (queue.take()) taken.push({ at: queue.at, target: queue.target, ref: queue.ref });
  return taken;
}

test('what is due first comes first', () => {
  const queue = new EventQueue();
  for (const at of [30, 10, 20]) queue.schedule(at, DELIVER, at, 0);
  expect(drain(queue).map(({ at }) => at)).toEqual([10, 20, 30]);
});

test('what is due at the same instant comes in the order it was scheduled', () => {
  const queue = new EventQueue();
  for (let ref = 0; ref < 100; ref++) queue.schedule(7, DELIVER, 0, ref);
  expect(drain(queue).map(({ ref }) => ref)).toEqual(Array.from({ length: 100 }, (_, i) => i));
});

test('an event comes back as it was scheduled', () => {
  const queue = new EventQueue();
  queue.schedule(1.5, WAKE, 2999, -1);
  expect(queue.take()).toBe(true);
  expect([queue.at, queue.kind, queue.target, queue.ref]).toEqual([1.5, WAKE, 2999, -1]);
  expect(queue.take()).toBe(false);
});

test('taking and scheduling in any mixture agrees with a stable sort', () => {
  const action = fc.oneof(fc.nat({ max: 50 }), fc.constant('take' as const));
  fc.assert(
    fc.property(fc.array(action, { maxLength: 3000 }), (actions) => {
      const queue = new EventQueue();
      const model: [at: number, ref: number][] = [];
      const taken: unknown[] = [];
      const expected: unknown[] = [];
      let ref = 0;
      for (const act of actions) {
        if (act === 'take') {
          taken.push(queue.take() ? [queue.at, queue.ref] : null);
          model.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
          expected.push(model.shift() ?? null);
        } else {
          queue.schedule(act, DELIVER, 0, ref);
          model.push([act, ref++]);
        }
      }
      expect(taken).toEqual(expected);
      expect(drain(queue).length).toBe(model.length);
    }),
    { numRuns: 50 },
  );
});

test('the queue grows as far as it must', () => {
  const queue = new EventQueue();
  for (let i = 0; i < 5000; i++) queue.schedule(5000 - i, DELIVER, i, i);
  const taken = drain(queue);
  expect(taken.length).toBe(5000);
  expect(taken.every(({ at }, i) => at === i + 1)).toBe(true);
});
