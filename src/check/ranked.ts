/**
 * Ranked registers (Chockler & Malkhi, appendix A). Ranks are ordered by count, then by incarnation. A read *sees* a write if it returns that write's rank or a
 * higher one (Definition 2). *P4*, safety: a read returns the value of some invoked write, and sees every write of a lower rank that commits, whichever of
 * the two comes first. *P5*, non-triviality: a write that aborts has met a higher rank. P6, that every operation returns, is judged by the caller that waits for
 * it.
 */
import type { Json } from '../kernel/index.ts';
import type { Aborted, Asked, Committed, HistoryRecord, RecordKind } from './history.ts';
import { PerIncarnation } from './incarnations.ts';
import { inOrder, whoSeen, type Perspective, type WhoMemory } from './memory.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted } from './wording.ts';

type Rank = readonly [count: number, incarnation: number];
const NO_RANK: Rank = [0, 0];

interface RankedOperation {
  readonly register: string;
  readonly rank: Rank;
  /** What is written; null for a read. */
  readonly value: string | null;
}

interface RankedRegister {
  /** The rank of each value that a write was invoked with. */
  readonly written: Map<string, Rank>;
  /** Of all operations that were invoked. */
  highest: Rank;
  /** Of all writes that committed. */
  readonly committed: Rank[];
  /** Of each read that returned, its own rank and the rank that it saw. */
  readonly reads: { readonly rank: Rank; readonly saw: Rank }[];
}

interface RankedMemory {
  readonly registers: readonly (readonly [
    name: string,
    written: readonly (readonly [string, Rank])[],
    highest: Rank,
    committed: readonly Rank[],
    reads: readonly (readonly [Rank, Rank])[],
  ])[];
  readonly underWay: readonly (readonly [who: WhoMemory, op: number, register: string, rank: Rank, value: string | null])[];
}

export class RankedReferee implements Referee {
  readonly property = 'P4' as const;
  readonly handles: readonly RecordKind[] = ['asked', 'committed', 'aborted', 'crashed'];
  readonly #registers = new Map<string, RankedRegister>();
  readonly #underWay = new PerIncarnation<Map<number, RankedOperation>>();

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'asked':
        this.#ask(record);
        return null;
      case 'committed':
        return this.#commit(record);
      case 'aborted':
        return this.#abort(record);
      case 'crashed':
        // Its operations under way may still take effect.
        this.#underWay.take(record);
        return null;
      default:
        return null;
    }
  }

  finish(): readonly Violation[] {
    return [];
  }

  #ask(record: Asked): void {
    const { register: name, ballot, incarnation, value = null } = record;
    const register = this.#register(name);
    const rank: Rank = [ballot, incarnation];
    if (compare(rank, register.highest) > 0) register.highest = rank;
    if (value !== null) register.written.set(value, rank);
    let operations = this.#underWay.get(record);
    if (operations === undefined) this.#underWay.set(record, (operations = new Map()));
    operations.set(record.op, { register: name, rank, value });
  }

  #commit(record: Committed): Violation | null {
    const operation = this.#end(record);
    if (operation === undefined) return null;
    const register = this.#register(record.register);
    const { rank, value } = operation;
    if (value !== null) {
      register.committed.push(rank);
      const blind = register.reads.find((read) => compare(read.rank, rank) > 0 && compare(read.saw, rank) < 0);
      if (blind === undefined) return null;
      return violation('P4', record, `committed rank ${inWords(rank)}, which the read of rank ${inWords(blind.rank)} had not seen`);
    }
    const found = record.value ?? null;
    const saw = found === null ? NO_RANK : register.written.get(found);
    if (saw === undefined) return violation('P4', record, `read ${quoted(String(found))}, which nobody wrote`);
    register.reads.push({ rank, saw });
    const missed = register.committed.find((one) => compare(one, rank) < 0 && compare(one, saw) > 0);
    if (missed === undefined) return null;
    return violation('P4', record, `read under rank ${inWords(rank)} and did not see the committed write of rank ${inWords(missed)}`);
  }

  #abort(record: Aborted): Violation | null {
    const operation = this.#end(record);
    if (operation === undefined) return null;
    const { highest } = this.#register(record.register);
    if (compare(highest, operation.rank) > 0) return null;
    return violation('P5', record, `aborted rank ${inWords(operation.rank)}, though no higher one was ever used`);
  }

  #end(record: Committed | Aborted): RankedOperation | undefined {
    const operations = this.#underWay.get(record);
    const operation = operations?.get(record.op);
    operations?.delete(record.op);
    return operation;
  }

  #register(name: string): RankedRegister {
    let register = this.#registers.get(name);
    if (register === undefined) this.#registers.set(name, (register = { written: new Map(), highest: NO_RANK, committed: [], reads: [] }));
    return register;
  }

  snapshot(seen: Perspective): Json {
    const of = ([count, incarnation]: Rank): Rank => [count, seen.incarnation(incarnation)];
    const registers = [...this.#registers].map(([name, { written, highest, committed, reads }]): RankedMemory['registers'][number] => [
      name,
      inOrder([...written].map(([value, rank]) => [value, of(rank)] as const)),
      of(highest),
      inOrder(committed.map(of)),
      inOrder(reads.map(({ rank, saw }) => [of(rank), of(saw)] as const)),
    ]);
    const underWay = [...this.#underWay.entries()].flatMap(([who, operations]) =>
      [...operations].map(([op, { register, rank, value }]) => [whoSeen(who, seen), op, register, of(rank), value] as const),
    );
    return { registers: inOrder(registers), underWay: inOrder(underWay) };
  }

  restore(memory: Json): void {
    const { registers, underWay } = memory as unknown as RankedMemory;
    for (const [name, written, highest, committed, reads] of registers) {
      const register = this.#register(name);
      for (const [value, rank] of written) register.written.set(value, rank);
      register.highest = highest;
      register.committed.push(...committed);
      register.reads.push(...reads.map(([rank, saw]) => ({ rank, saw })));
    }
    for (const [[node, incarnation], op, register, rank, value] of underWay) {
      const who = { node, incarnation };
      this.#underWay.set(who, (this.#underWay.get(who) ?? new Map<number, RankedOperation>()).set(op, { register, rank, value }));
    }
  }
}

function compare(a: Rank, b: Rank): number {
  return a[0] - b[0] || a[1] - b[1];
}

function inWords([count, incarnation]: Rank): string {
  return `${count}.${incarnation}`;
}

function violation(property: 'P4' | 'P5', record: Committed | Aborted, what: string): Violation {
  return { property, at: record.at, message: `${party(record)} ${what} (register ${quoted(record.register)}, at ${instant(record.at)})` };
}
