/** The lemmas of the round-based register: each broken once by hand, and all of them against their definitions on random histories. */
import { describe, expect, it } from 'vitest';
import { LemmaReferee, lemmaReferees, type Lemma } from '../../src/check/index.ts';
import { Random } from '../../src/kernel/index.ts';
import { start, timed, verdicts, type Untimed } from './records.ts';

const a = start(1, 1);
const b = start(2, 2);

function broken(lemma: Lemma, records: readonly Untimed[]): string[] {
  return verdicts(new LemmaReferee(lemma), records);
}

/** A committed READ(k) and WRITE(k, v). */
const wrote = (by: typeof a, op: number, ballot: number, value: string, found: string | null = null): Untimed[] => [
  by.asksRead(op, ballot),
  by.commits(op, found),
  by.asksWrite(op + 1, ballot, value),
  by.commits(op + 1),
];

describe('the lemmas', () => {
  it('R1: a READ is aborted only if another operation with its ballot or a higher one began', () => {
    expect(broken('R1', [a.asksRead(1, 5), a.aborts(1)])).toEqual(['R1@20']);
    expect(broken('R1', [a.asksRead(1, 5), b.asksRead(1, 4), a.aborts(1)])).toEqual(['R1@30']);
    expect(broken('R1', [a.asksRead(1, 5), b.asksRead(1, 5), a.aborts(1)])).toEqual([]);
  });

  it('R2: a WRITE is aborted only if an operation with a higher ballot began', () => {
    const write = [a.asksRead(1, 5), a.commits(1, null), a.asksWrite(2, 5, 'v')];
    expect(broken('R2', [...write, a.aborts(2)])).toEqual(['R2@40']);
    expect(broken('R2', [...write, b.asksRead(1, 6), a.aborts(2)])).toEqual([]);
  });

  it('R3: nothing lower commits that began after a commit, but a READ may be followed by its own WRITE', () => {
    expect(broken('R3', wrote(a, 1, 5, 'v'))).toEqual([]);
    expect(broken('R3', [...wrote(a, 1, 5, 'v'), b.asksRead(1, 4), b.commits(1, 'v')])).toEqual(['R3@60']);
    expect(broken('R3', [b.asksRead(1, 4), ...wrote(a, 1, 5, 'v'), b.commits(1, null)])).toEqual([]);
  });

  it('R4: what is read was written with a lower ballot', () => {
    expect(broken('R4', [a.asksRead(1, 5), a.commits(1, 'v')])).toEqual(['R4@20']);
    expect(broken('R4', [b.asksRead(1, 4), ...wrote(a, 1, 5, 'v'), b.commits(1, 'v')])).toEqual(['R4@60']);
    expect(broken('R4', [...wrote(a, 1, 5, 'v'), b.asksRead(1, 6), b.commits(1, 'v')])).toEqual([]);
  });

  it('R5: a committed value is found by every higher READ, whichever commits first, until another value is written', () => {
    const write = wrote(a, 1, 5, 'v');
    expect(broken('R5', [...write, b.asksRead(1, 6), b.commits(1, null)])).toEqual(['R5@60']);
    expect(broken('R5', [...write.slice(0, 3), b.asksRead(1, 6), b.commits(1, null), a.commits(2)])).toEqual(['R5@60']);
    expect(broken('R5', [...write, ...wrote(b, 1, 6, 'w', 'v'), a.asksRead(3, 7), a.commits(3, 'w')])).toEqual([]);
    expect(broken('R5', [...write, ...wrote(b, 1, 6, 'v', 'v'), a.asksRead(3, 7), a.commits(3, 'w')])).toEqual(['R5@100']);
  });
});

interface Operation {
  readonly action: 'read' | 'write';
  readonly k: number;
  readonly value: string | null;
  readonly began: number;
  ended: number;
  outcome: 'none' | 'committed' | 'aborted';
  result: string | null;
}

/** The lemmas as they are stated, over everything up to a place in the history. */
function byDefinition(operations: readonly Operation[]): Set<Lemma> {
  const found = new Set<Lemma>();
  const committed = operations.filter(({ outcome }) => outcome === 'committed');
  for (const one of operations) {
    if (one.outcome !== 'aborted') continue;
    const others = operations.filter((other) => other !== one && other.began < one.ended);
    if (one.action === 'read' && !others.some(({ k }) => k >= one.k)) found.add('R1');
    if (one.action === 'write' && !others.some(({ k }) => k > one.k)) found.add('R2');
  }
  for (const one of committed) {
    const later = committed.filter(({ began }) => began > one.ended);
    if (later.some(({ action, k }) => (action === 'read' ? k <= one.k : k < one.k))) found.add('R3');
    const writes = operations.filter(({ action, began }) => action === 'write' && began < one.ended);
    if (one.action === 'read') {
      if (one.result !== null && !writes.some(({ k, value }) => value === one.result && k < one.k)) found.add('R4');
      continue;
    }
    for (const read of committed) {
      if (read.action !== 'read' || read.k <= one.k || read.result === one.value) continue;
      const place = Math.max(one.ended, read.ended);
      const isFollowed = operations.some(
        ({ action, k, value, began }) => action === 'write' && began < place && k >= one.k && value !== one.value,
      );
      if (!isFollowed) found.add('R5');
    }
  }
  return found;
}

describe('the referee and the definitions', () => {
  it('agree on random histories, lawful and not', () => {
    const seen = new Map<Lemma, number>();
    for (let seed = 1; seed <= 1500; seed++) {
      const random = new Random(seed);
      const clients = [start(0, 1), start(1, 2), start(2, 3)];
      const operations: Operation[] = [];
      const records: Untimed[] = [];
      const current: (Operation | null)[] = clients.map(() => null);
      const ops = clients.map(() => 0);
      for (let i = 0; i < 14; i++) {
        const at = random.below(clients.length);
        const client = clients[at] as typeof a;
        const now = current[at] ?? null;
        const place = records.length;
        const incarnation = at + 1;
        if (now === null || now.outcome !== 'none') {
          const isWrite = now?.action === 'read' && now.outcome === 'committed';
          // One ballot for a READ and its WRITE, none twice: times may be equal, incarnations are not.
          const time = isWrite ? Math.floor(now.k) : Math.floor(now?.k ?? 0) + 1 + random.below(4);
          const value = isWrite ? 'uvw'.charAt(random.below(3)) : null;
          const began = { k: time + incarnation / 10, value, began: place, ended: Infinity, outcome: 'none', result: null } as const;
          const operation: Operation = { ...began, action: isWrite ? 'write' : 'read' };
          ops[at] = (ops[at] as number) + 1;
          records.push(value === null ? client.asksRead(ops[at], time) : client.asksWrite(ops[at], time, value));
          operations.push((current[at] = operation));
        } else {
          now.ended = place;
          now.outcome = random.below(4) === 0 ? 'aborted' : 'committed';
          now.result = now.action === 'read' ? ([null, 'u', 'v', 'w'][random.below(4)] ?? null) : null;
          const op = ops[at] as number;
          records.push(
            now.outcome === 'aborted' ? client.aborts(op) : now.action === 'write' ? client.commits(op) : client.commits(op, now.result),
          );
        }
      }
      const judged = new Set<string>();
      for (const referee of lemmaReferees()) {
        for (const record of timed(records)) {
          const violation = referee.observe(record);
          if (violation) judged.add(violation.property);
        }
      }
      const expected = byDefinition(operations);
      expect({ seed, judged: [...judged].sort() }).toEqual({ seed, judged: [...expected].sort() });
      for (const lemma of expected) seen.set(lemma, (seen.get(lemma) ?? 0) + 1);
    }
    expect([...seen.keys()].sort()).toEqual(['R1', 'R2', 'R3', 'R4', 'R5']);
  });
});
