/** The clocks of a real process: what each of them follows, when their one timer fires, and what their watch notices. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { monoUs, wallUs } from '../../src/kernel/index.ts';
import { ClockWatch, SystemClocks } from '../../src/runtime/index.ts';

const HOUR_MS = 3_600_000;
const HOUR_US = 3_600_000_000;

describe('setting the wall clock', () => {
  afterEach(() => vi.restoreAllMocks());

  test.each([HOUR_MS, -HOUR_MS])('by %d ms moves the wall clock and not the monotonic one', (byMs) => {
    const clocks = new SystemClocks();
    const [mono, wall] = [clocks.mono(), clocks.wall()];
    const setAt = Date.now() + byMs;
    vi.spyOn(Date, 'now').mockReturnValue(setAt);
    expect(Math.abs(clocks.mono() - mono)).toBeLessThan(HOUR_US / 2);
    expect(Math.abs(clocks.wall() - wall)).toBeGreaterThan(HOUR_US / 2);
  });

  test('both count microseconds, the monotonic one as performance.now() does', () => {
    vi.spyOn(performance, 'now').mockReturnValue(1234.5);
    vi.spyOn(Date, 'now').mockReturnValue(5678);
    const clocks = new SystemClocks();
    expect(clocks.mono()).toBe(1_234_500);
    expect(clocks.wall()).toBe(5_678_000);
  });
});

describe('the timer', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] }));
  afterEach(() => void vi.useRealTimers());

  const inMs = (clocks: SystemClocks, ms: number): ReturnType<typeof monoUs> => monoUs(clocks.mono() + ms * 1000);

  test('fires once the instant has come, and once only', () => {
    const clocks = new SystemClocks();
    const act = vi.fn<() => void>();
    clocks.wakeAt(inMs(clocks, 10), act);
    vi.advanceTimersByTime(9);
    expect(act).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(act).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(1000);
    expect(act).toHaveBeenCalledTimes(1);
  });

  test('that was put off does not fire at the time it was first set for', () => {
    const clocks = new SystemClocks();
    const act = vi.fn<() => void>();
    clocks.wakeAt(inMs(clocks, 10), act);
    clocks.wakeAt(inMs(clocks, 30), act);
    vi.advanceTimersByTime(29);
    expect(act).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(act).toHaveBeenCalledTimes(1);
  });

  test('that is wanted sooner fires sooner', () => {
    const clocks = new SystemClocks();
    const act = vi.fn<() => void>();
    clocks.wakeAt(inMs(clocks, 1000), act);
    clocks.wakeAt(inMs(clocks, 10), act);
    vi.advanceTimersByTime(10);
    expect(act).toHaveBeenCalledTimes(1);
  });

  test('that was cancelled is forgotten: an instant further away is waited for', () => {
    const clocks = new SystemClocks();
    const act = vi.fn<() => void>();
    clocks.wakeAt(inMs(clocks, 10), act);
    clocks.cancel();
    vi.advanceTimersByTime(1000);
    expect(act).not.toHaveBeenCalled();
    clocks.wakeAt(inMs(clocks, 50), act);
    vi.advanceTimersByTime(50);
    expect(act).toHaveBeenCalledTimes(1);
  });

  test('for NEVER does not fire', () => {
    const clocks = new SystemClocks();
    const act = vi.fn<() => void>();
    clocks.wakeAt(monoUs(Infinity), act);
    vi.advanceTimersByTime(2 ** 30 + HOUR_MS);
    expect(act).not.toHaveBeenCalled();
  });
});

test('neither a wake nor a delay keeps the process alive', () => {
  const made: NodeJS.Timeout[] = [];
  const set = globalThis.setTimeout;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((act: () => void, ms: number) => {
    const timer = set(act, ms);
    made.push(timer);
    return timer;
  }) as typeof setTimeout);
  const clocks = new SystemClocks();
  clocks.wakeAt(monoUs(clocks.mono() + HOUR_US), () => undefined);
  const callOff = clocks.after(HOUR_US, () => undefined);
  vi.restoreAllMocks();
  expect(made.map((timer) => timer.hasRef())).toEqual([false, false]);
  clocks.cancel();
  callOff();
});

describe('the watch of the clocks', () => {
  const START = { mono: monoUs(1_000_000), wall: wallUs(9_000_000_000) };
  const seen = (monoByUs: number, wallByUs: number, lateUs: number | null = null): string[] => {
    const noted: string[] = [];
    const watch = new ClockWatch(START.mono, START.wall, (kind, us) => void noted.push(`${kind} ${us}`));
    const mono = monoUs(START.mono + monoByUs);
    watch.look(mono, wallUs(START.wall + wallByUs), lateUs === null ? null : monoUs(mono - lateUs));
    return noted;
  };

  test('takes wall time without monotonic time for sleep', () => expect(seen(1_000_000, 61_000_000)).toEqual(['sleep 60000000']));
  test('takes monotonic time without wall time for a clock set back', () =>
    expect(seen(61_000_000, 1_000_000)).toEqual(['wall-step 60000000']));
  test('takes a look that comes late for a stall', () => expect(seen(1_000_000, 1_000_000, 500_000)).toEqual(['stall 500000']));
  test('says nothing of what is noise', () => expect(seen(1_000_000, 1_050_000, 50_000)).toEqual([]));

  test('compares each look with the one before, not with the first', () => {
    const watch = new ClockWatch(START.mono, START.wall);
    watch.look(monoUs(START.mono + 1), wallUs(START.wall + HOUR_US), null);
    watch.look(monoUs(START.mono + 2), wallUs(START.wall + HOUR_US + 1), null);
    expect(watch.counts.sleeps).toBe(1);
  });
});
