/** I4, the failure detector ◇S: whoever crashes is suspected for good, and sooner or later nobody else is. */
import { describe, expect, it } from 'vitest';
import { incarnation, monoUs, spanUs, type MonoUs } from '../../../src/kernel/index.ts';
import { FailureDetector } from '../../../src/core/index.ts';

const TIMING = { heartbeatUs: spanUs(100), timeoutUs: spanUs(300) };
const LIFE = incarnation(7);

function at(us: number): MonoUs {
  return monoUs(us);
}

function detector(): FailureDetector {
  const made = new FailureDetector(3, 0, TIMING);
  made.start(at(0));
  return made;
}

/** Runs it whenever it wants to be run, and hears each member as often as its list says. */
function run(of: FailureDetector, untilUs: number, everyUs: readonly (number | null)[], fromUs = 0): void {
  for (let now = fromUs; now <= untilUs; now += 50) {
    for (const [member, every] of everyUs.entries()) if (every !== null && now % every === 0) of.heard(member, LIFE, at(now));
    if (of.wakeAt <= now) of.run(at(now));
  }
}

describe('completeness', () => {
  it('a member that is never heard of again is suspected, and stays so', () => {
    const one = detector();
    run(one, 1000, [null, 100, 100]);
    expect(one.suspected).toEqual([]);
    run(one, 5000, [null, 100, null], 1050);
    expect(one.suspected).toEqual([2]);
    expect(one.suspects(2)).toBe(true);
    run(one, 50_000, [null, 100, null], 5050);
    expect(one.suspected).toEqual([2]);
  });

  it('a member that was never heard of at all is suspected, too', () => {
    const one = detector();
    run(one, 1000, [null, null, 100]);
    expect(one.suspected).toEqual([1]);
  });
});

describe('eventual accuracy', () => {
  it('a member that is slower than the time-out is suspected fewer and fewer times, and then never again', () => {
    const one = detector();
    let mistakes = 0;
    let last = 0;
    for (let now = 0; now <= 100_000; now += 50) {
      if (now % 2000 === 0 && one.heard(1, LIFE, at(now))) {
        mistakes++;
        last = now;
      }
      if (one.wakeAt <= now) one.run(at(now));
    }
    // 300, 600, … 2100: the seventh time-out is long enough.
    expect(mistakes).toBe(6);
    expect(last).toBeLessThan(20_000);
    expect(one.suspects(1)).toBe(false);
  });

  it('a process that starts anew after a crash is no mistake: its time-out stays short', () => {
    const one = detector();
    for (let life = 1; life <= 50; life++) {
      const born = life * 500;
      one.run(at(born));
      one.heard(1, incarnation(life), at(born));
      for (const laterUs of [100, 200, 299, 300, 400]) {
        one.run(at(born + laterUs));
        expect(one.suspects(1)).toBe(laterUs >= 300);
      }
    }
  });

  it('a process that stood still itself blames nobody for it', () => {
    const one = detector();
    run(one, 1000, [null, 100, 100]);
    one.run(at(60_000));
    expect(one.suspected).toEqual([]);
    // From here on they have what was left of their time-outs, and two heartbeats to catch up with.
    for (let now = 60_100; now < 60_800; now += 100) one.run(at(now));
    expect(one.suspected).toEqual([1, 2]);
  });
});

it('heartbeats are due once for each interval', () => {
  const one = detector();
  const beats = Array.from({ length: 40 }, (_, i) => one.run(at(i * 25)).beats);
  expect(beats.filter(Boolean)).toHaveLength(10);
});

it('never suspects itself', () => {
  const one = detector();
  run(one, 10_000, [null, null, null]);
  expect(one.suspected).toEqual([1, 2]);
  expect(one.suspects(0)).toBe(false);
});

it('goes on from a snapshot', () => {
  const one = detector();
  run(one, 1000, [null, 100, null]);
  const other = new FailureDetector(3, 0, TIMING);
  other.restore(one.snapshot());
  expect(other.snapshot()).toEqual(one.snapshot());
  expect(other.suspected).toEqual([2]);
  expect(other.wakeAt).toBe(one.wakeAt);
});
