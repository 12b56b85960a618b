/** A call that somebody waits for keeps the process alive, and nothing else does. */
import { afterEach, expect, test, vi } from 'vitest';
import { KeepAlive } from '../../src/runtime/index.ts';

afterEach(() => vi.restoreAllMocks());

/** Whether anything it made would keep the process. */
function watched(): { alive: KeepAlive; holds: () => boolean } {
  const made: NodeJS.Timeout[] = [];
  const set = globalThis.setInterval;
  vi.spyOn(globalThis, 'setInterval').mockImplementation(((act: () => void, ms: number) => {
    const timer = set(act, ms);
    made.push(timer);
    return timer;
  }) as typeof setInterval);
  return { alive: new KeepAlive(), holds: () => made.some((timer) => timer.hasRef()) };
}

test('one wait that ends does not end the others', () => {
  const { alive, holds } = watched();
  expect(holds()).toBe(false);
  alive.hold();
  alive.hold();
  alive.letGo();
  expect(holds()).toBe(true);
  alive.letGo();
  expect(holds()).toBe(false);
});

test('a wait that fails is over like any other', async () => {
  const { alive, holds } = watched();
  const waiting = alive.during(Promise.reject(new Error('no')));
  expect(holds()).toBe(true);
  await expect(waiting).rejects.toThrow('no');
  expect(holds()).toBe(false);
});
