import { expect, test } from 'vitest';
import { SeededChooser } from '../../src/kernel/index.ts';
import { noFaults, type FaultPlan } from '../../src/sim/index.ts';
import { Network, type Cut } from '../../src/sim/network.ts';

const TERM_US = 1_000_000;

function network(faults: Partial<FaultPlan>, seed = 1): Network {
  return new Network(new SeededChooser(seed), { ...noFaults(), ...faults }, TERM_US);
}

/** A cut that puts some but not all of three nodes on its side. */
function splittingCut(net: Network): { cut: Cut; inside: number; outside: number } {
  for (;;) {
    const cut = net.cut(3, 0);
    const inside = cut.onSide.indexOf(1);
    const outside = cut.onSide.indexOf(0);
    if (inside >= 0 && outside >= 0) return { cut, inside, outside };
    net.mend(cut);
  }
}

function share(draw: () => boolean): number {
  let hits = 0;
  for (let i = 0; i < 20_000; i++) if (draw()) hits++;
  return hits / 20_000;
}

test('a calm network delivers every message once', () => {
  const net = network({});
  expect(share(() => net.copies() === 1)).toBe(1);
});

test('as many messages are lost and doubled as the plan says', () => {
  const net = network({ lossPpm: 200_000, duplicatePpm: 100_000 });
  let lost = 0;
  let doubled = 0;
  for (let i = 0; i < 20_000; i++) {
    const copies = net.copies();
    if (copies === 0) lost++;
    if (copies > 1) doubled++;
  }
  expect(lost / 20_000).toBeCloseTo(0.2, 1);
  expect(doubled / 20_000).toBeCloseTo(0.08, 1);
  expect(doubled).toBeGreaterThan(1000);
});

test('latency stays in its bounds where there is no tail', () => {
  const net = network({ latencyUsMin: 100, latencyUsSpread: 50 });
  expect(
    share(() => {
      const latencyUs = net.latencyUs();
      return latencyUs >= 100 && latencyUs <= 150;
    }),
  ).toBe(1);
});

test('a planned cut is between the nodes of its side and all others, both ways, until it is mended', () => {
  const net = network({});
  const cut = net.cutOff([0, 2], 4, 0);
  const pairs = [0, 1, 2, 3].flatMap((from) => [0, 1, 2, 3].filter((to) => net.isCut(from, to, 5)).map((to) => `${from}${to}`));
  expect(pairs).toEqual(['01', '03', '10', '12', '21', '23', '30', '32']);
  expect(net.mend(cut)).toBe(true);
  expect(net.isCut(0, 1, 5)).toBe(false);
});

test('a heavy tail doubles some latencies many times over', () => {
  const net = network({ latencyUsMin: 100, latencyUsSpread: 0, tailPpm: 300_000 });
  expect(share(() => net.latencyUs() > 100)).toBeCloseTo(0.3, 1);
  const longest = Math.max(...Array.from({ length: 20_000 }, () => net.latencyUs()));
  expect(longest).toBeGreaterThanOrEqual(100 * 2 ** 6);
});

test('some messages arrive terms later', () => {
  const net = network({ latePpm: 100_000 });
  expect(share(() => net.latencyUs() > TERM_US)).toBeGreaterThan(0.01);
  expect(share(() => net.latencyUs() > 3 * TERM_US + 1_000)).toBe(0);
});

test('a two-way cut stops messages both ways, and none within a side', () => {
  const net = network({});
  const { cut, inside, outside } = splittingCut(net);
  expect(net.isCut(inside, outside, 5)).toBe(true);
  expect(net.isCut(outside, inside, 5)).toBe(true);
  expect(net.isCut(inside, inside, 5)).toBe(false);
  expect(net.mend(cut)).toBe(true);
  expect(net.isCut(inside, outside, 5)).toBe(false);
});

test('a one-way cut lets messages in, and none out', () => {
  const net = network({ oneWayPpm: 1_000_000 });
  const { inside, outside } = splittingCut(net);
  expect(net.isCut(inside, outside, 5)).toBe(true);
  expect(net.isCut(outside, inside, 5)).toBe(false);
});

test('a flapping cut comes and goes', () => {
  const net = network({ flapPpm: 1_000_000 });
  const { cut, inside, outside } = splittingCut(net);
  const states = Array.from({ length: 6 }, (_, i) => net.isCut(inside, outside, i * cut.flapUs));
  expect(states).toEqual([true, false, true, false, true, false]);
});

test('a mended network has no cut left, and a cut is mended once', () => {
  const net = network({});
  const { cut, inside, outside } = splittingCut(net);
  net.mendAll();
  expect(net.isCut(inside, outside, 5)).toBe(false);
  expect(net.mend(cut)).toBe(false);
});
