/** Leases where the store can compare and set, rule by rule, on virtual time and scripted registers. */
import { describe, expect, test } from 'vitest';
import {
  decodeFloorRecord,
  decodeLeaseRecord,
  encodeLeaseRecord,
  FLOOR_KEY,
  READERS_MAX,
  type LeaseRecord,
  type StorageEvent,
} from '../../../src/core/index.ts';
import { encodeName, incarnation } from '../../../src/kernel/index.ts';
import { ACCESS_US, DELTA_US, of, R, ScriptedStore, TERM_US, TIMING, type Client } from './kit.ts';

/** A record that is there and free is taken in so long: read, swap. One that is not there needs a look at the floor. */
const TAKE_US = 2 * ACCESS_US;
const CREATE_US = 3 * ACCESS_US;

const FREE: LeaseRecord = {
  owner: incarnation(99),
  lease: 1,
  seq: 1,
  token: 1,
  termUs: TERM_US,
  meta: null,
  isHeld: false,
  isGrounded: true,
};

function tokenOf({ events }: Client): number {
  const granted = events.filter((event): event is Extract<StorageEvent, { kind: 'granted' }> => event.kind === 'granted').at(-1);
  return granted?.token ?? 0;
}

function recordOf(store: ScriptedStore): ReturnType<typeof decodeLeaseRecord> {
  return decodeLeaseRecord('r', store.registers.get('r') ?? null);
}

describe('acquire and release', () => {
  test('a lease is held from one read and one swap on, and its deadline counts from when the swap left', () => {
    const store = new ScriptedStore();
    const p = store.cas();
    p.acquire(1);
    store.run(CREATE_US);
    expect(p.said()).toEqual(['granted 1']);
    expect(store.log).toEqual(['read r', 'swap r', `read ${FLOOR_KEY}`]);
    expect(p.remainingUs(1)).toBe(TERM_US - 2 * ACCESS_US);
    p.release(1);
    store.run(ACCESS_US);
    p.acquire(2);
    store.run(TAKE_US);
    expect(p.said()).toEqual(['stopped 1', 'released 1', 'granted 2']);
  });

  test('a dead holder is waited for as long as its own term, not the longest', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.cas(), store.cas()];
    p.acquire(1, { termUs: TERM_US / 10 });
    store.run(CREATE_US);
    store.crash(p);
    q.acquire(1);
    store.run(TERM_US / 10);
    expect(q.said()).toEqual([]);
    // It looks at the floor as well: the record's own holder has not said yet that it did.
    store.run(4 * ACCESS_US + 1);
    expect(q.said()).toEqual(['granted 1']);
  });

  test('of two that swap at the same time one wins, and the other is told who did', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.cas(), store.cas()];
    p.acquire(1, { waitUs: 0 });
    q.acquire(1, { waitUs: 0 });
    store.run(2 * CREATE_US);
    expect(p.said()).toEqual(['granted 1']);
    expect(q.events).toMatchObject([{ kind: 'refused', reason: 'held', holder: { owner: 1 } }]);
  });

  test('a swap whose answer was lost has won: the next read tells, and the deadline counts from that swap', () => {
    const store = new ScriptedStore();
    const p = store.cas();
    p.acquire(1);
    store.run(ACCESS_US / 2);
    store.next({ landsAfterUs: ACCESS_US }, of(p, 'swap'));
    store.run(ACCESS_US / 2);
    const startUs = p.monoUs;
    store.run(TIMING.patienceUs + CREATE_US);
    expect(p.said()).toEqual(['granted 1']);
    expect(p.monoUs + p.remainingUs(1)).toBe(startUs + TERM_US);
  });

  test('one that is found after its term is set free, and taken anew', () => {
    const store = new ScriptedStore();
    const p = store.cas();
    store.next({ doneAfterUs: TERM_US / 50 }, of(p, 'swap'));
    p.acquire(1, { termUs: TERM_US / 100 });
    store.run(TERM_US / 25 + 4 * DELTA_US);
    const said = p.said();
    expect(said[0]).toBe('voided 1');
    expect(said).toContain('granted 1');
  });

  test('a request that is called off while its swap is under way gives back what it got', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.cas(), store.cas()];
    p.acquire(1);
    store.run(ACCESS_US);
    p.command({ kind: 'cancel', lease: 1 });
    store.run(2 * ACCESS_US);
    expect(p.said()).toEqual(['refused 1 cancelled']);
    expect(recordOf(store)).toMatchObject({ owner: 1, isHeld: false });
    q.acquire(1);
    store.run(2 * TAKE_US);
    expect(q.said()).toEqual(['granted 1']);
  });

  test('a release that lands late ends nothing but the lease it was for', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.cas(), store.cas()];
    p.acquire(1);
    store.run(CREATE_US);
    for (let i = 0; i < 50; i++) store.next({ landsAfterUs: 2 * TERM_US }, of(p, 'swap'));
    p.release(1);
    q.acquire(1, { keep: true });
    store.run(4 * TERM_US);
    expect(q.said()[0]).toBe('granted 1');
    expect(q.remainingUs(1)).toBeGreaterThan(0);
    expect(recordOf(store)).toMatchObject({ owner: 2, isHeld: true });
  });

  test('a damaged record is refused by name, and never taken for free', () => {
    const store = new ScriptedStore();
    const p = store.cas();
    store.registers.set('r', Uint8Array.of(9));
    p.acquire(1);
    store.run(10 * TERM_US);
    expect(p.said()).toEqual(['unreadable 1', 'refused 1 unreadable']);
    p.command({ kind: 'query', lease: 2, name: R });
    store.run(ACCESS_US);
    expect(p.events.at(-1)).toMatchObject({ kind: 'answered', certain: false });
  });

  test('under a new epoch nobody takes anything before one observation has passed', () => {
    const store = new ScriptedStore();
    const q = store.cas();
    q.command({ kind: 'epoch', isWaitedOut: false });
    q.acquire(1, { waitUs: 0 });
    store.run(TIMING.observationUs - 1);
    expect(q.said()).toEqual([]);
    store.run(2 * CREATE_US);
    expect(q.said()).toEqual(['epoch-waited', 'granted 1']);
  });
});

describe('a record that this process has set free', () => {
  /** It was held by the client, and given back. */
  function givenBack(store: ScriptedStore, p: Client): void {
    p.acquire(1);
    store.run(CREATE_US);
    p.release(1);
    store.run(ACCESS_US);
    store.log = [];
  }

  test('is taken by one swap, without a look', () => {
    const store = new ScriptedStore();
    const p = store.cas();
    givenBack(store, p);
    const before = tokenOf(p);
    p.acquire(2);
    store.run(ACCESS_US);
    expect(store.log).toEqual(['swap r']);
    expect(p.said().at(-1)).toBe('granted 2');
    p.wallOffUs = -TERM_US;
    p.release(2);
    p.acquire(3);
    store.run(2 * ACCESS_US);
    expect(tokenOf(p)).toBeGreaterThan(before);
  });

  test('is read once another has had it: the swap loses, and the token is above the other’s', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.cas(), store.cas()];
    givenBack(store, p);
    q.wallOffUs = TERM_US;
    q.acquire(1);
    store.run(TAKE_US);
    q.release(1);
    store.run(ACCESS_US);
    store.log = [];
    p.acquire(2);
    store.run(ACCESS_US + TAKE_US);
    expect(store.log).toEqual(['swap r', 'read r', 'swap r']);
    expect(p.said().at(-1)).toBe('granted 2');
    expect(recordOf(store)).toMatchObject({ owner: 1, isHeld: true });
    p.release(2);
    store.run(ACCESS_US);
    p.acquire(3);
    store.run(ACCESS_US);
    expect(tokenOf(p)).toBeGreaterThan(tokenOf(q));
  });

  test('is watched by a try that lost its swap, though another has written since: it may be dead', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.cas(), store.cas()];
    givenBack(store, p);
    q.acquire(1, { termUs: TERM_US / 10 });
    store.run(TAKE_US);
    store.crash(q);
    p.said();
    p.acquire(2, { waitUs: 0 });
    store.run(TERM_US / 10);
    expect(p.said()).toEqual([]);
    store.run(TERM_US / 10);
    expect(p.said()).toEqual(['granted 2']);
  });

  test('is taken under a new epoch no sooner than any other', () => {
    for (const isFreedInIt of [false, true]) {
      const store = new ScriptedStore();
      const p = store.cas();
      if (!isFreedInIt) givenBack(store, p);
      else {
        p.acquire(1);
        store.run(CREATE_US);
      }
      p.command({ kind: 'epoch', isWaitedOut: false });
      if (isFreedInIt) p.release(1);
      store.run(ACCESS_US);
      p.said();
      p.acquire(2, { waitUs: 0 });
      store.run(TIMING.observationUs - ACCESS_US - 1);
      expect(p.said()).toEqual([]);
      store.run(2 * TAKE_US);
      expect(p.said()).toEqual(['epoch-waited', 'granted 2']);
    }
  });

  test('is read where the answer to its release was lost', () => {
    const store = new ScriptedStore();
    const p = store.cas();
    p.acquire(1);
    store.run(CREATE_US);
    store.next({ landsAfterUs: ACCESS_US }, of(p, 'swap'));
    p.release(1);
    store.run(TIMING.patienceUs + ACCESS_US);
    expect(p.said()).toEqual(['granted 1', 'stopped 1', 'released 1']);
    store.log = [];
    p.acquire(2);
    store.run(TAKE_US);
    expect(store.log).toEqual(['read r', 'swap r']);
  });
});

test('one that always finds another faster waits no longer than it was told', () => {
  const store = new ScriptedStore();
  const p = store.cas();
  p.acquire(1, { waitUs: 10 * ACCESS_US });
  for (let seq = 1; seq < 20; seq++) {
    store.registers.set('r', encodeLeaseRecord('r', { ...FREE, seq }));
    store.run(ACCESS_US);
  }
  expect(p.said()).toEqual(['refused 1 timeout']);
  expect(store.log.length).toBeLessThan(14);
});

test('one whose swaps are not answered waits no longer than it was told either', () => {
  const store = new ScriptedStore();
  const p = store.cas();
  const waitUs = 3 * TIMING.patienceUs;
  for (let i = 0; i < 50; i++) store.next('lost', of(p, 'swap'));
  p.acquire(1, { waitUs });
  // Another has it for a moment each time, and gives it back.
  for (let seq = 1; seq < 20 && p.events.length === 0; seq++) {
    store.registers.set('r', encodeLeaseRecord('r', { ...FREE, seq }));
    store.run(TIMING.patienceUs / 2);
  }
  expect(p.said()).toEqual(['refused 1 timeout']);
  expect(store.nowUs).toBeLessThanOrEqual(1_000_000_000 + waitUs + 2 * TIMING.patienceUs);
});

describe('renew', () => {
  test('a renewal for a shorter term lets nobody in before the deadline that stands, whether its answer comes or not', () => {
    for (const isAnswered of [true, false]) {
      const store = new ScriptedStore();
      const [p, q] = [store.cas(), store.cas()];
      p.acquire(1);
      store.run(CREATE_US);
      const endUs = p.monoUs + p.remainingUs(1);
      if (!isAnswered) {
        store.next({ landsAfterUs: ACCESS_US }, of(p, 'swap'));
        for (let i = 0; i < 1000; i++) store.next('lost', of(p, 'read'));
      }
      p.command({ kind: 'renew', lease: 1, name: R, termUs: TERM_US / 10 });
      q.acquire(1);
      store.run(endUs - p.monoUs - 1);
      expect([p.remainingUs(1), q.said()]).toEqual([1, []]);
      store.run(TERM_US / 10 + TIMING.patienceUs);
      expect(q.said()).toEqual(['granted 1']);
    }
  });

  test('is one swap, and counts from when it left', () => {
    const store = new ScriptedStore();
    const p = store.cas();
    p.acquire(1, { keep: true });
    store.run(CREATE_US);
    store.log = [];
    store.run(TERM_US / 3);
    expect(store.log).toEqual(['swap r']);
    expect(p.said()).toEqual(['granted 1', 'renewed 1']);
  });

  test('of which no answer came is found in the record, and adopted with its own start', () => {
    const store = new ScriptedStore();
    const p = store.cas();
    p.acquire(1, { keep: true });
    store.run(CREATE_US);
    store.next({ landsAfterUs: ACCESS_US }, of(p, 'swap'));
    store.run(TERM_US / 3 + TIMING.patienceUs);
    expect(p.said()).toEqual(['granted 1', 'renewed 1']);
    expect(p.remainingUs(1)).toBeLessThan(TERM_US - TIMING.patienceUs / 2);
  });

  test('that failed without effect is tried again, and the old deadline stands', () => {
    const store = new ScriptedStore();
    const p = store.cas();
    p.acquire(1, { keep: true });
    store.run(CREATE_US);
    store.next('failed', of(p, 'swap'));
    store.run(TERM_US / 2);
    expect(p.said()).toEqual(['granted 1', 'renewal-failed 1', 'renewed 1']);
  });

  test('that finds another in the record stops at once', () => {
    const [store, other] = [new ScriptedStore(), new ScriptedStore()];
    const p = store.cas();
    p.acquire(1, { keep: true });
    store.run(CREATE_US);
    const thief = other.cas();
    thief.acquire(5);
    other.run(CREATE_US);
    for (const [key, bytes] of other.registers) store.registers.set(key, bytes);
    store.run(TERM_US / 3 + 2 * ACCESS_US);
    expect(p.said()).toEqual(['granted 1', 'lost 1']);
  });

  test('that wins after the deadline revives nothing, and is set free', () => {
    const store = new ScriptedStore();
    const p = store.cas();
    p.acquire(1, { keep: true });
    store.run(CREATE_US);
    for (let i = 0; i < 100; i++) store.next({ doneAfterUs: 2 * TERM_US }, of(p, 'swap'));
    store.run(TERM_US + ACCESS_US);
    const said = p.said();
    expect(said).toContain('lost 1');
    expect(said).not.toContain('renewed 1');
  });

  test('carries what was proclaimed', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.cas(), store.cas()];
    p.acquire(1);
    store.run(CREATE_US);
    p.command({ kind: 'proclaim', lease: 1, name: R, meta: Uint8Array.of(3), number: 7 });
    store.run(ACCESS_US);
    expect(p.said()).toEqual(['granted 1', 'renewed 1', 'proclaimed 1']);
    q.command({ kind: 'query', lease: 1, name: R });
    store.run(ACCESS_US);
    expect(q.events).toMatchObject([{ holder: { owner: 1 }, certain: true, meta: Uint8Array.of(3) }]);
  });
});

test('a swap of an earlier epoch that lands in this one makes no holder: what came before it may be lost', () => {
  const store = new ScriptedStore();
  const [p, q] = [store.cas(), store.cas()];
  q.acquire(1);
  store.run(CREATE_US);
  q.release(1);
  store.run(ACCESS_US);
  const free = store.registers.get('r') ?? new Uint8Array();
  store.next({ landsAfterUs: 10 * ACCESS_US }, of(p, 'swap'));
  p.acquire(1);
  store.run(ACCESS_US);
  q.acquire(2);
  store.run(TAKE_US);
  // The store has started anew without what the other wrote.
  store.registers.set('r', free);
  p.command({ kind: 'epoch', isWaitedOut: false });
  store.run(20 * DELTA_US);
  expect(recordOf(store)).toMatchObject({ owner: 1 });
  expect([q.remainingUs(2) > 0, p.said()]).toEqual([true, []]);
  store.run(TIMING.observationUs);
  expect([q.remainingUs(2), p.said()]).toEqual([0, ['epoch-waited', 'granted 1']]);
});

describe('tokens', () => {
  test('are above the record, whatever wall clocks say', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.cas(), store.cas()];
    q.wallOffUs = -100 * TERM_US;
    p.acquire(1);
    store.run(CREATE_US);
    p.release(1);
    store.run(ACCESS_US);
    q.acquire(1);
    store.run(TAKE_US);
    expect(tokenOf(q)).toBe(tokenOf(p) + 1);
  });

  test('are above those of records that were erased', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.cas(), store.cas()];
    q.wallOffUs = -100 * TERM_US;
    p.acquire(1);
    store.run(CREATE_US);
    p.command({ kind: 'compact', lease: 2, name: R });
    store.run(4 * ACCESS_US);
    expect(p.said()).toContain('compacted 2');
    expect(store.registers.has('r')).toBe(true);
    p.acquire(3);
    p.release(1);
    store.run(ACCESS_US + TAKE_US);
    const token = tokenOf(p);
    p.release(3);
    store.run(ACCESS_US);
    p.command({ kind: 'compact', lease: 4, name: R });
    store.run(4 * ACCESS_US);
    expect(p.events.at(-1)).toEqual({ kind: 'compacted', lease: 4, erased: true });
    expect(store.registers.has('r')).toBe(false);
    q.acquire(1);
    store.run(CREATE_US + ACCESS_US);
    expect(tokenOf(q)).toBe(token + 1);
  });

  test('of erased records are below the floor, though another that erases raises it less meanwhile', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.cas(), store.cas()];
    const name = encodeName('s');
    p.acquire(1, { name });
    store.run(CREATE_US);
    p.command({ kind: 'release', lease: 1, name });
    p.acquire(2);
    store.run(CREATE_US);
    p.release(2);
    store.run(ACCESS_US);
    store.next({ doneAfterUs: 6 * ACCESS_US }, of(p, 'swap', FLOOR_KEY));
    p.command({ kind: 'compact', lease: 3, name: R });
    q.command({ kind: 'compact', lease: 4, name });
    store.run(20 * ACCESS_US);
    expect([...store.registers.keys()]).toEqual([FLOOR_KEY]);
    expect(decodeFloorRecord(store.registers.get(FLOOR_KEY) ?? null)).toBe(tokenOf(p));
  });

  test('are above them also where the clock shows the very token of one that was erased', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.cas(), store.cas()];
    p.acquire(1);
    store.run(CREATE_US);
    p.release(1);
    store.run(ACCESS_US);
    p.command({ kind: 'compact', lease: 2, name: R });
    store.run(4 * ACCESS_US);
    q.wallOffUs = tokenOf(p) - q.wallUs - ACCESS_US;
    q.acquire(1);
    store.run(CREATE_US + ACCESS_US);
    expect(tokenOf(q)).toBe(tokenOf(p) + 1);
  });

  test('are above them also for one that found nothing before the record came and went', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.cas(), store.cas()];
    q.wallOffUs = -100 * TERM_US;
    q.acquire(1);
    store.run(ACCESS_US / 2);
    store.next({ doneAfterUs: 20 * ACCESS_US }, of(q, 'swap'));
    store.run(ACCESS_US / 2);
    p.acquire(1);
    store.run(CREATE_US);
    const token = tokenOf(p);
    p.release(1);
    store.run(ACCESS_US);
    p.command({ kind: 'compact', lease: 2, name: R });
    store.run(4 * ACCESS_US);
    expect(store.registers.has('r')).toBe(false);
    store.run(20 * ACCESS_US);
    expect(q.said()).toEqual(['granted 1']);
    expect(recordOf(store)).toMatchObject({ owner: 2, token: token + 1, isGrounded: true });
  });

  test('one whose creator crashed before it saw the floor is raised by the next', () => {
    const store = new ScriptedStore();
    const [p, q, r] = [store.cas(), store.cas(), store.cas()];
    for (const one of [q, r]) one.wallOffUs = -100 * TERM_US;
    p.acquire(1);
    store.run(CREATE_US);
    const token = tokenOf(p);
    p.release(1);
    store.run(ACCESS_US);
    p.command({ kind: 'compact', lease: 2, name: R });
    store.run(4 * ACCESS_US);
    q.acquire(1, { termUs: TERM_US / 10 });
    store.run(TAKE_US);
    store.crash(q);
    expect(recordOf(store)).toMatchObject({ owner: 2, isGrounded: false });
    r.acquire(1);
    store.run(TERM_US / 10 + 5 * ACCESS_US);
    expect(tokenOf(r)).toBe(token + 1);
  });
});

describe('questions', () => {
  test('are answered for certain by one read', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.cas(), store.cas()];
    p.acquire(1);
    store.run(CREATE_US);
    q.command({ kind: 'query', lease: 1, name: R });
    store.run(ACCESS_US);
    p.release(1);
    store.run(ACCESS_US);
    q.command({ kind: 'query', lease: 2, name: R });
    store.run(ACCESS_US);
    expect(q.events).toMatchObject([
      { holder: { owner: 1, remainingUsMax: TERM_US + 1 }, certain: true },
      { holder: null, certain: true },
    ]);
  });
});

describe('readers', () => {
  /** As many readers as there is room for, all of them dead. */
  function full(): LeaseRecord {
    const row = { owner: incarnation(99), seq: 1, token: 1, termUs: TERM_US };
    const readers = Array.from({ length: READERS_MAX }, (_, lease) => ({ ...row, lease: lease + 1 }));
    return { ...FREE, lease: READERS_MAX, isHeld: true, mode: 'shared', readers };
  }

  test('rows of dead readers take up room no longer than their terms: one that waits gets it', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.cas(), store.cas()];
    store.registers.set('r', encodeLeaseRecord('r', full()));
    p.acquire(1, { mode: 'shared', waitUs: 0 });
    q.acquire(1, { mode: 'shared' });
    store.run(TAKE_US);
    expect([p.said(), q.said()]).toEqual([['refused 1 no-room'], []]);
    store.run(TERM_US + TIMING.pollUs + TAKE_US);
    expect(q.said()).toEqual(['granted 1']);
    expect(recordOf(store)).toMatchObject({ readers: [{ lease: 1 }] });
  });

  test('a process that reads may read once more while a writer waits: the writer waits for it anyway', () => {
    const store = new ScriptedStore();
    const [reader, writer, other] = [store.cas(), store.cas(), store.cas()];
    reader.acquire(1, { mode: 'shared', keep: true });
    store.run(CREATE_US);
    writer.acquire(1);
    store.run(10 * ACCESS_US);
    other.acquire(1, { mode: 'shared' });
    reader.acquire(2, { mode: 'shared', keep: true });
    store.run(2 * TERM_US);
    expect([reader.said().filter((said) => said.startsWith('granted')), writer.said(), other.said()]).toEqual([
      ['granted 1', 'granted 2'],
      [],
      [],
    ]);
    reader.release(1);
    reader.release(2);
    store.run(TERM_US / 2);
    expect([writer.said(), other.said()]).toEqual([['granted 1'], []]);
  });
});
