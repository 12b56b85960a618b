/** Accesses to storage in the explorer: everything that a regular register allows, and no more. */
import { describe, expect, test } from 'vitest';
import { stateHash, type Json } from '../../src/kernel/index.ts';
import { OWN_DISK } from '../../src/core/index.ts';
import type { HistoryRecord, RecordKind, Referee, Violation } from '../../src/check/index.ts';
import { exploring, usualBounds, type Budgets, type Exploration } from '../../src/sim/explorer/index.ts';
import { StorageStates, type StorageId, type StorageMove } from '../../src/sim/explorer/storage.ts';
import type { AccessRequest } from '../../src/sim/registers.ts';
import { bytesAsText } from '../../src/sim/regular-register.ts';
import type { AccessRef, ProcessAccess } from '../../src/sim/stage/actions.ts';
import { registerWorld } from '../support/kits.ts';

const LIMITS = { maxStates: 1_000_000, isOver: () => false };
const SLOW = 60_000;

function explore(bounds: object, mutant: string | null = null, referee?: () => Referee): Exploration {
  const { staging } = registerWorld;
  const protocol = { ...staging.protocol, ...(referee ? { referees: () => [referee()] } : {}) };
  const all: Budgets = { ...usualBounds(registerWorld.bounds), ...bounds };
  return exploring({ ...registerWorld, staging: { ...staging, protocol } }).explore(all, mutant, LIMITS);
}

/** Objects when it has seen what it waits for: that the explorer gets there is what is tested. */
class Sighting implements Referee {
  readonly property = 'sighting';
  readonly handles: readonly RecordKind[] = ['invoked', 'responded', 'crashed'];
  readonly #isIt: (record: HistoryRecord, before: readonly HistoryRecord[]) => boolean;
  #records: readonly HistoryRecord[] = [];

  constructor(isIt: (record: HistoryRecord, before: readonly HistoryRecord[]) => boolean) {
    this.#isIt = isIt;
  }

  observe(record: HistoryRecord): Violation | null {
    const before = this.#records;
    this.#records = [...before, record];
    return this.#isIt(record, before) ? { property: this.property, at: record.at, message: 'seen' } : null;
  }

  finish(): readonly Violation[] {
    return [];
  }

  snapshot(): Json {
    return this.#records as unknown as Json;
  }

  restore(memory: Json): void {
    this.#records = memory as unknown as readonly HistoryRecord[];
  }
}

const readsOf = (records: readonly HistoryRecord[]): (string | null | undefined)[] =>
  records.flatMap((record) => (record.kind === 'responded' && record.value !== undefined ? [record.value] : []));

describe('the register of the simulator, with everything that can happen to two clients', () => {
  test(
    'is regular',
    () => {
      const { exhausted, found, states } = explore({ operations: 2 });
      expect(found).toBeNull();
      expect(exhausted).toBe(true);
      expect(states).toBeGreaterThan(5000);
    },
    SLOW,
  );

  test('is not with a client that answers reads with what it saw last', () => {
    const { found } = explore({}, 'cached-read');
    expect(found?.violation.property).toBe('regularity');
    expect(found?.lines.map(({ line }) => line)).toEqual(['write p k 0.0.1', 'answer p #1', 'write q k 1.0.1', 'answer q #1', 'read p k']);
  });

  test.each<readonly [string, (record: HistoryRecord, before: readonly HistoryRecord[]) => boolean, object]>([
    [
      'a read finds nothing after another read found something: no register of this sort is atomic',
      (record, before) => record.kind === 'responded' && record.value === null && readsOf(before).some((value) => value !== null),
      { crashes: 0, failures: 0 },
    ],
    [
      'a write of a crashed client is found',
      (record, before) =>
        record.kind === 'responded' &&
        typeof record.value === 'string' &&
        before.some(({ kind, node }) => kind === 'crashed' && `${node}` === record.value?.[0]) &&
        !readsOf(before).includes(record.value),
      { failures: 0 },
    ],
  ])('%s', (_what, isIt, bounds) => {
    const { found } = explore({ operations: 2, ...bounds }, null, () => new Sighting(isIt));
    expect(found?.violation.property).toBe('sighting');
  });
});

/** What reads may be answered with. */
function findings(storage: StorageStates, id: StorageId): (string | null)[] {
  return storage
    .moves(id)
    .flatMap(({ action, completion }) =>
      action.kind === 'answer' && action.finding !== undefined ? [bytesAsText(completion?.value ?? null)] : [],
    );
}

const bytes = (text: string): Uint8Array => Uint8Array.from(text, (one) => one.charCodeAt(0));
const write = (op: number, text: string, unit = 0) => ({
  action: 'write' as const,
  op,
  unit,
  key: 'k',
  value: bytes(text),
});
const read = (op: number, unit = 0) => ({ action: 'read' as const, op, unit, key: 'k' });

const isOf = ({ node, access }: AccessRef<ProcessAccess>, ofNode: number, op: number): boolean =>
  node === ofNode && access.request.op === op;

class Shelf {
  readonly storage: StorageStates;
  id: StorageId = 0;
  #asks = 0;

  constructor(hasDamage = false) {
    this.storage = new StorageStates({ hasDamage, isAtomic: false });
  }

  get moves(): readonly StorageMove[] {
    return this.storage.moves(this.id);
  }

  ask(node: number, ...asked: readonly AccessRequest[]): this {
    this.id = this.storage.ask(this.id, node, node + 1, asked, ++this.#asks);
    return this;
  }

  do(kind: StorageMove['action']['kind'], node: number, op: number): this {
    return this.follow(this.moves.find(({ action }) => action.kind === kind && 'access' in action && isOf(action, node, op)));
  }

  follow(move: StorageMove | undefined): this {
    if (!move) throw new Error('that is not possible');
    this.id = move.next;
    return this;
  }
}

describe('a read of a shared unit', () => {
  test('finds what is being written, or what was answered last before it began', () => {
    const shelf = new Shelf().ask(0, write(1, 'a')).do('answer', 0, 1).ask(0, write(2, 'b')).ask(1, read(1));
    expect(findings(shelf.storage, shelf.id)).toEqual(['a', 'b']);
    shelf.do('answer', 0, 2);
    expect(findings(shelf.storage, shelf.id)).toEqual(['a', 'b']);
    shelf.do('answer', 1, 1).ask(1, read(2));
    expect(findings(shelf.storage, shelf.id)).toEqual(['b']);
  });

  test('finds nothing only if no write was answered before it began', () => {
    const shelf = new Shelf().ask(0, write(1, 'a')).ask(1, read(1)).do('answer', 0, 1).ask(1, read(2));
    const byOp = (op: number): (string | null)[] =>
      shelf.moves.flatMap(({ action, completion }) =>
        action.kind === 'answer' && isOf(action, 1, op) ? [bytesAsText(completion?.value ?? null)] : [],
      );
    expect(byOp(1)).toEqual([null, 'a']);
    expect(byOp(2)).toEqual(['a']);
  });

  test('may find a write that failed for ever, and one that failed after its effect until the next is answered', () => {
    const never = new Shelf().ask(0, write(1, 'a')).do('fail', 0, 1).ask(0, write(2, 'b')).do('answer', 0, 2).ask(1, read(1));
    expect(new Set(findings(never.storage, never.id))).toEqual(new Set(['a', 'b']));
    const after = new Shelf()
      .ask(0, write(1, 'a'))
      .do('effect', 0, 1)
      .do('fail', 0, 1)
      .ask(0, write(2, 'b'))
      .do('answer', 0, 2)
      .ask(1, read(1));
    expect(findings(after.storage, after.id)).toEqual(['b']);
  });

  test('does not find a write whose effect was before that of an answered one, whichever is answered first', () => {
    const shelf = new Shelf()
      .ask(0, write(1, 'a'))
      .ask(1, write(1, 'b'))
      .do('effect', 0, 1)
      .do('answer', 1, 1)
      .do('answer', 0, 1)
      .ask(1, read(2));
    expect(findings(shelf.storage, shelf.id)).toEqual(['b']);
  });
});

const swap = (op: number, seen: string | null, text: string | null) => ({
  action: 'swap' as const,
  op,
  unit: 0,
  key: 'k',
  seen: seen === null ? null : bytes(seen),
  value: text === null ? null : bytes(text),
});

describe('a swap', () => {
  const found = (shelf: Shelf): (string | null)[] => findings(shelf.storage, shelf.ask(9, read(9)).id);

  test('is won or lost by what is there when it takes effect, and is told so', () => {
    const shelf = new Shelf().ask(0, swap(1, null, 'a')).ask(1, swap(1, null, 'b'));
    shelf.do('effect', 1, 1);
    const told = shelf.moves.flatMap(({ action, completion }) => (action.kind === 'answer' && completion ? [completion] : []));
    expect(told.map(({ isLost, version }) => [isLost, bytesAsText(version)])).toEqual([
      [true, null],
      [false, 'b'],
    ]);
    shelf.do('answer', 0, 1);
    expect(found(shelf)).toEqual([null, 'b']);
    expect(found(shelf.do('answer', 9, 9).do('answer', 1, 1))).toEqual(['b']);
  });

  test('is found by no read until it has won', () => {
    expect(found(new Shelf().ask(0, swap(1, null, 'a')))).toEqual([null]);
  });

  test('of which nobody knows what became of it may take effect at any later time, if it still finds what it has seen', () => {
    const unknown = new Shelf().ask(0, swap(1, null, 'a')).do('fail', 0, 1);
    expect(unknown.moves.map(({ action, completion }) => [action.kind, completion])).toEqual([['effect', null]]);
    const late = unknown.ask(1, swap(1, null, 'b'), swap(2, 'b', null)).do('answer', 1, 1);
    const lost = late.id;
    expect(findings(late.storage, late.do('effect', 0, 1).ask(9, read(9)).id)).toEqual(['b']);
    late.id = lost;
    expect(found(late.do('answer', 1, 2).do('effect', 0, 1))).toEqual([null, 'a']);
  });

  test('to nothing leaves storage as if nothing had ever been there', () => {
    expect(
      new Shelf()
        .ask(0, swap(1, null, 'a'))
        .do('answer', 0, 1)
        .ask(0, swap(2, 'a', null))
        .do('answer', 0, 2).id,
    ).toBe(0);
    expect(
      new Shelf().ask(0, write(1, 'a')).do('answer', 0, 1).ask(0, { action: 'erase', op: 2, unit: 0, key: 'k' }).do('answer', 0, 2).id,
    ).toBe(0);
  });
});

describe('a list', () => {
  const put = (op: number, key: string): AccessRequest => ({ ...write(op, 'x'), key });
  const erase = (op: number, key: string): AccessRequest => ({ action: 'erase', op, unit: 0, key });
  const listings = (shelf: Shelf): string[] =>
    shelf.moves
      .flatMap(({ action, completion }) => (action.kind === 'answer' && completion?.keys ? [completion.keys.join(' ')] : []))
      .sort();

  test('names what is there all the while, and what comes or goes meanwhile or not', () => {
    const shelf = new Shelf().ask(0, put(1, 'a/1'), put(2, 'a/2'), put(3, 'b')).do('answer', 0, 1).do('answer', 0, 2).do('answer', 0, 3);
    shelf.ask(1, { action: 'list', op: 1, unit: 0, key: 'a/' });
    expect(listings(shelf)).toEqual(['a/1 a/2']);
    shelf.ask(0, erase(4, 'a/1'), put(5, 'a/3'));
    expect(listings(shelf)).toEqual(['a/1 a/2', 'a/1 a/2 a/3', 'a/2', 'a/2 a/3']);
    // What came and went while it was under way may be named, too.
    shelf.do('answer', 0, 4).do('answer', 0, 5).ask(0, erase(6, 'a/3')).do('answer', 0, 6);
    expect(listings(shelf)).toEqual(['a/1 a/2', 'a/1 a/2 a/3', 'a/2', 'a/2 a/3']);
    shelf.ask(1, { action: 'list', op: 2, unit: 0, key: 'a/' }).do('answer', 1, 1);
    expect(listings(shelf)).toEqual(['a/2']);
  });
});

describe('damage', () => {
  const there = (shelf: Shelf): (string | null)[] => findings(shelf.storage, shelf.ask(9, read(9)).id);
  const strike = (shelf: Shelf, kind: StorageMove['action']['kind']): Shelf =>
    shelf.follow(shelf.moves.find(({ action }) => action.kind === kind));
  const written = (): Shelf => new Shelf(true).ask(0, write(1, 'a')).do('answer', 0, 1).ask(0, write(2, 'b')).do('answer', 0, 2);

  test('befalls nothing in a world that has none', () => {
    expect(new Shelf().ask(0, write(1, 'a')).do('answer', 0, 1).moves).toEqual([]);
  });

  test('inverts a byte, brings back what was there before, or takes all away', () => {
    expect(written().moves.map(({ action }) => action.kind)).toEqual(['corrupt', 'forget', 'wipe']);
    expect(there(strike(written(), 'corrupt'))).toEqual([String.fromCharCode(98 ^ 0xff)]);
    expect(there(strike(written(), 'forget'))).toEqual(['a']);
    expect(there(strike(written(), 'wipe'))).toEqual([null]);
  });

  test('lets a write go to the key of another record', () => {
    const shelf = written().ask(1, { ...write(1, 'c'), key: 'other' });
    const astray = shelf.moves.find(({ action }) => action.kind === 'misdirect');
    expect(astray?.action).toMatchObject({ kind: 'misdirect', node: 1, to: 'k' });
    shelf.follow(astray).do('answer', 1, 1);
    expect(there(shelf)).toEqual(['c']);
    expect(findings(shelf.storage, shelf.do('answer', 9, 9).ask(9, { ...read(10), key: 'other' }).id)).toEqual([null]);
  });
});

describe('what is left of storage', () => {
  test('is the same however it came about', () => {
    const one = new Shelf().ask(0, write(1, 'a')).do('answer', 0, 1).ask(0, write(2, 'b')).do('answer', 0, 2);
    const other = new Shelf().ask(1, write(7, 'b')).do('effect', 1, 7).do('answer', 1, 7);
    const names = { node: (node: number | string) => node, incarnation: (incarnation: number) => incarnation };
    expect(stateHash(one.storage.renamed(one.id, names))).toBe(stateHash(other.storage.renamed(other.id, names)));
  });

  test('of a crashed process: its writes to shared units, with nobody to tell, and nothing of its disk', () => {
    const shelf = new Shelf().ask(0, write(1, 'a'), write(2, 'd', OWN_DISK), write(3, 'e', OWN_DISK), read(4)).do('answer', 0, 2);
    shelf.id = shelf.storage.crashed(shelf.id, 0, 1);
    expect(shelf.moves).toMatchObject([{ action: { kind: 'effect', node: 0, access: { incarnation: null, request: { op: 1 } } } }]);
    shelf.do('effect', 0, 1);
    expect(shelf.moves).toEqual([]);
    shelf.ask(0, read(5, OWN_DISK));
    expect(shelf.moves.map(({ action, completion }) => [action.kind, completion?.value])).toEqual([
      ['answer', null],
      ['fail', null],
    ]);
  });

  test('on a disk: what took effect last', () => {
    const shelf = new Shelf()
      .ask(0, write(1, 'a', OWN_DISK))
      .do('answer', 0, 1)
      .ask(0, write(2, 'b', OWN_DISK))
      .do('effect', 0, 2)
      .do('fail', 0, 2);
    shelf.ask(0, read(3, OWN_DISK));
    expect(shelf.moves[0]?.completion?.value).toEqual(Uint8Array.of(98));
  });
});
