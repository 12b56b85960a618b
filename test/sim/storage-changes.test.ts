/** Conditional changes, lists and damage of shared storage, in the world and on the stage. */
import { describe, expect, test } from 'vitest';
import { SeededChooser } from '../../src/kernel/index.ts';
import { OWN_DISK, type Completion } from '../../src/core/index.ts';
import { noFaults, runScript, type FaultPlan, type StageAction } from '../../src/sim/index.ts';
import { noCounts, type WorldCounts } from '../../src/sim/interest.ts';
import type { AccessRequest } from '../../src/sim/registers.ts';
import { formatAction, parseAction } from '../../src/sim/stage/actions.ts';
import { Storage, type ScheduledAccess } from '../../src/sim/storage.ts';

const UNIT = 0;
const bytes = (value: number | null): Uint8Array | null => (value === null ? null : Uint8Array.of(value));

/** Storage whose accesses the test lets take effect and be answered. */
class Hands {
  readonly counts: WorldCounts = noCounts();
  readonly storage: Storage;

  constructor(faults: Partial<FaultPlan> = {}, seed = 1) {
    this.storage = new Storage(new SeededChooser(seed), { ...noFaults(), ...faults }, 1_000, this.counts);
  }

  begin(request: AccessRequest): ScheduledAccess {
    const access = this.storage.begin(0, 0, request, 0);
    if (!access) throw new Error('nothing will come of it');
    return access;
  }

  do(request: AccessRequest): Completion {
    return this.finish(this.begin(request));
  }

  finish(access: ScheduledAccess): Completion {
    this.storage.takeEffect(access, true);
    return this.storage.answer(access);
  }

  write(key: string, value: number, unit = UNIT): Completion {
    return this.do({ action: 'write', unit, key, op: 1, value: Uint8Array.of(value) });
  }

  swap(key: string, seen: number | null, value: number | null): Completion {
    return this.do({ action: 'swap', unit: UNIT, key, op: 2, seen: bytes(seen), value: bytes(value) });
  }

  read(key: string, unit = UNIT): number | null {
    return this.do({ action: 'read', unit, key, op: 3 }).value?.[0] ?? null;
  }

  list(prefix = ''): readonly string[] | null {
    return this.do({ action: 'list', unit: UNIT, key: prefix, op: 4 }).keys;
  }
}

describe('a swap', () => {
  test('is won where the record is the one it has seen, and lost where it is another', () => {
    const hands = new Hands();
    expect(hands.swap('x', null, 1)).toMatchObject({ ok: true, isLost: false, version: Uint8Array.of(1) });
    expect(hands.swap('x', null, 2)).toMatchObject({ ok: true, isLost: true, version: null });
    expect(hands.swap('x', 2, 3)).toMatchObject({ ok: true, isLost: true });
    expect(hands.read('x')).toBe(1);
    expect(hands.swap('x', 1, 3)).toMatchObject({ isLost: false });
    expect(hands.read('x')).toBe(3);
    expect(hands.counts['lost-swap']).toBe(2);
  });

  test('to nothing erases, and is from nothing from there on', () => {
    const hands = new Hands();
    hands.swap('x', null, 1);
    expect(hands.swap('x', 1, null)).toMatchObject({ isLost: false, version: null });
    expect(hands.read('x')).toBeNull();
    expect(hands.swap('x', 1, 2).isLost).toBe(true);
    expect(hands.swap('x', null, 2).isLost).toBe(false);
  });

  test('is judged when it takes effect, not when it begins: of two from the same record one wins', () => {
    const hands = new Hands();
    hands.write('x', 1);
    const [first, second] = [2, 3].map((value) =>
      hands.begin({ action: 'swap', unit: UNIT, key: 'x', op: value, seen: bytes(1), value: bytes(value) }),
    );
    if (!first || !second) throw new Error('both began');
    expect(hands.finish(second).isLost).toBe(false);
    expect(hands.finish(first).isLost).toBe(true);
    expect(hands.read('x')).toBe(3);
  });

  test('wins where a record was changed and changed back: bytes are all that is compared', () => {
    const hands = new Hands();
    for (const value of [1, 2, 1]) hands.write('x', value);
    expect(hands.swap('x', 1, 9).isLost).toBe(false);
  });

  test('that has not won is found by no read, however weak', () => {
    const found = new Set<number | null>();
    for (let seed = 0; seed < 60; seed++) {
      const hands = new Hands({ weakReads: true }, seed);
      hands.write('x', 1);
      hands.begin({ action: 'swap', unit: UNIT, key: 'x', op: 2, seen: bytes(1), value: bytes(2) });
      hands.begin({ action: 'write', unit: UNIT, key: 'x', op: 3, value: Uint8Array.of(3) });
      found.add(hands.read('x'));
    }
    expect(found).toEqual(new Set([1, 3]));
  });

  test('that failed was won, or was not: nobody is told which', () => {
    const after = new Set<number | null>();
    const told: Completion[] = [];
    for (let seed = 0; seed < 60; seed++) {
      const hands = new Hands({}, seed);
      hands.storage.fail(UNIT, 100);
      const access = hands.storage.begin(0, 0, { action: 'swap', unit: UNIT, key: 'x', op: 2, seen: null, value: bytes(2) }, 0);
      if (access) told.push(hands.finish(access));
      hands.storage.repairAll();
      after.add(hands.read('x'));
    }
    expect(after).toEqual(new Set([null, 2]));
    expect(told.every(({ ok, isLost, version }) => !ok && !isLost && version === null)).toBe(true);
  });

  test('of an own disk is a mistake of the core', () => {
    expect(() => new Hands().do({ action: 'swap', unit: OWN_DISK, key: 'x', op: 1, seen: null, value: null })).toThrow('own disk');
  });
});

describe('a list', () => {
  test('names what is there, in the order of bytes, and nothing that was erased', () => {
    const hands = new Hands();
    for (const key of ['b', 'a/2', 'a/1']) hands.write(key, 1);
    hands.do({ action: 'erase', unit: UNIT, key: 'a/2', op: 5 });
    expect(hands.list()).toEqual(['a/1', 'b']);
    expect(hands.list('a/')).toEqual(['a/1']);
  });

  test('names all that is there all the time, and of the rest what it likes where reads are weak', () => {
    const lists = new Set<string>();
    for (let seed = 0; seed < 80; seed++) {
      const hands = new Hands({ weakReads: true }, seed);
      hands.write('stays', 1);
      hands.write('goes', 1);
      const list = hands.begin({ action: 'list', unit: UNIT, key: '', op: 4 });
      hands.write('comes', 1);
      hands.do({ action: 'erase', unit: UNIT, key: 'goes', op: 5 });
      lists.add(hands.finish(list).keys?.join(' ') ?? '');
    }
    expect(lists).toEqual(new Set(['stays', 'comes stays', 'goes stays', 'comes goes stays']));
  });
});

describe('damage', () => {
  test('corrupts one byte of a record, and is found by every read that follows', () => {
    const hands = new Hands({ weakReads: true });
    hands.write('x', 1);
    hands.storage.strike('corrupt', { unit: UNIT });
    for (let i = 0; i < 20; i++) expect(hands.read('x')).toBe(254);
    expect(hands.counts['corrupt-record']).toBe(1);
  });

  test('makes a unit forget what it had acknowledged, once', () => {
    const hands = new Hands();
    hands.write('x', 1);
    hands.write('x', 2);
    hands.storage.strike('forget', { unit: UNIT });
    expect(hands.read('x')).toBe(1);
    hands.storage.strike('forget', { unit: UNIT });
    expect(hands.read('x')).toBe(1);
  });

  test('wipes a unit: every record is gone, and what was under way lands on an empty one', () => {
    const hands = new Hands();
    hands.write('x', 1);
    hands.write('y', 1);
    const late = hands.begin({ action: 'write', unit: UNIT, key: 'y', op: 7, value: Uint8Array.of(7) });
    hands.storage.strike('wipe', { unit: UNIT });
    expect(hands.list()).toEqual([]);
    hands.finish(late);
    expect([hands.read('x'), hands.read('y')]).toEqual([null, 7]);
  });

  test('takes a unit back to an earlier state: it is in another epoch, and refuses what began in the one before', () => {
    const states = new Set<string>();
    for (let seed = 0; seed < 100; seed++) {
      const hands = new Hands({}, seed);
      hands.write('x', 1);
      hands.swap('y', null, 1);
      hands.write('x', 2);
      const [late, read] = [
        hands.begin({ action: 'write', unit: UNIT, key: 'y', op: 7, value: Uint8Array.of(7) }),
        hands.begin({ action: 'read', unit: UNIT, key: 'x', op: 8 }),
      ];
      hands.storage.strike('restore', { unit: UNIT });
      expect([hands.finish(late), hands.finish(read)]).toEqual([
        { op: 7, ok: false, isLost: false, value: null, version: null, keys: null },
        { op: 8, ok: false, isLost: false, value: null, version: null, keys: null },
      ]);
      // Nothing is done for whoever has not opened the unit since.
      expect(hands.write('x', 3).ok).toBe(false);
      expect(hands.storage.epochs.open(0, UNIT)).toBe(false);
      states.add(`x=${hands.read('x')} y=${hands.read('y')}`);
      expect([hands.counts['restored-unit'], hands.counts['refused-access']]).toEqual([1, 3]);
    }
    expect(states).toEqual(new Set(['x=2 y=1', 'x=1 y=1', 'x=1 y=null', 'x=null y=null']));
  });

  test('leaves an epoch behind that others need not wait out once one of them has', () => {
    const { storage } = new Hands();
    expect(storage.epochs.open(0, UNIT)).toBe(true);
    storage.strike('restore', { unit: UNIT });
    expect([storage.epochs.refuses(0, UNIT), storage.epochs.open(0, UNIT), storage.epochs.refuses(0, UNIT)]).toEqual([true, false, false]);
    storage.epochs.noteWaitedOut(0, UNIT);
    expect(storage.epochs.open(1, UNIT)).toBe(true);
    storage.strike('restore', { unit: UNIT });
    // Whoever waited under the epoch before says nothing of this one.
    storage.epochs.noteWaitedOut(0, UNIT);
    expect(storage.epochs.open(1, UNIT)).toBe(false);
  });

  test('befalls own disks too, each its own', () => {
    const hands = new Hands();
    hands.write('x', 1, OWN_DISK);
    hands.storage.strike('corrupt', { unit: OWN_DISK, node: 1 });
    expect(hands.read('x', OWN_DISK)).toBe(1);
    hands.storage.strike('corrupt', { unit: OWN_DISK, node: 0 });
    expect(hands.read('x', OWN_DISK)).toBe(254);
    expect(hands.counts['disk-damaged']).toBe(1);
  });

  test('sends a write to another key that is there, and acknowledges it', () => {
    const hands = new Hands({ misdirectPpm: 1_000_000 });
    hands.write('x', 1);
    expect(hands.read('x')).toBe(1);
    expect(hands.write('y', 2).ok).toBe(true);
    expect([hands.read('x'), hands.read('y')]).toEqual([2, null]);
    expect(hands.counts['misdirected-write']).toBe(1);
  });

  test('lets a write take effect twice, the second time over a newer one', () => {
    const hands = new Hands({ repeatPpm: 1_000_000 });
    const first = hands.begin({ action: 'write', unit: UNIT, key: 'x', op: 1, value: Uint8Array.of(1) });
    expect(first.againUs).toBeGreaterThanOrEqual(first.effectUs);
    hands.finish(first);
    hands.write('x', 2);
    hands.storage.takeEffectAgain(first);
    expect(hands.read('x')).toBe(1);
  });

  test('draws nothing where the world has no such faults', () => {
    const drawn: number[] = [];
    const chooser = { below: (bound: number) => (drawn.push(bound), 0) };
    const storage = new Storage(chooser, noFaults(), 1_000, noCounts());
    storage.begin(0, 0, { action: 'write', unit: UNIT, key: 'x', op: 1, value: Uint8Array.of(1) }, 0);
    expect(drawn.length).toBe(2);
  });
});

describe('on a stage', () => {
  const play = (lines: readonly string[], setting = ''): { text: string; failures: readonly string[] } =>
    runScript(`stage register${setting}\nstart\n${lines.join('\n')}\n`);

  test('of two swaps that have seen the same, the one that takes effect first wins', () => {
    const lines = ['swap p k nothing one', 'swap q k nothing two', 'effect q #1', 'answer p #1', 'answer q #1', 'read p k', 'answer p #2'];
    const { text } = play(lines);
    expect(text).toContain('p is told: lost (operation 1)');
    expect(text).toContain('q has written 0/k');
    expect(text).toContain('p read 0/k: two');
  });

  test('a list finds what is there, or another list that a regular unit may give, and no other', () => {
    const lines = ['write p a one', 'answer p #1', "list q ''", 'write p b two', 'answer p #2'];
    expect(play([...lines, 'answer q #1']).text).toContain('q is told: listed a, b (operation 1)');
    expect(play([...lines, 'answer q #1 listing a']).text).toContain('q is told: listed a (operation 1)');
    expect(play([...lines, 'answer q #1 listing b']).failures).toEqual([expect.stringContaining('no regular register answers that')]);
  });

  test.each([
    [
      'a write that goes astray',
      ['write p x one', 'answer p #1', 'write p k two', 'misdirect p #2 to x', 'answer p #2', 'read q k', 'answer q #1'],
    ],
    [
      'a write that lands twice',
      ['write p k one', 'answer p #1', 'write q k two', 'answer q #1', 'repeat p #1', 'read q k', 'answer q #2'],
    ],
    ['a corrupt record', ['write p k one', 'answer p #1', 'corrupt unit 0 k byte 1', 'read q k', 'answer q #1']],
    [
      'a write that is forgotten',
      ['write p k one', 'answer p #1', 'write q k two', 'answer q #1', 'forget unit 0 k', 'read q k', 'answer q #2'],
    ],
    ['a wiped unit', ['write p k one', 'answer p #1', 'wipe unit 0', 'read q k', 'answer q #1']],
  ])('%s breaks regularity', (_what, lines) => {
    const { text, failures } = play(lines, ' breaks=regularity');
    expect(failures).toEqual([]);
    expect(text).toContain('VIOLATION of regularity');
  });

  test.each([
    ['wipe unit 1', 'there is no such unit'],
    ['corrupt unit 0 k', 'there is no such record'],
    ['corrupt the k', 'storage is written like'],
    ['wipe unit 0 k', "'k' is not understood"],
    ['forget unit 0', 'it names no key'],
    ['misdirect p #1', "'to'"],
    ['misdirect p #1 to x', 'no such access'],
    ['repeat p #1', 'no such change'],
    ['restore disk p without 1', 'written like'],
    ['restore unit 0 by 1', 'written like'],
  ])('%s is refused', (line, why) => {
    expect(play([line]).failures).toEqual([expect.stringContaining(why)]);
  });

  test('what is done to storage is read as it is written', () => {
    const names = ['p', 'q'];
    const actions: StageAction[] = [
      { kind: 'answer', node: 0, access: 1, listing: [] },
      { kind: 'answer', node: 0, access: 1, listing: ['a', 'b c'] },
      { kind: 'answer', node: 0, access: 1, finding: null },
      { kind: 'misdirect', node: 1, access: 2, to: 'a b' },
      { kind: 'repeat', node: 1, access: 2 },
      { kind: 'corrupt', unit: 3, key: 'x', byte: 4 },
      { kind: 'corrupt', unit: OWN_DISK, node: 1, key: 'x', byte: 0 },
      { kind: 'forget', unit: 0, key: 'x' },
      { kind: 'wipe', unit: 0 },
      { kind: 'restore', unit: 0, changes: 3 },
    ];
    for (const action of actions) expect(parseAction(formatAction(action, names), names)).toEqual(action);
  });
});
