import { expect, test } from 'vitest';
import { SeededChooser } from '../../src/kernel/index.ts';
import { drawDiskDamage, drawDiskFaults, drawFaults, drawUnitDamage, healedFaults, noFaults, type FaultPlan } from '../../src/sim/index.ts';

const SCALE = { termUs: 1_000_000, ratePpmMax: 500, offsetUsMax: 9 };
const PLANS = Array.from({ length: 500 }, (_, seed) => drawFaults(new SeededChooser(seed), SCALE));

test('every kind of fault is drawn in some worlds and left out in others', () => {
  const calm = noFaults();
  const always = new Set<keyof FaultPlan>(['latencyUsMin', 'latencyUsSpread', 'storageUsMin', 'storageUsSpread', 'offsetUsMax']);
  for (const kind of Object.keys(calm) as (keyof FaultPlan)[]) {
    // How long machines were up is set by shrinking alone; clocks sway or leave their bounds, members live on, power fails, and some disks are safe, in worlds of a shape; own disks and damage are drawn apart.
    const shaped = [
      'losable',
      'wallSway',
      'outlive',
      'power',
      'slew',
      'disk',
      'misdirect',
      'repeat',
      'corrupt',
      'forget',
      'wipe',
      'restore',
      'weakReadsHeal',
    ].some((prefix) => kind.startsWith(prefix));
    if (kind === 'uptimeUsMax' || shaped) continue;
    const drawn = PLANS.filter((plan) => plan[kind] !== calm[kind]).length;
    expect({ kind, drawn: drawn > 0, leftOut: drawn < PLANS.length }).toEqual({ kind, drawn: true, leftOut: !always.has(kind) });
  }
});

test('no world is without a fault it was not told of: most have a few kinds only', () => {
  const kindsOf = ({ lossPpm, duplicatePpm, latePpm, cutEveryUs, stallEveryUs, sleepEveryUs, wallStepEveryUs, crashEveryUs }: FaultPlan) =>
    [lossPpm, duplicatePpm, latePpm, cutEveryUs, stallEveryUs, sleepEveryUs, wallStepEveryUs, crashEveryUs].filter((rate) => rate > 0)
      .length;
  expect(new Set(PLANS.map(kindsOf)).size).toBeGreaterThan(5);
});

test('clocks keep to the bounds the protocol was told', () => {
  expect(PLANS.every(({ ratePpmMax, offsetUsMax }) => ratePpmMax <= 500 && offsetUsMax <= 9)).toBe(true);
});

test('no world has both a machine that sleeps and a wall clock that is set back', () => {
  expect(PLANS.filter(({ sleepEveryUs, wallStepsBack }) => sleepEveryUs > 0 && wallStepsBack)).toEqual([]);
});

test('terms of any length can be drawn for', () => {
  for (let termUs = 1; termUs < 500; termUs++) {
    expect(() => drawFaults(new SeededChooser(termUs), { ...SCALE, termUs })).not.toThrow();
  }
});

test('a healed world has latency, clocks that run apart and weak reads, and no faults', () => {
  for (const plan of PLANS.slice(0, 50)) {
    const { latencyUsMin, latencyUsSpread, ratePpmMax, offsetUsMax, storageUsMin, storageUsSpread, weakReads } = plan;
    const kept = { latencyUsMin, latencyUsSpread, ratePpmMax, offsetUsMax, storageUsMin, storageUsSpread, weakReads };
    expect(healedFaults(plan)).toEqual({ ...noFaults(), ...kept });
  }
});

test('own disks are well in many worlds, and hang, fail or lose answers in some', () => {
  const plans = PLANS.map((_, seed) => {
    const faults = noFaults();
    drawDiskFaults(new SeededChooser(seed), faults, SCALE.termUs);
    return faults;
  });
  for (const kind of ['diskHangPpm', 'diskLostAnswerPpm', 'diskFailEveryUs'] as const) {
    const drawn = plans.filter((plan) => plan[kind] > 0).length;
    expect(drawn).toBeGreaterThan(PLANS.length / 10);
    expect(drawn).toBeLessThan(PLANS.length / 2);
  }
  expect(plans.every(({ diskFailEveryUs, diskFailUsMax }) => diskFailEveryUs > 0 === diskFailUsMax > 0)).toBe(true);
});

test('records are whole in many worlds that draw damage, and damaged in each way in some', () => {
  const plans = PLANS.map((_, seed) => {
    const faults = noFaults();
    const chooser = new SeededChooser(seed);
    drawUnitDamage(chooser, faults, SCALE.termUs);
    drawDiskDamage(chooser, faults, SCALE.termUs);
    return faults;
  });
  const calm = noFaults();
  for (const kind of ['misdirectPpm', 'repeatPpm', 'corruptEveryUs', 'forgetEveryUs', 'wipeEveryUs'] as const) {
    const drawn = plans.filter((plan) => plan[kind] > 0).length;
    expect(drawn).toBeGreaterThan(PLANS.length / 10);
    expect(drawn).toBeLessThan(PLANS.length / 2);
  }
  for (const kind of ['diskMisdirectPpm', 'diskCorruptEveryUs', 'diskForgetEveryUs'] as const) {
    expect(plans.some((plan) => plan[kind] > 0)).toBe(true);
  }
  const isWhole = (plan: FaultPlan): boolean => JSON.stringify(plan) === JSON.stringify(calm);
  expect(plans.some(isWhole) && !plans.every(isWhole)).toBe(true);
});
