/** Requests on plain registers: records that cannot be read, tries, requests of one process, states, questions. */
import { describe, expect, test } from 'vitest';
import { encodeName } from '../../../src/kernel/index.ts';
import { ACCESS_US, of, R, SAID, ScriptedStore, TERM_US, TIMING } from './kit.ts';

/** A free lease is taken in so long: read, write, pause, read back. */
const TAKE_US = 3 * ACCESS_US + TIMING.pauseUs;

describe('records', () => {
  test('a damaged record is refused by name, and never taken for free', () => {
    const store = new ScriptedStore();
    const p = store.plain();
    store.registers.set('r', Uint8Array.of(1, 2, 3));
    p.acquire(1);
    store.run(10 * TIMING.observationUs);
    expect(p.events).toEqual([
      { kind: 'unreadable', lease: 1, key: 'r', why: 'corrupt' },
      { kind: 'refused', lease: 1, reason: 'unreadable', holder: null, unreached: [] },
    ]);
  });

  test('a record that belongs to another name is refused', () => {
    const store = new ScriptedStore();
    const p = store.plain();
    p.acquire(1, { name: encodeName('s') });
    store.run(TAKE_US);
    store.registers.set('r', store.registers.get('s') ?? new Uint8Array());
    p.acquire(2);
    store.run(TAKE_US);
    expect(p.said()).toEqual(['granted 1', 'unreadable 2', 'refused 2 unreadable']);
  });

  test('a wall clock beyond belief writes no token that others cannot read', () => {
    for (const kind of ['plain', 'cas'] as const) {
      const store = new ScriptedStore();
      const [p, q] = [store[kind](), store[kind]()];
      p.wallOffUs = 7_500_000_000_000_000;
      p.acquire(1);
      store.run(TAKE_US);
      p.release(1);
      store.run(ACCESS_US);
      q.acquire(1);
      store.run(TAKE_US);
      expect([p.said(), q.said()]).toEqual([['granted 1', 'stopped 1', 'released 1'], ['granted 1']]);
    }
  });

  test('a statement that cannot be read releases nothing', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    p.acquire(1);
    store.run(TAKE_US);
    p.release(1);
    store.run(ACCESS_US);
    store.registers.set(SAID, Uint8Array.of(0));
    q.acquire(1);
    store.run(TIMING.observationUs);
    expect(q.said()).not.toContain('granted 1');
    store.run(2 * TAKE_US);
    expect(q.said()).toContain('granted 1');
  });
});

describe('tries', () => {
  test('a try on a record that was not seen before watches it until it changes', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    p.acquire(1, { keep: true });
    store.run(TAKE_US);
    q.acquire(1, { waitUs: 0 });
    store.run(TERM_US / 6);
    expect(q.said()).toEqual([]);
    store.run(TERM_US / 3);
    expect(q.events).toMatchObject([{ kind: 'refused', reason: 'held', holder: { owner: 1 } }]);
  });

  test('or for one observation, and then takes it', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    p.acquire(1, { keep: true });
    store.run(TAKE_US);
    store.crash(p);
    q.acquire(1, { waitUs: 0 });
    store.run(TIMING.observationUs + 2 * TAKE_US);
    expect(q.said()).toEqual(['granted 1']);
  });

  test('a try on a record that has changed since it was last seen is answered at once', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    p.acquire(1, { keep: true });
    store.run(TAKE_US);
    q.acquire(1, { waitUs: 0 });
    store.run(TERM_US / 2);
    q.said();
    store.run(TERM_US / 2);
    q.acquire(2, { waitUs: 0 });
    store.run(ACCESS_US);
    expect(q.said()).toEqual(['refused 2 held']);
  });
});

describe('requests of one process', () => {
  test('for one name queue in it, in order', () => {
    const store = new ScriptedStore();
    const p = store.plain();
    for (const lease of [1, 2, 3]) p.acquire(lease);
    store.run(TAKE_US);
    expect(p.said()).toEqual(['granted 1']);
    p.release(1);
    store.run(TAKE_US + ACCESS_US);
    p.release(2);
    store.run(TAKE_US + ACCESS_US);
    expect(p.said()).toEqual(['stopped 1', 'released 1', 'granted 2', 'stopped 2', 'released 2', 'granted 3']);
  });

  test('are refused at once if they do not wait, and told who holds it', () => {
    const store = new ScriptedStore();
    const p = store.plain();
    p.acquire(1);
    p.acquire(2, { waitUs: 0 });
    store.run(TAKE_US);
    p.acquire(3, { waitUs: 0 });
    expect(p.said()).toEqual(['refused 2 queued', 'granted 1', 'refused 3 held']);
  });

  test('that do not wait stand only behind one that has stopped, not behind others that want it', () => {
    for (const kind of ['plain', 'cas'] as const) {
      const store = new ScriptedStore();
      const p = store[kind]();
      p.acquire(1);
      store.run(TAKE_US);
      p.release(1);
      p.acquire(2, { waitUs: 0 });
      p.acquire(3, { waitUs: 0 });
      expect(p.said()).toEqual(['granted 1', 'stopped 1', 'refused 3 queued']);
      store.run(2 * TAKE_US);
      expect(p.said()).toEqual(['released 1', 'granted 2']);
      p.release(2);
      p.acquire(4);
      p.acquire(5, { waitUs: 0 });
      store.run(2 * TAKE_US);
      expect(p.said()).toEqual(['stopped 2', 'refused 5 queued', 'released 2', 'granted 4']);
    }
  });

  test('end when their patience does, in line or not', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    q.acquire(1, { keep: true });
    store.run(TAKE_US);
    p.acquire(1, { waitUs: TERM_US });
    p.acquire(2, { waitUs: TERM_US / 2 });
    store.run(TERM_US + 2 * ACCESS_US);
    expect(p.said()).toEqual(['refused 2 timeout', 'refused 1 timeout']);
  });

  test('a wait that is shorter than an attempt still takes what is free', () => {
    const store = new ScriptedStore();
    const p = store.plain();
    p.acquire(1, { waitUs: 1 });
    store.run(TAKE_US);
    expect(p.said()).toEqual(['granted 1']);
  });

  test('hints let a waiter look at once', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    p.acquire(1);
    store.run(TAKE_US);
    q.acquire(1);
    store.run(ACCESS_US);
    p.release(1);
    store.run(ACCESS_US);
    q.command({ kind: 'hint', name: R });
    store.run(TAKE_US);
    expect(q.said()).toEqual(['granted 1']);
  });
});

describe('the states of Figures 1 and 4', () => {
  test('are gone through in order', () => {
    const store = new ScriptedStore();
    const p = store.plain();
    expect(p.state(1)).toBe('free');
    p.acquire(1, { keep: true });
    expect(p.state(1)).toBe('try');
    store.run(TAKE_US);
    expect(p.state(1)).toBe('hold');
    store.run(TERM_US / 3 + ACCESS_US);
    expect(p.state(1)).toBe('renew');
    store.run(2 * TAKE_US);
    expect(p.state(1)).toBe('hold');
    p.release(1);
    expect(p.state(1)).toBe('release');
    store.run(ACCESS_US);
    expect(p.state(1)).toBe('free');
  });

  test('a holder that is not looked at past its deadline is in Exit', () => {
    const store = new ScriptedStore();
    const p = store.plain();
    p.acquire(1);
    store.run(TAKE_US);
    store.nowUs += TERM_US;
    expect(p.state(1)).toBe('exit');
    expect(p.remainingUs(1)).toBe(0);
  });

  test('a call that does not fit the state is refused', () => {
    const store = new ScriptedStore();
    const p = store.plain();
    p.acquire(1);
    expect(() => p.acquire(1)).toThrow('in use');
    p.command({ kind: 'renew', lease: 2, name: R, termUs: TERM_US });
    p.command({ kind: 'proclaim', lease: 2, name: R, meta: Uint8Array.of(), number: 1 });
    p.release(2);
    expect(p.said()).toEqual(['renewal-failed 2', 'renewal-failed 2', 'released 2']);
    expect(() => p.acquire(3, { termUs: TERM_US + 1 })).toThrow('longest');
    expect(() => p.command({ kind: 'list', lease: 4, prefix: R })).toThrow('list');
    expect(() => p.command({ kind: 'status', lease: 4, waitUs: 0 })).toThrow('members');
  });
});

describe('questions', () => {
  test('on plain registers it is certain that nobody holds it, and what one holds itself, but not that another does', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    q.command({ kind: 'query', lease: 1, name: R });
    store.run(TIMING.pauseUs + 2 * ACCESS_US);
    expect(q.events.pop()).toMatchObject({ holder: null, certain: true });
    p.acquire(1, { meta: Uint8Array.of(4) });
    store.run(TAKE_US);
    q.command({ kind: 'query', lease: 2, name: R });
    store.run(TIMING.pauseUs + 2 * ACCESS_US);
    expect(q.events.pop()).toMatchObject({ holder: { owner: 1 }, certain: false, meta: Uint8Array.of(4) });
    p.command({ kind: 'query', lease: 2, name: R });
    expect(p.events.pop()).toMatchObject({ holder: { owner: 1, remainingUsMax: p.remainingUs(1) }, certain: true });
    p.release(1);
    store.run(ACCESS_US);
    q.command({ kind: 'query', lease: 3, name: R });
    store.run(TIMING.pauseUs + 2 * ACCESS_US);
    expect(q.events.pop()).toMatchObject({ holder: null, certain: true });
  });

  test('what changes between the two looks is not certain, nor is what cannot be read', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    q.command({ kind: 'query', lease: 1, name: R });
    store.run(ACCESS_US);
    p.acquire(1);
    store.run(TIMING.pauseUs + 2 * ACCESS_US);
    expect(q.events.pop()).toMatchObject({ certain: false });
    store.next('lost', of(q, 'read'));
    q.command({ kind: 'query', lease: 2, name: R });
    store.run(TIMING.patienceUs + ACCESS_US);
    expect(q.events.pop()).toMatchObject({ certain: false });
  });

  test('nothing is certain before a new epoch was waited out: the store may have lost what a holder wrote', () => {
    for (const kind of ['plain', 'cas'] as const) {
      const store = new ScriptedStore();
      const [p, q] = [store[kind](), store[kind]()];
      p.acquire(1);
      store.run(TAKE_US);
      store.registers.clear();
      q.command({ kind: 'epoch', isWaitedOut: false });
      q.command({ kind: 'query', lease: 1, name: R });
      store.run(TAKE_US);
      expect(p.remainingUs(1)).toBeGreaterThan(0);
      expect(q.events.pop()).toMatchObject({ kind: 'answered', holder: null, certain: false });
      // What is read before that is no more certain when it is told after that.
      store.run(TIMING.observationUs - TAKE_US - ACCESS_US / 2 - (kind === 'plain' ? ACCESS_US + TIMING.pauseUs : 0));
      q.command({ kind: 'query', lease: 2, name: R });
      store.run(TAKE_US);
      expect(q.events.pop()).toMatchObject({ kind: 'answered', holder: null, certain: false });
      q.command({ kind: 'query', lease: 3, name: R });
      store.run(TAKE_US);
      expect(q.events.pop()).toMatchObject({ kind: 'answered', holder: null, certain: true });
    }
  });

  test('a record that nobody has touched for an observation has no holder', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    p.acquire(1);
    store.run(TAKE_US);
    store.crash(p);
    for (const lease of [1, 2]) {
      q.command({ kind: 'query', lease, name: R });
      store.run(TIMING.observationUs);
    }
    expect(q.events).toMatchObject([{ holder: { owner: 1 } }, { holder: null, certain: true }]);
  });
});
