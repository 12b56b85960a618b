/** A member with a disk of its own: what it keeps, what waits for that, and what a restart makes of it. */
import { describe, expect, test } from 'vitest';
import { encodeName, hashName, incarnation, monoUs, nodeId, wallUs, type Incarnation } from '../../../src/kernel/index.ts';
import {
  ACCEPTED,
  deriveTiming,
  PROPOSE,
  QUERY,
  QuorumCore,
  QuorumMessage,
  REASONS,
  REFUSED,
  RELEASE,
  RENEWS,
  type Keeps,
  type QuorumEvent,
  type QuorumStep,
} from '../../../src/core/index.ts';
import { diskCompletion, NO_STORAGE } from '../../support/storage.ts';

const TERM_US = 1_000_000;
const CLIENT = 9;
const WALL_US = 1_800_000_000_000_000;

/** One member of three, its disk, and writes that are done when the test says so. */
class Member {
  readonly disk = new Map<string, Uint8Array>();
  readonly writes: string[] = [];
  /** Accesses that are not answered yet. */
  pending: { op: number; key: string; value: Uint8Array | null }[] = [];
  sent: { kind: number; reason: string; lease: number; meta: string }[] = [];
  events: QuorumEvent[] = [];
  nowUs = 5_000_000;
  wallUs = WALL_US;
  diskFails = false;
  #core: QuorumCore;
  #lives = 0;
  readonly #tokens = new Map<number, number>();

  constructor(keeps: Keeps, maxTermUs: number = TERM_US) {
    this.#core = this.#start(keeps, maxTermUs, false, false);
  }

  #start(keeps: Keeps, maxTermUs: number, restarted: boolean, diskKept: boolean): QuorumCore {
    const memberKeys = ['a', 'b', 'c'].map((id) => hashName(encodeName(id), 0, 1));
    const timing = deriveTiming({ maxTermUs, rateErrorPpm: 1000, rttUs: 1000 });
    const boot = { self: nodeId(0), incarnation: incarnation(++this.#lives), restarted, diskKept };
    this.#core = new QuorumCore({ memberKeys, timing, keeps }, boot);
    this.pending = [];
    this.events = [];
    this.#core.start(this.#step());
    return this.#core;
  }

  /** Another process on the same disk; what was under way is lost. */
  restart(keeps: Keeps, { diskKept = true, maxTermUs = TERM_US } = {}): void {
    if (!diskKept) this.disk.clear();
    this.#start(keeps, maxTermUs, true, diskKept);
    this.settle();
  }

  get silentForUs(): number {
    return this.#core.silentForUs(monoUs(this.nowUs));
  }

  /** Answers all accesses, until there are none. */
  settle(): void {
    while (this.pending.length > 0) {
      for (const { op, key, value } of this.pending.splice(0)) {
        if (value !== null && !this.diskFails) this.disk.set(key, value);
        const found = value === null ? (this.disk.get(key) ?? null) : null;
        this.#core.completed(diskCompletion(op, !this.diskFails, found), this.#step());
      }
    }
  }

  /** The oldest access to this place that is not answered yet is answered; the others are still under way. */
  done(...keys: string[]): void {
    for (const wanted of keys) {
      const at = this.pending.findIndex(({ key }) => key === wanted);
      const [access] = this.pending.splice(at, 1);
      if (at < 0 || !access)
        throw new Error(`nothing is under way for ${wanted}, only for ${this.pending.map(({ key }) => key).join(', ')}`);
      if (access.value !== null) this.disk.set(access.key, access.value);
      const found = access.value === null ? (this.disk.get(access.key) ?? null) : null;
      this.#core.completed(diskCompletion(access.op, true, found), this.#step());
    }
  }

  pass(us: number): void {
    this.nowUs += us;
    this.wallUs += us;
    if (this.nowUs >= this.#core.wakeAt) this.#core.wake(this.#step());
    this.settle();
  }

  /** What the member says to a proposal; nothing if it says nothing yet. */
  propose(
    lease: number,
    { name = 'r', ballot = this.wallUs + lease, flags = 0, owner = CLIENT, termUs = TERM_US, meta = '' } = {},
  ): string {
    const message = new QuorumMessage();
    // Renewals bring the token of the grant.
    const token = (flags & RENEWS) !== 0 ? (this.#tokens.get(lease) ?? ballot) : ballot;
    this.#tokens.set(lease, token);
    Object.assign(message, { kind: PROPOSE, owner, lease, ballot, token, flags, termUs });
    const bytes = encodeName(name);
    message.setName(bytes, 0, bytes.length);
    message.setMeta(new TextEncoder().encode(meta));
    this.sent = [];
    this.#core.receive(nodeId(CLIENT), message, this.#step());
    return this.said;
  }

  /** What the member knows its holder to say of itself. */
  metaOf(name = 'r'): string {
    const message = new QuorumMessage();
    Object.assign(message, { kind: QUERY, owner: CLIENT as Incarnation, lease: 99 });
    const bytes = encodeName(name);
    message.setName(bytes, 0, bytes.length);
    this.sent = [];
    this.#core.receive(nodeId(CLIENT), message, this.#step());
    return this.sent[0]?.meta ?? 'nothing';
  }

  release(lease: number, ballot: number, name = 'r'): void {
    const message = new QuorumMessage();
    Object.assign(message, { kind: RELEASE, owner: CLIENT as Incarnation, lease, ballot });
    const bytes = encodeName(name);
    message.setName(bytes, 0, bytes.length);
    this.#core.receive(nodeId(CLIENT), message, this.#step());
  }

  get said(): string {
    const [answer] = this.sent.splice(0);
    if (!answer) return 'nothing';
    return answer.kind === ACCEPTED ? 'accepted' : answer.kind === REFUSED ? `refused ${answer.reason}` : `kind ${answer.kind}`;
  }

  #step(): QuorumStep {
    return {
      monoUs: monoUs(this.nowUs),
      wallUs: wallUs(this.wallUs),
      choose: () => 0,
      send: (_to, { kind, reason, lease, meta, metaStart, metaEnd }) => {
        const said = new TextDecoder().decode(meta.subarray(metaStart, metaEnd));
        this.sent.push({ kind, reason: REASONS[reason] ?? '', lease, meta: said });
      },
      ...NO_STORAGE,
      read: (_unit, key, op) => void this.pending.push({ op, key, value: null }),
      write: (_unit, key, value, op) => {
        this.writes.push(key);
        this.pending.push({ op, key, value: value.slice() });
      },
      emit: (event) => void this.events.push(event),
    };
  }
}

function member(keeps: Keeps, maxTermUs?: number): Member {
  const made = new Member(keeps, maxTermUs);
  made.settle();
  return made;
}

describe('a member that keeps its votes', () => {
  test('answers a proposal when the vote is on the disk, not before', () => {
    const one = member('votes');
    expect(one.propose(1)).toBe('nothing');
    one.settle();
    expect(one.said).toBe('accepted');
  });

  test('knows its vote after a restart, votes at once for others, and is not silent', () => {
    const one = member('votes');
    one.propose(1);
    one.settle();
    one.restart('votes');
    expect(one.silentForUs).toBe(0);
    expect(one.events).toContainEqual({ kind: 'ready', restored: 1 });
    expect(one.propose(2)).toBe('refused held');
    // Above the floor, which was written ahead.
    one.propose(3, { name: 'other', ballot: one.wallUs + 60_000_000 });
    one.settle();
    expect(one.said).toBe('accepted');
  });

  test('honours a vote that was read back for its whole term, however long ago it was given', () => {
    const one = member('votes');
    one.propose(1);
    one.settle();
    one.pass(TERM_US * 0.9);
    one.restart('votes');
    one.pass(TERM_US);
    expect(one.propose(2)).toBe('refused held');
    one.pass(TERM_US * 0.01);
    one.propose(3, { ballot: one.wallUs + 60_000_000 });
    one.settle();
    expect(one.said).toBe('accepted');
  });

  test('writes a renewal only if it makes the vote longer', () => {
    const one = member('votes');
    one.propose(1, { termUs: TERM_US / 2 });
    one.settle();
    one.writes.length = 0;
    expect(one.propose(1, { termUs: TERM_US / 2, ballot: one.wallUs + 50, flags: RENEWS })).toBe('accepted');
    expect(one.writes).toEqual([]);
    expect(one.propose(1, { termUs: TERM_US, ballot: one.wallUs + 60, flags: RENEWS })).toBe('nothing');
    expect(one.writes).toEqual(['vote/0']);
    one.settle();
    expect(one.said).toBe('accepted');
    one.restart('votes');
    one.pass(TERM_US * 0.9);
    expect(one.propose(2)).toBe('refused held');
  });

  test('forgets what was released, also on the disk', () => {
    const one = member('votes');
    const ballot = one.wallUs + 1;
    one.propose(1, { ballot });
    one.settle();
    one.release(1, ballot);
    one.settle();
    one.restart('votes');
    expect(one.events).toContainEqual({ kind: 'ready', restored: 0 });
  });

  test('keeps many votes and finds them all', () => {
    const one = member('votes');
    for (let i = 0; i < 100; i++) one.propose(i + 1, { name: `r${i}` });
    one.settle();
    one.restart('votes');
    expect(one.events).toContainEqual({ kind: 'ready', restored: 100 });
    for (let i = 0; i < 100; i++) expect(one.propose(1000 + i, { name: `r${i}` })).toBe('refused held');
  });

  test('is silent in full when its disk is lost', () => {
    const one = member('votes');
    one.propose(1);
    one.settle();
    one.restart('votes', { diskKept: false });
    expect(one.propose(2)).toBe('refused silent');
    expect(one.silentForUs).toBeGreaterThanOrEqual(TERM_US);
  });

  test('is silent in full when an earlier life did not keep its votes', () => {
    const one = member('votes');
    one.restart('floor');
    one.pass(TERM_US * 1.1);
    one.propose(1);
    one.settle();
    one.restart('votes');
    expect(one.silentForUs).toBeGreaterThanOrEqual(TERM_US);
    // And again when that life was too short to end its silence.
    one.restart('votes');
    expect(one.silentForUs).toBeGreaterThanOrEqual(TERM_US);
  });
});

describe('an answer waits', () => {
  test('for the write that has its vote, not for the one before it in the same place', () => {
    const one = member('votes');
    const ballot = one.wallUs + 1;
    one.propose(1, { ballot });
    one.settle();
    one.release(1, ballot);
    expect(one.propose(2, { ballot: ballot + 10 })).toBe('nothing');
    // What was under way is that the vote before is over.
    one.done('vote/0');
    expect(one.said).toBe('nothing');
    one.done('vote/0');
    expect(one.said).toBe('accepted');
  });

  test('for the write that has its vote, also when the proposal comes twice', () => {
    const one = member('votes');
    one.propose(1, { termUs: TERM_US / 2, ballot: WALL_US + 1 });
    one.done('floor', 'head');
    const longer = { termUs: TERM_US, ballot: WALL_US + 2, flags: RENEWS };
    one.propose(1, longer);
    one.propose(1, longer);
    one.done('vote/0');
    expect(one.sent.length).toBe(1);
    one.done('vote/0');
    expect(one.sent.length).toBe(3);
  });

  test('for the head that makes the place of its vote known', () => {
    const one = member('votes');
    expect(one.propose(1)).toBe('nothing');
    one.done('vote/0', 'floor');
    expect(one.said).toBe('nothing');
    one.done('head');
    expect(one.said).toBe('accepted');
  });

  test('for the head also where another vote has made it grow', () => {
    const one = member('votes');
    one.propose(1, { name: 'r0' });
    one.propose(2, { name: 'r1' });
    one.done('vote/0', 'vote/1', 'floor');
    expect(one.sent).toEqual([]);
    one.done('head');
    expect(one.sent.map(({ lease }) => lease)).toEqual([1, 2]);
  });

  test('for the floor its ballot is above', () => {
    const one = member('floor');
    expect(one.propose(1)).toBe('nothing');
    one.done('floor');
    expect(one.said).toBe('accepted');
  });

  test('or is none: while too many wait for a disk that hangs, proposals are left alone', () => {
    const one = member('floor');
    for (let i = 0; i < 65_536; i++) one.propose(i + 1, { name: `r${i}`, ballot: WALL_US + i + 1 });
    const ballot = WALL_US + 70_000;
    expect(one.propose(70_000, { name: 'more', ballot })).toBe('nothing');
    one.done('floor');
    expect(one.sent.length).toBe(65_536);
    expect(one.sent.some(({ lease }) => lease === 70_000)).toBe(false);
    one.settle();
    expect(one.propose(70_000, { name: 'more', ballot })).toBe('accepted');
  });
});

describe('of what is read back', () => {
  /** A disk with a vote for a lease that is over and one for the lease after it, both for the same name. */
  const twoVotes = (older: string, newer: string): Member => {
    const one = member('votes');
    one.propose(1, { ballot: WALL_US + 1, meta: 'older', termUs: TERM_US / 10 });
    one.settle();
    const before = (one.disk.get('vote/0') as Uint8Array).slice();
    one.release(1, WALL_US + 1);
    one.settle();
    one.propose(2, { ballot: WALL_US + 2, meta: 'newer' });
    one.settle();
    const after = (one.disk.get('vote/0') as Uint8Array).slice();
    one.disk.set(older, before).set(newer, after);
    one.restart('votes');
    return one;
  };

  test.each([
    ['vote/0', 'vote/1'],
    ['vote/1', 'vote/0'],
  ])('the later of two votes for a name counts: %s is of the lease before', (older, newer) => {
    const one = twoVotes(older, newer);
    expect(one.metaOf()).toBe('newer');
    expect(one.events).toContainEqual({ kind: 'ready', restored: 1 });
    one.pass(TERM_US / 2);
    expect(one.propose(3, { ballot: WALL_US + TERM_US })).toBe('refused held');
  });

  test('votes of a life that is no longer accounted for do not count', () => {
    const one = member('votes');
    one.propose(1, { name: 'r0' });
    one.propose(2, { name: 'r1' });
    one.settle();
    one.restart('floor');
    one.pass(TERM_US * 1.1);
    one.restart('votes');
    one.pass(TERM_US * 1.1);
    one.propose(3, { name: 'r0' });
    one.settle();
    expect(one.said).toBe('accepted');
    one.restart('votes');
    expect(one.events).toContainEqual({ kind: 'ready', restored: 1 });
  });

  test('a vote is honoured for the term it was given for, not for that of the lease before it', () => {
    const one = member('votes');
    one.propose(1);
    one.settle();
    // Over, and not swept out yet.
    one.nowUs += TERM_US * 1.1;
    one.wallUs += TERM_US * 1.1;
    one.propose(2, { termUs: TERM_US / 10 });
    one.settle();
    expect(one.said).toBe('accepted');
    one.restart('votes');
    one.pass(TERM_US / 5);
    one.propose(3, { ballot: one.wallUs + TERM_US });
    one.settle();
    expect(one.said).toBe('accepted');
  });
});

describe('a member that keeps its floor', () => {
  test('is silent after a restart, and then votes for nothing below what it voted for before', () => {
    const one = member('floor');
    const ballot = one.wallUs + 3_600_000_000;
    one.propose(1, { ballot });
    one.settle();
    one.wallUs -= 3_600_000_000;
    one.restart('floor');
    expect(one.propose(2)).toBe('refused silent');
    one.pass(TERM_US * 1.1);
    expect(one.propose(3, { ballot: ballot - 1 })).toBe('refused low');
    one.propose(4, { ballot: ballot + 60_000_000 });
    one.settle();
    expect(one.said).toBe('accepted');
  });

  test('writes ahead: a thousand votes within a tenth of the silence are one write', () => {
    const one = member('floor');
    one.propose(1, { name: 'first' });
    one.settle();
    one.writes.length = 0;
    for (let i = 0; i < 1000; i++) {
      one.wallUs += 90;
      expect(one.propose(i + 2, { name: `r${i}` })).toBe('accepted');
    }
    expect(one.writes).toEqual([]);
  });

  test('stays near the wall clock, however often it is started', () => {
    const one = member('votes');
    for (let i = 0; i < 10; i++) {
      one.propose(1, { name: `r${i}`, ballot: one.wallUs + 0.15 * TERM_US + i });
      one.settle();
      expect(one.said).toBe('accepted');
      one.restart('votes');
    }
  });

  test('owes the longer silence as long as votes of before it live, also if it stops keeping votes', () => {
    const one = member('votes', TERM_US * 10);
    one.propose(1, { termUs: TERM_US * 10 });
    one.settle();
    one.restart('votes');
    expect(one.silentForUs).toBe(0);
    one.restart('floor');
    expect(one.silentForUs).toBeGreaterThanOrEqual(TERM_US * 10);
  });

  test('keeps the longer silence when maxTerm was shortened, also if it is started twice', () => {
    const one = member('floor', TERM_US * 10);
    one.restart('floor');
    expect(one.silentForUs).toBeGreaterThanOrEqual(TERM_US * 10);
    one.restart('floor');
    expect(one.silentForUs).toBeGreaterThanOrEqual(TERM_US * 10);
    one.pass(TERM_US * 10.1);
    one.restart('floor');
    expect(one.silentForUs).toBeLessThan(TERM_US * 2);
  });
});

describe('a disk that fails', () => {
  test.each(['votes', 'floor'] as const)('makes the member silent, not the process (%s)', (keeps) => {
    const one = member(keeps);
    one.diskFails = true;
    one.propose(1);
    one.settle();
    expect(one.said).toBe('nothing');
    expect(one.events).toContainEqual({ kind: 'disk-failed', why: 'unreadable' });
    expect(one.propose(2)).toBe('refused silent');
    expect(one.silentForUs).toBe(Infinity);
  });

  test.each(['head', 'floor', 'vote/0'])('is not believed: %s', (key) => {
    const one = member('votes');
    one.propose(1);
    one.settle();
    const record = (one.disk.get(key) as Uint8Array).slice();
    record[record.length - 1] = (record.at(-1) as number) ^ 1;
    one.disk.set(key, record);
    one.restart('votes');
    expect(one.events).toEqual([{ kind: 'disk-failed', why: 'senseless' }]);
    expect(one.propose(2)).toBe('refused silent');
  });
});

describe('what a holder says of itself', () => {
  test('is written when it changes, before the vote for it is answered, and read back', () => {
    const one = member('votes');
    one.propose(1, { meta: 'first', ballot: WALL_US + 1 });
    one.settle();
    one.writes.length = 0;
    // A renewal that says the same is answered at once.
    expect(one.propose(1, { meta: 'first', ballot: WALL_US + 2, flags: RENEWS })).toBe('accepted');
    expect(one.writes).toEqual([]);
    expect(one.propose(1, { meta: 'second', ballot: WALL_US + 3, flags: RENEWS })).toBe('nothing');
    one.settle();
    expect(one.said).toBe('accepted');
    one.restart('votes');
    expect(one.metaOf()).toBe('second');
  });
});
