/**
 * Regularity: the histories that tell regular from atomic and from weaker registers, and a comparison
 * with the definition itself, searched by brute force, on every prefix of small random histories.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RegularityReferee } from '../../src/check/index.ts';
import { judge, start, verdicts, type Untimed } from './records.ts';

const a = start(1);
const b = start(2);
const c = start(3);
const d = start(4);
/** A write that is over. */
const done = (by: typeof a, op: number, value: string): Untimed[] => [by.writes(op, value), by.wrote(op)];
/** A read that is over. */
const seen = (by: typeof a, op: number, value: string | null): Untimed[] => [by.reads(op), by.gets(op, value)];

describe('the regularity referee', () => {
  it('accepts the initial null until a write is complete', () => {
    expect(
      verdicts(new RegularityReferee(), [
        ...seen(a, 1, null),
        b.writes(1, 'v'),
        ...seen(a, 2, null),
        a.reads(3),
        b.wrote(1),
        a.gets(3, null),
      ]),
    ).toEqual([]);
  });

  it('rejects null after a complete write', () => {
    expect(verdicts(new RegularityReferee(), [...done(b, 1, 'v'), ...seen(a, 1, null)])).toEqual(['regularity@40']);
  });

  it('accepts the last complete write', () => {
    expect(verdicts(new RegularityReferee(), [...done(a, 1, 'v'), ...done(b, 1, 'w'), ...seen(c, 1, 'w'), ...seen(c, 2, 'w')])).toEqual([]);
  });

  it('rejects a stale value, naming who wrote it', () => {
    const [violation] = judge(new RegularityReferee(), [...done(a, 1, 'v'), ...done(b, 1, 'w'), ...seen(c, 1, 'v')]);
    expect(violation).toEqual({
      property: 'regularity',
      at: 60,
      message:
        'node 3#1 read "v" (began at 50µs; written by node 1#1 from 10µs), but "w" (written by node 2#1 from 30µs) must follow it and was complete before the read (register "x", at 60µs)',
    });
  });

  it('rejects a value never written, and one written only after the read', () => {
    expect(verdicts(new RegularityReferee(), [...seen(a, 1, 'v'), ...done(b, 1, 'v')])).toEqual(['regularity@20']);
  });

  it('accepts the older value or the concurrent one during a write', () => {
    const records = [...done(a, 1, 'v'), c.reads(1), d.reads(1), b.writes(1, 'w'), c.gets(1, 'v'), d.gets(1, 'w'), b.wrote(1)];
    expect(verdicts(new RegularityReferee(), records)).toEqual([]);
  });

  it('accepts a read that began before the overwriting write ended, however late it returns the old value', () => {
    expect(
      verdicts(new RegularityReferee(), [...done(a, 1, 'v'), b.writes(1, 'w'), c.reads(1), b.wrote(1), ...done(b, 2, 'z'), c.gets(1, 'v')]),
    ).toEqual([]);
  });

  it('accepts new and then old during one write: a regular register is not atomic', () => {
    const records = [
      ...done(a, 1, 'v'),
      b.writes(1, 'w'),
      ...seen(c, 1, 'w'),
      ...seen(c, 2, 'v'),
      ...seen(d, 1, 'w'),
      ...seen(d, 2, 'v'),
      b.wrote(1),
      ...seen(c, 3, 'w'),
    ];
    expect(verdicts(new RegularityReferee(), records)).toEqual([]);
  });

  it('accepts either of two concurrent writes after both are complete, but only the same one for ever', () => {
    const both = [a.writes(1, 'v'), b.writes(1, 'w'), a.wrote(1), b.wrote(1)];
    expect(verdicts(new RegularityReferee(), [...both, ...seen(c, 1, 'v'), ...seen(d, 1, 'v')])).toEqual([]);
    expect(verdicts(new RegularityReferee(), [...both, ...seen(c, 1, 'w'), ...seen(d, 1, 'w')])).toEqual([]);
    expect(verdicts(new RegularityReferee(), [...both, ...seen(c, 1, 'v'), ...seen(d, 1, 'w')])).toEqual(['regularity@80']);
  });

  it('rejects two readers at one time who order two complete writes differently', () => {
    const records = [a.writes(1, 'v'), b.writes(1, 'w'), a.wrote(1), b.wrote(1), c.reads(1), d.reads(1), c.gets(1, 'v'), d.gets(1, 'w')];
    const [violation, ...more] = judge(new RegularityReferee(), records);
    expect(violation?.message).toBe(
      'node 4#1 read "w" (began at 60µs; written by node 2#1 from 20µs), but "v" (written by node 1#1 from 10µs) must follow it and was complete before the read (register "x", at 80µs)',
    );
    expect(more).toEqual([]);
  });

  it('lets a pending write take effect at any time, again and again, also after its writer crashed', () => {
    const records = [
      ...done(a, 1, 'v'),
      b.writes(1, 'w'),
      b.crashed(),
      ...seen(c, 1, 'v'),
      ...done(a, 2, 'z'),
      ...seen(c, 2, 'w'),
      ...seen(c, 3, 'z'),
      ...seen(c, 4, 'w'),
    ];
    expect(verdicts(new RegularityReferee(), records)).toEqual([]);
  });

  it('does not let a pending write excuse a stale value', () => {
    expect(
      verdicts(new RegularityReferee(), [...done(a, 1, 'v'), b.writes(1, 'w'), b.crashed(), ...done(a, 2, 'z'), ...seen(c, 1, 'v')]),
    ).toEqual(['regularity@80']);
  });

  it('holds later readers to an order that only readers of other writes have shown', () => {
    // All three writes overlap. Reading "u" puts v before u, then reading "v" puts w before v: so "w" is stale once "v" is complete.
    const begun = [a.writes(1, 'u'), b.writes(1, 'v'), c.writes(1, 'w'), b.wrote(1), ...seen(d, 1, 'u'), c.wrote(1)];
    expect(verdicts(new RegularityReferee(), [...begun, a.wrote(1), ...seen(d, 3, 'w')])).toEqual([]);
    expect(verdicts(new RegularityReferee(), [...begun, ...seen(d, 2, 'v'), a.wrote(1), ...seen(d, 3, 'w')])).toEqual(['regularity@120']);
  });

  it('judges each register for itself', () => {
    expect(
      verdicts(new RegularityReferee(), [
        ...done(a, 1, 'v'),
        a.reads(2, 'y'),
        a.gets(2, null, 'y'),
        a.writes(3, 'v', 'y'),
        a.wrote(3, 'y'),
      ]),
    ).toEqual([]);
  });

  it('reports a value written twice as misuse, also when the first was overwritten', () => {
    expect(verdicts(new RegularityReferee(), [a.writes(1, 'v'), b.writes(1, 'v')])).toEqual(['regularity@20']);
    expect(verdicts(new RegularityReferee(), [...done(a, 1, 'v'), ...done(a, 2, 'w'), ...done(a, 3, 'v'), ...seen(b, 1, 'v')])).toEqual([
      'regularity@50',
    ]);
  });

  it('reports answers to operations that are not under way, and operations begun twice', () => {
    expect(verdicts(new RegularityReferee(), [a.gets(1, null)])).toEqual(['regularity@10']);
    expect(verdicts(new RegularityReferee(), [...done(a, 1, 'v'), a.wrote(1)])).toEqual(['regularity@30']);
    expect(verdicts(new RegularityReferee(), [a.reads(1), a.crashed(), a.gets(1, null)])).toEqual(['regularity@30']);
    expect(verdicts(new RegularityReferee(), [a.reads(1), a.gets(1, null, 'y')])).toEqual(['regularity@20']);
    expect(verdicts(new RegularityReferee(), [a.reads(1), a.reads(1)])).toEqual(['regularity@20']);
  });

  it('reports a read without a result and a write without a value', () => {
    expect(verdicts(new RegularityReferee(), [a.reads(1), a.wrote(1)])).toEqual(['regularity@20']);
    expect(
      verdicts(new RegularityReferee(), [{ node: 1, incarnation: 1, kind: 'invoked', register: 'x', op: 1, action: 'write' }]),
    ).toEqual(['regularity@10']);
  });

  it('keeps no writes for reads that are answered or crashed', () => {
    const referee = new RegularityReferee({ writesKept: 2 });
    const rounds = Array.from({ length: 20 }, (_, op) => [b.reads(op), ...done(a, op, `v${op}`), b.gets(op, `v${op}`)]);
    expect(verdicts(referee, [d.reads(1), d.crashed(), ...rounds.flat()])).toEqual([]);
    expect(referee.unjudged).toBe(0);
  });

  it('gives up on a read rather than keep every write for it, and judges the next one again', () => {
    const referee = new RegularityReferee({ writesKept: 3 });
    const writes = [1, 2, 3, 4].flatMap((op) => done(a, op, `v${op}`));
    expect(verdicts(referee, [b.reads(1), ...writes, b.gets(1, 'never written'), ...seen(b, 2, 'v3')])).toEqual(['regularity@120']);
    expect(referee.unjudged).toBe(1);
    const patient = new RegularityReferee({ writesKept: 4 });
    expect(verdicts(patient, [b.reads(1), ...writes, b.gets(1, 'never written')])).toEqual(['regularity@100']);
    expect(patient.unjudged).toBe(0);
  });
});

/** An operation as the definition sees it: the places of its two ends. */
interface Operation {
  readonly write: boolean;
  value: string | null;
  readonly began: number;
  ended: number;
}

function operationsOf(records: readonly Untimed[]): Operation[] {
  const underWay = new Map<string, Operation>();
  const all: Operation[] = [];
  for (const [place, record] of records.entries()) {
    if (record.kind === 'invoked') {
      const operation = { write: record.action === 'write', value: record.value ?? null, began: place, ended: Infinity };
      underWay.set(`${record.node}/${record.op}`, operation);
      all.push(operation);
    } else if (record.kind === 'responded') {
      const operation = underWay.get(`${record.node}/${record.op}`);
      if (operation === undefined) throw new Error('an answer to nothing');
      operation.ended = place;
      if (!operation.write) operation.value = record.value ?? null;
    }
  }
  return all;
}

function* permutations<T>(items: readonly T[]): Generator<T[]> {
  if (items.length === 0) yield [];
  for (const [index, item] of items.entries()) {
    for (const rest of permutations(items.filter((_, other) => other !== index))) yield [item, ...rest];
  }
}

/** Definition 1, word for word: a permutation of all operations whose projection for each read is legal and consistent. */
function isRegular(operations: readonly Operation[]): boolean {
  const isConsistent = (sequence: readonly Operation[]): boolean =>
    sequence.every((earlier, index) => sequence.slice(index + 1).every((later) => !(later.ended < earlier.began)));
  const explains = (order: readonly Operation[], read: Operation): boolean => {
    const projection = order.filter((operation) => operation === read || (operation.write && operation.began < read.ended));
    const before = projection[projection.indexOf(read) - 1];
    return (before?.value ?? null) === read.value && isConsistent(projection);
  };
  // A read that was never answered returned nothing to explain.
  const relevant = operations.filter(({ write, ended }) => write || ended < Infinity);
  const reads = relevant.filter(({ write }) => !write);
  for (const order of permutations(relevant)) if (reads.every((read) => explains(order, read))) return true;
  return false;
}

/** The same by the pairs of writes that must each precede the other: quick enough for long histories. */
function hasNoContradiction(operations: readonly Operation[]): boolean {
  const writes = operations.filter(({ write }) => write);
  const reads = operations.filter(({ write, ended }) => !write && ended < Infinity);
  const latest = (write: Operation): number =>
    Math.max(write.began, ...reads.filter(({ value }) => value === write.value).map(({ began }) => began));
  const precedes = (one: Operation, other: Operation): boolean => one.ended < latest(other);
  const known = reads.every((read) =>
    read.value === null
      ? writes.every((write) => write.ended > read.began)
      : writes.some((write) => write.value === read.value && write.began < read.ended),
  );
  return known && !writes.some((one) => writes.some((other) => one !== other && precedes(one, other) && precedes(other, one)));
}

interface Step {
  client: number;
  write: boolean;
  pick: number;
  crash: number;
}

/**
 * Each step is the next act of a client that does one operation at a time: it begins one, ends it or
 * crashes. A read returns one of the values written last: `pick` says which.
 */
function historyOf(steps: readonly Step[], operationsMax: number): Untimed[] {
  const records: Untimed[] = [];
  const busy = new Map<number, { op: number; write: boolean }>();
  const crashed = new Set<number>();
  const values: (string | null)[] = [null];
  let begun = 0;
  for (const { client, write, pick, crash } of steps) {
    const by = start(client);
    const operation = busy.get(client);
    if (crashed.has(client)) continue;
    if (operation !== undefined && crash === 0) {
      crashed.add(client);
      records.push(by.crashed());
    } else if (operation !== undefined) {
      busy.delete(client);
      const value = values[values.length - 1 - (pick % Math.min(values.length, 3))] ?? null;
      records.push(operation.write ? by.wrote(operation.op) : by.gets(operation.op, value));
    } else if (begun < operationsMax) {
      begun++;
      busy.set(client, { op: begun, write });
      if (write) values.push(`v${begun}`);
      records.push(write ? by.writes(begun, `v${begun}`) : by.reads(begun));
    }
  }
  return records;
}

describe('the regularity referee against the definition', () => {
  const stepsOf = (clients: number, crashes: number, length: number): fc.Arbitrary<Step[]> =>
    fc.array(fc.record({ client: fc.nat(clients - 1), write: fc.boolean(), pick: fc.nat(100), crash: fc.nat(crashes) }), {
      minLength: length / 2,
      maxLength: length,
      size: 'max',
    });

  /** Asserts that the first violation is reported at the first answer that the oracle rejects; returns how many were clean or broken, whichever are fewer. */
  function compare(
    steps: fc.Arbitrary<Step[]>,
    operationsMax: number,
    numRuns: number,
    isFine: (operations: readonly Operation[]) => boolean,
  ): number {
    const reached = { clean: 0, broken: 0 };
    const property = fc.property(steps, (chosen) => {
      const records = historyOf(chosen, operationsMax);
      const isBroken = (place: number): boolean =>
        records[place]?.kind === 'responded' && !isFine(operationsOf(records.slice(0, place + 1)));
      const firstBroken = records.findIndex((_, place) => isBroken(place));
      reached[firstBroken < 0 ? 'clean' : 'broken']++;
      const [firstViolation] = verdicts(new RegularityReferee(), records);
      expect(firstViolation).toBe(firstBroken < 0 ? undefined : `regularity@${(firstBroken + 1) * 10}`);
    });
    fc.assert(property, { numRuns });
    return Math.min(reached.clean, reached.broken);
  }

  it('rejects exactly the histories for which no permutation exists, at the first record that rules them out', () => {
    const reached = compare(stepsOf(4, 11, 20), 6, 1500, isRegular);
    expect(reached).toBeGreaterThan(150);
  });

  it('judges longer histories, where writes are dropped, as if it kept them all', () => {
    const reached = compare(stepsOf(8, 40, 60), 60, 1500, hasNoContradiction);
    expect(reached).toBeGreaterThan(50);
  });
});

describe('told that registers are atomic, it', () => {
  const atomic = (): RegularityReferee => new RegularityReferee({ isAtomic: true });

  it('rejects new and then old during one write', () => {
    const records = [...done(a, 1, 'v'), b.writes(1, 'w'), ...seen(c, 1, 'w'), ...seen(c, 2, 'v')];
    expect(verdicts(new RegularityReferee(), records)).toEqual([]);
    expect(verdicts(atomic(), records)).toEqual(['atomicity@70']);
  });

  it('rejects null after a read has returned a write that is under way', () => {
    expect(verdicts(atomic(), [b.writes(1, 'w'), ...seen(c, 1, 'w'), ...seen(d, 1, null)])).toEqual(['atomicity@50']);
  });

  it('accepts old and then new, and either of two writes that were read by nobody yet', () => {
    const records = [...done(a, 1, 'v'), b.writes(1, 'w'), ...seen(c, 1, 'v'), ...seen(d, 1, 'w'), b.wrote(1), ...seen(c, 2, 'w')];
    expect(verdicts(atomic(), records)).toEqual([]);
  });
});
