import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SeededChooser } from '../../src/kernel/index.ts';
import { noFaults, type FaultPlan } from '../../src/sim/index.ts';
import { noCounts } from '../../src/sim/interest.ts';
import type { AccessRequest } from '../../src/sim/registers.ts';
import { Storage, type ScheduledAccess } from '../../src/sim/storage.ts';

const UNIT = 0;
const READ: AccessRequest = { action: 'read', unit: UNIT, key: 'x', op: 0 };

function writing(value: number, key = 'x'): AccessRequest {
  return { action: 'write', unit: UNIT, key, op: 0, value: Uint8Array.of(value) };
}

function storageWith(seed: number, faults: Partial<FaultPlan> = {}): Storage {
  return new Storage(new SeededChooser(seed), { ...noFaults(), weakReads: true, ...faults }, 1_000, noCounts());
}

function begin(storage: Storage, value: number | null, nowUs = 0): ScheduledAccess {
  const access = storage.begin(0, 0, value === null ? READ : writing(value), nowUs);
  if (!access) throw new Error('nothing will come of it');
  return access;
}

function readAlone(storage: Storage): number | null {
  const read = begin(storage, null);
  storage.takeEffect(read, true);
  storage.answer(read);
  return read.found?.[0] ?? null;
}

interface Logged {
  readonly value: number | null;
  readonly access: ScheduledAccess;
  began: number;
  effect: number;
  ended: number;
}

/**
 * Plays a script of begins, effects and answers on one register, each on the operation that is `pick`ed of those that
 * can take it. Says, for each read answered, what it found and what a regular register would have let it find.
 */
function play(script: readonly { act: 'read' | 'write' | 'effect' | 'answer'; pick: number }[], seed: number) {
  const storage = storageWith(seed);
  const log: Logged[] = [];
  const reads: { found: number | null; legal: (number | null)[] }[] = [];
  let place = 0;
  for (const { act, pick } of script) {
    place++;
    if (act === 'read' || act === 'write') {
      const value = act === 'write' ? (log.length % 255) + 1 : null;
      log.push({ value, access: begin(storage, value), began: place, effect: Infinity, ended: Infinity });
      continue;
    }
    const able = log.filter(({ effect, ended }) => (act === 'effect' ? effect === Infinity : effect < Infinity && ended === Infinity));
    const operation = able[pick % Math.max(1, able.length)];
    if (!operation) continue;
    if (act === 'effect') {
      operation.effect = place;
      storage.takeEffect(operation.access, true);
      continue;
    }
    operation.ended = place;
    storage.answer(operation.access);
    if (operation.value !== null) continue;
    const writes = log.filter(({ value }) => value !== null);
    const done = writes.filter(({ ended }) => ended < operation.began);
    const legal = writes.filter((write) => !done.some((other) => other.effect > write.effect)).map(({ value }) => value);
    reads.push({ found: operation.access.found?.[0] ?? null, legal: done.length === 0 ? [null, ...legal] : legal });
  }
  return reads;
}

const script = fc.array(
  fc.record({ act: fc.constantFrom('read' as const, 'write' as const, 'effect' as const, 'answer' as const), pick: fc.nat({ max: 20 }) }),
  { maxLength: 40 },
);

test('a weak read finds nothing that a regular register would not let it find', () => {
  fc.assert(
    fc.property(script, fc.nat(), (acts, seed) => {
      for (const { found, legal } of play(acts, seed)) expect(legal).toContain(found);
    }),
    { numRuns: 500 },
  );
});

test('a weak read finds, sooner or later, everything that a regular register would let it find', () => {
  fc.assert(
    fc.property(script, (acts) => {
      const seeds = Array.from({ length: 150 }, (_, seed) => play(acts, seed));
      seeds[0]?.forEach(({ legal }, read) => {
        const found = new Set(seeds.map((reads) => reads[read]?.found));
        expect(legal.filter((value) => !found.has(value))).toEqual([]);
      });
    }),
    { numRuns: 40 },
  );
});

test('a write that is said to have failed was done, or was not, and is not answered', () => {
  const after = new Set<number | null>();
  const said = new Set<boolean | null>();
  for (let seed = 0; seed < 60; seed++) {
    const storage = storageWith(seed);
    storage.fail(UNIT, 100);
    const write = storage.begin(0, 0, writing(7), 0);
    said.add(write?.ok ?? null);
    if (write) {
      storage.takeEffect(write, true);
      storage.answer(write);
    }
    storage.repairAll();
    after.add(readAlone(storage));
  }
  expect(after).toEqual(new Set([null, 7]));
  expect(said).toEqual(new Set([false, null]));
});

test('a read after a write that failed may still miss it, and one after a write that was answered may not', () => {
  const found = { failed: new Set<number | null>(), answered: new Set<number | null>() };
  for (let seed = 0; seed < 200; seed++) {
    for (const fate of ['failed', 'answered'] as const) {
      const storage = storageWith(seed);
      const first = begin(storage, 1);
      storage.takeEffect(first, true);
      storage.answer(first);
      if (fate === 'failed') storage.fail(UNIT, 100);
      const second = storage.begin(0, 0, writing(2), 0);
      // Only those that were done in spite of it.
      if (!second?.change) continue;
      storage.takeEffect(second, true);
      storage.answer(second);
      storage.repairAll();
      found[fate].add(readAlone(storage));
    }
  }
  expect(found.failed).toEqual(new Set([1, 2]));
  expect(found.answered).toEqual(new Set([2]));
});

test('a strong read finds what the newest effect left', () => {
  const storage = storageWith(1, { weakReads: false });
  const slow = begin(storage, 1);
  const quick = begin(storage, 2);
  storage.takeEffect(quick, true);
  storage.takeEffect(slow, true);
  expect(readAlone(storage)).toBe(1);
});

test('an answer that is lost leaves the write done', () => {
  const storage = storageWith(1, { lostAnswerPpm: 1_000_000, weakReads: false });
  const write = begin(storage, 9);
  expect(storage.takeEffect(write, true)).toBe(false);
  const read = begin(storage, null);
  storage.takeEffect(read, true);
  expect(read.found).toEqual(Uint8Array.of(9));
});

test('a unit that fails twice is whole only after both', () => {
  const storage = storageWith(1);
  storage.fail(UNIT, 100);
  storage.fail(UNIT, 50);
  const oks = Array.from({ length: 30 }, () => storage.begin(0, 0, READ, 75)?.ok);
  expect(oks.includes(true)).toBe(false);
});
