import fc from 'fast-check';
import { expect, test } from 'vitest';
import { monoUs } from '../../src/kernel/index.ts';
import { MachineClock } from '../../src/sim/clock.ts';

const SECOND = 1_000_000;

test('a clock that runs fast by 100 ppm gains 100 µs a second on both faces', () => {
  const clock = new MachineClock(5, 0, 100);
  const wall = clock.wallAt(0);
  expect(clock.monoAt(SECOND) - clock.monoAt(0)).toBe(SECOND + 100);
  expect(clock.wallAt(SECOND) - wall).toBe(SECOND + 100);
});

test('a clock that runs slow by 100 ppm loses 100 µs a second', () => {
  const clock = new MachineClock(0, 0, -100);
  expect(clock.monoAt(10 * SECOND)).toBe(10 * SECOND - 1000);
});

test('the wall clock begins off by as much as it was told', () => {
  expect(new MachineClock(0, -7, 0).wallAt(0) - new MachineClock(0, 0, 0).wallAt(0)).toBe(-7);
});

test('while the machine sleeps, monotonic time stands still and wall time does not', () => {
  const clock = new MachineClock(0, 0, 0);
  const wall = clock.wallAt(0);
  clock.sleep(SECOND);
  expect(clock.monoAt(3 * SECOND)).toBe(SECOND);
  expect(clock.wallAt(3 * SECOND) - wall).toBe(3 * SECOND);
  clock.awake(3 * SECOND);
  expect(clock.monoAt(4 * SECOND)).toBe(2 * SECOND);
  expect(clock.wallAt(4 * SECOND) - wall).toBe(4 * SECOND);
});

test('a step moves the wall clock only', () => {
  const clock = new MachineClock(0, 0, 0);
  const wall = clock.wallAt(0);
  clock.stepWall(SECOND, -500);
  expect(clock.wallAt(SECOND) - wall).toBe(SECOND - 500);
  expect(clock.monoAt(SECOND)).toBe(SECOND);
});

test('a change of rate counts from where it was made', () => {
  const clock = new MachineClock(0, 0, 1000);
  clock.setRate(SECOND, -1000);
  expect(clock.monoAt(2 * SECOND)).toBe(SECOND + 1000 + SECOND - 1000);
});

test('a reboot begins monotonic time anew and leaves the wall clock alone', () => {
  const clock = new MachineClock(123, 0, 0);
  const wall = clock.wallAt(0);
  clock.restartMono(SECOND, 9);
  expect(clock.monoAt(SECOND + 1)).toBe(10);
  expect(clock.wallAt(SECOND) - wall).toBe(SECOND);
});

type Happening = { afterUs: number; what: 'rate' | 'step' | 'sleep' | 'awake'; amount: number };

const happening: fc.Arbitrary<Happening> = fc.record({
  afterUs: fc.nat({ max: 5 * SECOND }),
  what: fc.constantFrom('rate', 'step', 'sleep', 'awake'),
  amount: fc.integer({ min: -200_000, max: 200_000 }),
});

function live(ratePpm: number, happenings: readonly Happening[], look: (clock: MachineClock, nowUs: number) => void): void {
  const clock = new MachineClock(1000, 0, ratePpm);
  let nowUs = 0;
  for (const { afterUs, what, amount } of happenings) {
    nowUs += afterUs;
    if (what === 'rate') clock.setRate(nowUs, amount);
    else if (what === 'step') clock.stepWall(nowUs, amount);
    else if (what === 'sleep') clock.sleep(nowUs);
    else clock.awake(nowUs);
    look(clock, nowUs);
  }
}

test('monotonic time never goes back, whatever happens to the machine', () => {
  fc.assert(
    fc.property(fc.integer({ min: -200_000, max: 200_000 }), fc.array(happening), (ratePpm, happenings) => {
      let last = 0;
      live(ratePpm, happenings, (clock, nowUs) => {
        expect(clock.monoAt(nowUs)).toBeGreaterThanOrEqual(last);
        last = clock.monoAt(nowUs + 17);
        expect(last).toBeGreaterThanOrEqual(clock.monoAt(nowUs));
        last = clock.monoAt(nowUs);
      });
    }),
  );
});

test('trueWhenMono is the first instant at which the clock shows it', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -200_000, max: 200_000 }),
      fc.array(happening, { maxLength: 5 }),
      fc.nat({ max: 20 * SECOND }),
      (ratePpm, happenings, spanUs) => {
        live(ratePpm, [...happenings, { afterUs: 1, what: 'awake', amount: 0 }], (clock, nowUs) => {
          const isAwake = clock.monoAt(nowUs + SECOND) > clock.monoAt(nowUs);
          if (!isAwake) return;
          const due = monoUs(clock.monoAt(nowUs) + spanUs);
          const at = clock.trueWhenMono(due, nowUs);
          expect(clock.monoAt(at)).toBeGreaterThanOrEqual(due);
          expect(at === nowUs || clock.monoAt(at - 1) < due).toBe(true);
        });
      },
    ),
  );
});
