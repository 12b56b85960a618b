/** The Δ-lease on plain registers, rule by rule, on virtual time and scripted registers. */
import { describe, expect, test } from 'vitest';
import { encodeNameRecord, encodeStatement, literalTiming } from '../../../src/core/index.ts';
import { incarnation } from '../../../src/kernel/index.ts';
import { ACCESS_US, DELTA_US, of, R, SAID, ScriptedStore, TERM_US, TIMING } from './kit.ts';

/** A free lease is taken in so long: read, write, pause, read back. */
const TAKE_US = 3 * ACCESS_US + TIMING.pauseUs;

describe('CONTEND and RELEASE', () => {
  test('a free lease is taken by a read, a write and a read 2δ after it', () => {
    const store = new ScriptedStore();
    const p = store.plain();
    p.acquire(1);
    store.run(TAKE_US - 1);
    expect(p.said()).toEqual([]);
    store.run(1);
    expect(p.said()).toEqual(['granted 1']);
    expect(store.log).toEqual(['read r', `read ${SAID}`, 'write r', 'read r']);
    expect(p.remainingUs(1)).toBe(TERM_US);
  });

  test('a released lease can be taken at once, though the name is still in its register', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    p.acquire(1);
    store.run(TAKE_US);
    p.release(1);
    expect(p.remainingUs(1)).toBe(0);
    store.run(ACCESS_US);
    expect(p.said()).toEqual(['granted 1', 'stopped 1', 'released 1']);
    expect(store.log.at(-1)).toBe(`write ${SAID}`);
    q.acquire(1);
    store.run(TAKE_US);
    expect(q.said()).toEqual(['granted 1']);
  });

  test('a dead holder is waited for as long as the longest term and 6δ, and then its lease is taken', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    p.acquire(1, { termUs: TERM_US / 10 });
    store.run(TAKE_US);
    store.crash(p);
    q.acquire(1);
    store.run(TIMING.observationUs);
    expect(q.said()).toEqual([]);
    store.run(TAKE_US + ACCESS_US);
    expect(q.said()).toEqual(['granted 1']);
  });

  test('of two that write at the same time, the one whose name stays holds it', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    p.acquire(1);
    q.acquire(1, { waitUs: 0 });
    store.run(TAKE_US);
    expect([...p.said(), ...q.said()]).toEqual(['granted 1']);
  });

  test('a try that is overtaken while it contends is told so', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    p.acquire(1, { waitUs: 0 });
    q.acquire(1, { waitUs: 0 });
    store.run(2 * TAKE_US);
    expect(p.said()).toEqual(['refused 1 contended']);
    expect(q.said()).toEqual(['granted 1']);
  });

  test('one that is overtaken each time, and finds the lease given back each time, waits no longer than it was told', () => {
    const store = new ScriptedStore();
    const p = store.plain();
    const waitUs = 4 * TAKE_US;
    p.acquire(1, { waitUs });
    for (let seq = 1; seq < 200 && p.events.length === 0; seq++) {
      const uid = { owner: incarnation(99), lease: 1, seq };
      store.registers.set('r', encodeNameRecord('r', { ...uid, token: seq, termUs: TERM_US, meta: null }));
      store.registers.set(SAID, encodeStatement('r', uid));
      store.run(ACCESS_US);
    }
    expect(store.nowUs).toBeLessThan(1_000_000_000 + waitUs + 2 * TAKE_US);
    expect(p.said()).toEqual(['refused 1 timeout']);
  });

  test('tokens rise from holder to holder, whatever the wall clock of the next says', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    q.wallOffUs = -10 * TERM_US;
    p.acquire(1);
    store.run(TAKE_US);
    p.release(1);
    store.run(ACCESS_US);
    q.acquire(1);
    store.run(TAKE_US);
    const [first, second] = [p, q].map(({ events }) => events.find((event) => event.kind === 'granted'));
    expect(second?.kind === 'granted' && first?.kind === 'granted' && second.token > first.token).toBe(true);
  });
});

describe('rule 14: a delayed access voids the attempt', () => {
  test.each([
    ['late', { doneAfterUs: 2 * DELTA_US }],
    ['failed, though it took effect', 'failed-but-done'],
    ['not answered', { landsAfterUs: ACCESS_US }],
  ] as const)('a write that is %s is never held, and the register with its name in it is watched like any other', (_how, fate) => {
    const store = new ScriptedStore();
    const p = store.plain();
    store.next(fate, of(p, 'write'));
    p.acquire(1);
    store.run(TIMING.observationUs);
    expect(p.said()).toEqual(['voided 1']);
    expect(store.log).not.toContain(`write ${SAID}`);
    store.run(2 * TAKE_US + 4 * DELTA_US);
    expect(p.said()).toEqual(['granted 1']);
  });

  test('a machine that sleeps between the read and the write does not hold the lease', () => {
    const store = new ScriptedStore();
    const p = store.plain();
    p.acquire(1);
    store.run(ACCESS_US / 2);
    store.nowUs += TERM_US;
    p.sleptUs += TERM_US;
    store.run(TAKE_US);
    // The read is too old by the wall clock: it reads again before it writes.
    expect(store.log.slice(0, 5)).toEqual(['read r', `read ${SAID}`, 'read r', `read ${SAID}`, 'write r']);
    store.run(TAKE_US);
    expect(p.said()).toEqual(['granted 1']);
  });

  test('nor one that sleeps between the write and the read-back for longer than others wait', () => {
    const store = new ScriptedStore();
    const p = store.plain();
    p.acquire(1);
    store.run(2 * ACCESS_US + TIMING.pauseUs / 2);
    store.nowUs += TIMING.observationUs;
    p.sleptUs += TIMING.observationUs;
    store.run(TIMING.pauseUs);
    // Its name is still there, but whoever has watched it may be about to write another.
    expect([p.said(), p.remainingUs(1)]).toEqual([['voided 1'], 0]);
  });

  test('the deadline is at most 4δ later than a term after the write left, however late the read-back is answered', () => {
    const store = new ScriptedStore();
    const p = store.plain();
    p.acquire(1);
    store.run(ACCESS_US);
    const wroteUs = p.monoUs;
    store.run(ACCESS_US);
    store.next({ answeredAfterUs: 3 * DELTA_US }, of(p, 'read'));
    store.run(TIMING.pauseUs + 4 * DELTA_US);
    expect(p.said()).toEqual(['granted 1']);
    expect(p.monoUs + p.remainingUs(1)).toBe(wroteUs + TERM_US + 4 * DELTA_US);
  });

  test('a store that does not answer refuses a try, and lets a waiter wait', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    for (let i = 0; i < 10; i++) for (const one of [p, q]) store.next('failed', of(one, 'read'));
    p.acquire(1, { waitUs: 0 });
    q.acquire(1);
    store.run(10 * DELTA_US);
    expect(p.said()).toEqual(['refused 1 unreachable']);
    store.run(TERM_US / 2);
    expect(q.said()).toEqual(['granted 1']);
  });
});

describe('rule 15: a release does not touch the name', () => {
  test('a release that lands late does not end the lease of the next holder', () => {
    const store = new ScriptedStore();
    const [p, q, r] = [store.plain(), store.plain(), store.plain()];
    p.acquire(1);
    store.run(TAKE_US);
    store.next({ landsAfterUs: TIMING.observationUs + 4 * TAKE_US }, of(p, 'write', SAID));
    p.release(1);
    q.acquire(1, { keep: true });
    store.run(TIMING.observationUs + 3 * TAKE_US);
    expect(q.said().slice(0, 1)).toEqual(['granted 1']);
    r.acquire(1);
    store.run(4 * TAKE_US);
    expect(q.remainingUs(1)).toBeGreaterThan(0);
    expect(r.said()).toEqual([]);
  });

  test('a release waits for the answer of a renewal that was sent, and names what it left behind', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    p.acquire(1, { keep: true });
    store.run(TAKE_US + TERM_US / 3);
    store.run(ACCESS_US + 1);
    expect(store.log.at(-1)).toBe('write r');
    p.release(1);
    expect(store.log.at(-1)).toBe('write r');
    store.run(2 * ACCESS_US);
    expect(p.said()).toEqual(['granted 1', 'stopped 1', 'released 1']);
    q.acquire(1);
    store.run(TAKE_US);
    expect(q.said()).toEqual(['granted 1']);
  });

  test('a request that is called off after its write goes on to the read-back, then gives back what it got', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    p.acquire(1);
    store.run(2 * ACCESS_US);
    p.command({ kind: 'cancel', lease: 1 });
    expect(p.said()).toEqual(['refused 1 cancelled']);
    store.run(TAKE_US);
    expect(p.said()).toEqual([]);
    expect(store.log.at(-1)).toBe(`write ${SAID}`);
    q.acquire(1);
    store.run(TAKE_US);
    expect(q.said()).toEqual(['granted 1']);
  });

  test('a renewal that is answered after its machine slept past the deadline is not what is released: it may have wiped the next name', () => {
    for (const isReleased of [false, true]) {
      const store = new ScriptedStore();
      const [p, q, r] = [store.plain(), store.plain(), store.plain()];
      p.acquire(1);
      store.run(TAKE_US);
      const lateUs = TIMING.observationUs + TERM_US / 2;
      store.next({ doneAfterUs: lateUs }, of(p, 'write'));
      p.command({ kind: 'renew', lease: 1, name: R, termUs: TERM_US });
      store.run(2 * ACCESS_US);
      if (isReleased) p.release(1);
      p.sleptUs = 10 * lateUs;
      q.acquire(1);
      store.run(lateUs - 2 * ACCESS_US);
      expect(q.said()).toEqual(['granted 1']);
      p.sleptUs = lateUs - 2 * ACCESS_US;
      store.run(2 * ACCESS_US);
      r.acquire(1);
      store.run(2 * TAKE_US + TIMING.pauseUs);
      expect(q.remainingUs(1)).toBeGreaterThan(0);
      expect(r.said()).toEqual([]);
    }
  });
});

describe('RENEW', () => {
  test('a lease that is kept is renewed from a third of its term on, and its token stays', () => {
    const store = new ScriptedStore();
    const p = store.plain();
    p.acquire(1, { keep: true });
    store.run(10 * TERM_US);
    const said = p.said();
    expect(said[0]).toBe('granted 1');
    expect(said.slice(1).every((one) => one === 'renewed 1')).toBe(true);
    expect(said.length).toBeGreaterThan(20);
    expect(p.remainingUs(1)).toBeGreaterThan(TERM_US / 3);
  });

  test('◇ND: who finds another name renews no more, and the old deadline stands', () => {
    const [store, other] = [new ScriptedStore(), new ScriptedStore()];
    const p = store.plain();
    p.acquire(1, { keep: true });
    store.run(TAKE_US);
    const endUs = p.monoUs + p.remainingUs(1);
    // The void write of another request lands late.
    const stranger = other.plain();
    stranger.acquire(9);
    other.run(2 * ACCESS_US);
    for (const [key, bytes] of other.registers) store.registers.set(key, bytes);
    store.run(TERM_US);
    const said = p.said();
    expect(said[0]).toBe('granted 1');
    expect(said).toContain('renewal-failed 1');
    expect(said).not.toContain('renewed 1');
    expect(said.at(-1)).toBe('lost 1');
    expect(p.monoUs).toBeGreaterThanOrEqual(endUs);
  });

  test('ND: a renewal is one write', () => {
    const store = new ScriptedStore();
    const p = store.plain({ renewal: 'nd' });
    p.acquire(1, { keep: true });
    store.run(TAKE_US);
    store.log = [];
    store.run(TERM_US / 3 + 2 * ACCESS_US);
    expect(store.log).toEqual(['write r']);
    expect(p.said()).toEqual(['granted 1', 'renewed 1']);
  });

  test('a renewal that ends after the deadline revives nothing', () => {
    const store = new ScriptedStore();
    const p = store.plain();
    p.acquire(1, { keep: true });
    store.run(TAKE_US);
    for (let i = 0; i < 100; i++) store.next({ doneAfterUs: 2 * TERM_US }, of(p, 'write'));
    store.run(4 * TERM_US);
    const said = p.said();
    expect(said[0]).toBe('granted 1');
    expect(said).toContain('lost 1');
    expect(said).not.toContain('renewed 1');
  });

  test('what is proclaimed is in the record when the caller is told so, also while a renewal is under way', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    p.acquire(1, { meta: Uint8Array.of(1) });
    store.run(TAKE_US);
    p.command({ kind: 'proclaim', lease: 1, name: R, meta: Uint8Array.of(2), number: 5 });
    p.command({ kind: 'proclaim', lease: 1, name: R, meta: Uint8Array.of(3), number: 6 });
    store.run(4 * TAKE_US);
    expect(p.said().filter((one) => one.startsWith('proclaimed'))).toHaveLength(1);
    q.command({ kind: 'query', lease: 1, name: R });
    store.run(TAKE_US);
    expect(q.events[0]).toMatchObject({ kind: 'answered', meta: Uint8Array.of(3) });
  });

  test('a lease that lapses is renewed no more', () => {
    const store = new ScriptedStore();
    const p = store.plain();
    p.acquire(1, { keep: true });
    store.run(TAKE_US);
    p.command({ kind: 'lapse', lease: 1, name: R });
    store.run(TERM_US);
    expect(p.said()).toEqual(['granted 1', 'lost 1']);
  });

  test('a renewal for another term is asked for at any time', () => {
    const store = new ScriptedStore();
    const p = store.plain();
    p.acquire(1, { termUs: TERM_US / 10 });
    store.run(TAKE_US);
    p.command({ kind: 'renew', lease: 1, name: R, termUs: TERM_US });
    store.run(TAKE_US);
    expect(p.said()).toEqual(['granted 1', 'renewed 1']);
    expect(p.remainingUs(1)).toBe(TERM_US);
  });
});

describe('rules 20 to 23', () => {
  test('a value that lands twice shows a taken lease as free: a write is sent once', () => {
    const store = new ScriptedStore();
    const [p, q, r] = [store.plain(), store.plain(), store.plain()];
    store.next({ landsAgainAfterUs: 6 * TAKE_US }, of(p, 'write'));
    p.acquire(1);
    store.run(TAKE_US);
    p.release(1);
    store.run(ACCESS_US);
    q.acquire(1);
    store.run(6 * TAKE_US);
    r.acquire(1);
    store.run(TAKE_US);
    // Both: this is why a store must not send a write again.
    expect(q.remainingUs(1)).toBeGreaterThan(0);
    expect(r.remainingUs(1)).toBeGreaterThan(0);
  });

  test('a void late write of a short term hides the name of a longer lease: observers wait for the longest term', () => {
    const store = new ScriptedStore();
    const [p, q, r] = [store.plain(), store.plain(), store.plain()];
    store.next({ landsAfterUs: 2 * TAKE_US }, of(p, 'write'));
    p.acquire(1, { termUs: TERM_US / 100, waitUs: 1 });
    store.run(TAKE_US);
    store.crash(p);
    q.acquire(1);
    store.run(2 * TAKE_US);
    expect(q.said()).toEqual(['granted 1']);
    r.acquire(1);
    store.run(q.remainingUs(1));
    expect(q.remainingUs(1)).toBe(0);
    expect(r.said()).toEqual([]);
  });

  test('a void late write that hides the name of a holder makes no answer certain', () => {
    const store = new ScriptedStore();
    const [p, q, r] = [store.plain(), store.plain(), store.plain()];
    store.next({ landsAfterUs: 2 * TAKE_US }, of(p, 'write'));
    p.acquire(1, { waitUs: 1 });
    store.run(TAKE_US);
    store.crash(p);
    q.acquire(1);
    store.run(2 * TAKE_US);
    r.command({ kind: 'query', lease: 1, name: R });
    store.run(TAKE_US);
    expect(q.remainingUs(1)).toBeGreaterThan(0);
    expect(r.events).toMatchObject([{ kind: 'answered', holder: { owner: 1 }, certain: false }]);
  });

  test('a new uid starts the observation anew', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    p.acquire(1, { keep: true });
    store.run(TAKE_US);
    q.acquire(1);
    store.run(5 * TIMING.observationUs);
    expect(q.said()).toEqual([]);
    store.crash(p);
    store.run(TIMING.observationUs + TERM_US / 2);
    expect(q.said()).toEqual(['granted 1']);
  });

  test('under a new epoch nobody takes anything before one observation has passed', () => {
    const store = new ScriptedStore();
    const [p, q] = [store.plain(), store.plain()];
    p.acquire(1);
    store.run(TAKE_US);
    // The store comes back without what it had acknowledged.
    store.registers.clear();
    q.command({ kind: 'epoch', isWaitedOut: false });
    q.acquire(1);
    store.run(TIMING.observationUs - 1);
    expect(q.said()).toEqual([]);
    expect(p.remainingUs(1)).toBe(0);
    store.run(2 * TAKE_US);
    expect(q.said()).toEqual(['epoch-waited', 'granted 1']);
  });

  test('an attempt that began under the old epoch comes to nothing, and what was seen is forgotten', () => {
    const store = new ScriptedStore();
    const p = store.plain();
    p.acquire(1);
    store.run(2 * ACCESS_US);
    p.command({ kind: 'epoch', isWaitedOut: true });
    store.run(TAKE_US);
    // Its own void name is in the register.
    expect(p.said()).toEqual([]);
    store.run(TIMING.observationUs + TAKE_US);
    expect(p.said()).toEqual(['granted 1']);
  });
});

describe("the paper's own form", () => {
  const timing = literalTiming({ deltaUs: 2 * DELTA_US, maxTermUs: DELTA_US }, 'nd');

  test('takes a free lease in a read, a write, 2δ and a read, and releases by ⊥ in the one register', () => {
    const store = new ScriptedStore();
    const p = store.plain({ variant: 'literal', renewal: 'nd', timing });
    p.acquire(1, { termUs: DELTA_US });
    store.run(3 * ACCESS_US + 4 * DELTA_US);
    expect(p.said()).toEqual(['granted 1']);
    p.release(1);
    store.run(ACCESS_US);
    expect(p.said()).toEqual(['stopped 1', 'released 1']);
    expect(store.log).toEqual(['read r', 'write r', 'read r', 'write r']);
  });

  test('waits Δ+5δ while another name is there, and looks only then', () => {
    const store = new ScriptedStore();
    const literal = { variant: 'literal', renewal: 'nd', timing } as const;
    const [holder, contender] = [store.plain(literal), store.plain(literal)];
    holder.acquire(1, { termUs: DELTA_US });
    store.run(3 * ACCESS_US + 4 * DELTA_US);
    store.crash(holder);
    store.log = [];
    contender.acquire(1, { termUs: DELTA_US });
    store.run(ACCESS_US + 11 * DELTA_US);
    expect(store.log).toEqual(['read r', 'read r']);
    store.run(3 * ACCESS_US + 4 * DELTA_US);
    expect(contender.said()).toEqual(['granted 1']);
  });
});
