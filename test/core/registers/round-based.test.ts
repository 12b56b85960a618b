/**
 * F1: the lemmas R1–R5 of the round-based register, over every interleaving that chance brings: several askers, three stores, messages that are
 * lost, doubled and late. Beside them a register with each of its comparisons weakened, so that the lemmas are seen to fail.
 */
import { describe, expect, it } from 'vitest';
import { ballotTime, compareBallots, incarnation, Random } from '../../../src/kernel/index.ts';
import { RoundRegister } from '../../../src/core/index.ts';

const STORES = 3;
const QUORUM = 2;
const ASKERS = 3;
const STEPS = 240;

interface Operation {
  readonly action: 'read' | 'write';
  readonly k: number;
  readonly v: number | null;
  readonly asker: number;
  readonly invokedAt: number;
  readonly acks: Set<number>;
  readonly told: { written: number; value: number | null }[];
  refused: boolean;
  committedAt: number;
  abortedAt: number;
  result: number | null;
}

interface Faulty {
  readonly readEqual?: boolean;
  readonly writeLower?: boolean;
}

/** The register, or one that lets through what it must not. */
class Store extends RoundRegister<number> {
  readonly #faulty: Faulty;

  constructor(faulty: Faulty) {
    super();
    this.#faulty = faulty;
  }

  take(operation: Operation): { ack: boolean; written: number; value: number | null } {
    const time = ballotTime(operation.k);
    const by = incarnation(operation.asker + 1);
    const told = { written: this.writeTime as number, value: this.value };
    if (operation.action === 'read') {
      if (this.#faulty.readEqual === true) return { ack: true, ...told };
      return { ack: this.read(time, by, compareBallots), ...told };
    }
    if (!this.mayWrite(time, by, compareBallots) && this.#faulty.writeLower !== true) return { ack: false, ...told };
    this.write(time, by, operation.v as number);
    return { ack: true, ...told };
  }
}

function play(seed: number, faulty: Faulty = {}): Operation[] {
  const random = new Random(seed);
  const stores = Array.from({ length: STORES }, () => new Store(faulty));
  const operations: Operation[] = [];
  const flying: { operation: Operation; store: number }[] = [];
  const answers: { operation: Operation; store: number; ack: boolean; written: number; value: number | null }[] = [];
  const current: (Operation | null)[] = Array.from({ length: ASKERS }, () => null);
  const used = new Set<number>();
  let nextV = 1;
  const invoke = (asker: number, action: 'read' | 'write', k: number, v: number | null, at: number): void => {
    const operation: Operation = {
      action,
      k,
      v,
      asker,
      invokedAt: at,
      acks: new Set(),
      told: [],
      refused: false,
      committedAt: Infinity,
      abortedAt: Infinity,
      result: null,
    };
    operations.push(operation);
    current[asker] = operation;
    for (let store = 0; store < STORES; store++) for (let copy = random.below(3); copy >= 0; copy--) flying.push({ operation, store });
  };
  for (let at = 0; at < STEPS; at++) {
    const asker = random.below(ASKERS);
    const mine = current[asker];
    const roll = random.below(60);
    const isOver = !mine || mine.abortedAt < at || (mine.action === 'write' && mine.committedAt < at);
    if ((isOver && roll < 10) || roll === 0) {
      // Ballots are unique and may come out of order; an attempt that hangs is given up.
      let k = at + 1 + random.below(12);
      while (used.has(k)) k++;
      used.add(k);
      invoke(asker, 'read', k, null, at);
    } else if (mine && mine.committedAt < at && mine.action === 'read') {
      invoke(asker, 'write', mine.k, mine.result ?? nextV++, at);
    } else if (answers.length > 0 && roll < 40) {
      const [answer] = answers.splice(random.below(answers.length), 1);
      if (!answer) continue;
      const { operation } = answer;
      if (operation.committedAt !== Infinity || operation.abortedAt !== Infinity) continue;
      if (!answer.ack) {
        operation.abortedAt = at;
        continue;
      }
      if (operation.acks.has(answer.store)) continue;
      operation.acks.add(answer.store);
      operation.told.push(answer);
      if (operation.acks.size < QUORUM) continue;
      operation.committedAt = at;
      operation.result = operation.told.reduce((best, told) => (told.written > best.written ? told : best)).value;
    } else if (flying.length > 0) {
      const [message] = flying.splice(random.below(flying.length), 1);
      if (message && random.below(12) > 0) {
        const told = (stores[message.store] as Store).take(message.operation);
        answers.push({ ...message, ...told });
      }
    }
  }
  return operations;
}

/** Each lemma with the operations that contradict it. */
function broken(operations: readonly Operation[]): string[] {
  const found: string[] = [];
  const committed = operations.filter(({ committedAt }) => committedAt !== Infinity);
  for (const one of operations) {
    const others = operations.filter((other) => other !== one && other.invokedAt < one.abortedAt);
    if (one.abortedAt !== Infinity && one.action === 'read' && !others.some(({ k }) => k >= one.k)) found.push('R1');
    if (one.abortedAt !== Infinity && one.action === 'write' && !others.some(({ k }) => k > one.k)) found.push('R2');
  }
  for (const one of committed) {
    const later = committed.filter(({ invokedAt }) => invokedAt > one.committedAt);
    // Of WRITE with k″ < k: as printed (≤) each GetLease would contradict it with its own WRITE.
    if (later.some(({ action, k }) => (action === 'read' ? k <= one.k : k < one.k))) found.push('R3');
    if (one.action === 'read' && one.result !== null) {
      const written = operations.some(({ action, k, v }) => action === 'write' && v === one.result && k < one.k);
      if (!written) found.push('R4');
    }
    if (one.action === 'write' && !operations.some(({ action, k, v }) => action === 'write' && k >= one.k && v !== one.v)) {
      if (later.some(({ action, k, result }) => action === 'read' && k > one.k && result !== one.v)) found.push('R5');
    }
  }
  return found;
}

const SEEDS = Array.from({ length: 3000 }, (_, seed) => seed + 1);

describe('F1 the round-based register', () => {
  it('keeps R1 to R5 whatever is lost, doubled and late', () => {
    let commits = 0;
    for (const seed of SEEDS) {
      const operations = play(seed);
      expect({ seed, broken: broken(operations) }).toEqual({ seed, broken: [] });
      commits += operations.filter(({ action, committedAt }) => action === 'write' && committedAt !== Infinity).length;
    }
    expect(commits).toBeGreaterThan(SEEDS.length / 3);
  });

  it('answers a copy of a READ as it answered the first', () => {
    const register = new RoundRegister<number>();
    const read = (k: number): boolean => register.read(ballotTime(k), incarnation(1), compareBallots);
    expect([read(5), read(5), read(4)]).toEqual([true, true, false]);
  });

  it.each([
    ['R3', { readEqual: true }],
    ['R5', { writeLower: true }],
  ] as const)('without its comparisons breaks %s', (lemma, faulty) => {
    expect(SEEDS.some((seed) => broken(play(seed, faulty)).includes(lemma))).toBe(true);
  });
});
