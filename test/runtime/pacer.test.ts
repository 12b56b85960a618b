/** The pacer: which of the members' round trips an attempt has to wait for. */
import { expect, test } from 'vitest';
import { monoUs, wallUs } from '../../src/kernel/index.ts';
import { Pacer, type Clocks } from '../../src/runtime/index.ts';

function stage(
  roundTripsUs: readonly (number | null)[],
  needed: number | (() => number),
): { told: number[]; planned: (() => void)[]; pacer: Pacer } {
  const told: number[] = [];
  const quorum = typeof needed === 'number' ? () => needed : needed;
  const planned: (() => void)[] = [];
  const clocks: Clocks = {
    mono: () => monoUs(0),
    wall: () => wallUs(0),
    wakeAt: () => undefined,
    cancel: () => undefined,
    after: (_delayUs, act) => {
      planned.push(act);
      return () => void planned.splice(planned.indexOf(act), 1);
    },
    apart: () => clocks,
  };
  const pacer = new Pacer({ clocks, quorum, roundTripsUs: () => roundTripsUs, onRoundTrip: (rttUs) => void told.push(rttUs) });
  return { told, planned, pacer };
}

test('is told the round trip to the slowest of the fastest quorum', () => {
  const { told, pacer } = stage([0, 900, 300, 20_000, 400], 3);
  pacer.look();
  expect(told).toEqual([400]);
});

test('waits for more of them when the members have become more', () => {
  let needed = 2;
  const { told, pacer } = stage([100, 300, 20_000], () => needed);
  pacer.look();
  needed = 3;
  pacer.look();
  expect(told).toEqual([300, 20_000]);
});

test('says nothing while too few were measured', () => {
  const { told, pacer } = stage([0, null, null], 2);
  pacer.look();
  expect(told).toEqual([]);
});

test('looks again and again until it is stopped', () => {
  const { told, planned, pacer } = stage([0, 500], 2);
  pacer.start();
  planned.shift()?.();
  planned.shift()?.();
  expect(told).toEqual([500, 500]);
  pacer.stop();
  expect(planned).toEqual([]);
});
