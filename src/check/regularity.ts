/**
 * Regularity of a multi-writer register: Definition 1 of Chockler & Malkhi (MWR2 of Shao, Pierce and
 * Welch). One order of all writes must explain every read; it is not enough that each read alone could
 * have returned its value, and the lease's proof of safety needs the difference.
 * Judged as the records come, keeping only writes that a read may still return. The same judge, told so, judges atomicity:
 * there a write counts as ended when the first read that returned it has ended, so no later read may return an older one.
 *
 * The definition asks for one permutation of the operations in which each read, among the writes begun
 * before it ended, follows every write that ended before it began and returns the last one before it.
 * Values are unique, so each read names its write. With
 *   `ended(u)`  when write u was answered (never, if it is pending), and
 *   `latest(w)` when w began, or the last read that returned w began, whichever is later,
 * that means exactly: u comes before w whenever ended(u) < latest(w). Such an order exists unless two
 * writes must each precede the other. (Longer cycles always contain such a pair: take the write of the
 * cycle that ended first; it must precede all others, and one of them must precede it.)
 * "Before" is the order of records, which decides between equal times.
 */
import type { Json } from '../kernel/index.ts';
import type { HistoryRecord, Invoked, RecordKind, Responded } from './history.ts';
import { PerIncarnation } from './incarnations.ts';
import { inOrder, whoSeen, type Perspective, type Who, type WhoMemory } from './memory.ts';
import { RecentMap } from './recent.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted } from './wording.ts';

/** The place of a record in the history; later is larger. */
type Place = number;
const NEVER: Place = Infinity;

interface Write {
  /** The actor and the instant, for messages; null where that was not remembered. */
  readonly began: (Who & { readonly at: number }) | null;
  readonly value: string;
  latest: Place;
  ended: Place;
}

interface Operation {
  readonly register: Register;
  /** What it writes, or null for a read. */
  readonly write: Write | null;
  readonly began: Place;
  /** For messages; null where that was not remembered. */
  readonly beganAt: number | null;
}

interface Overwritten {
  readonly write: Write;
  readonly follower: Write;
}

interface Register {
  readonly name: string;
  /** Writes that a read may still return, by value. */
  readonly byValue: Map<string, Write>;
  /** The answered writes among them. */
  ended: Write[];
  /** When the first of all writes was answered: from here on "never written" is stale. */
  firstEnded: Place;
  /** Some of the writes dropped last, each with a write that must follow it: only to say more than "unknown value". */
  readonly dropped: RecentMap<string, Overwritten>;
  /** Reads under way, oldest first. */
  readonly reads: Set<Operation>;
}

interface OperationMemory {
  readonly who: WhoMemory;
  readonly op: number;
  readonly register: string;
  /** What it writes; null for a read. */
  readonly value: string | null;
  /** Of a read; null if it is not judged any more. */
  readonly began: number | null;
}

interface RegisterMemory {
  readonly name: string;
  readonly firstEnded: number | null;
  readonly writes: readonly (readonly [value: string, latest: number, ended: number | null])[];
}

interface RegularityMemory {
  readonly registers: readonly RegisterMemory[];
  readonly underWay: readonly OperationMemory[];
}

/** So many answered writes are kept for one slow read; then that read goes unjudged. */
const WRITES_KEPT = 1024;
const DROPPED_NAMED = 64;

export class RegularityReferee implements Referee {
  readonly property: 'regularity' | 'atomicity';
  readonly handles: readonly RecordKind[] = ['invoked', 'responded', 'crashed'];
  readonly #registers = new Map<string, Register>();
  readonly #underWay = new PerIncarnation<Map<number, Operation>>();
  #place: Place = 0;
  #unjudged = 0;
  readonly #writesKept: number;

  constructor({ writesKept = WRITES_KEPT, isAtomic = false }: { readonly writesKept?: number; readonly isAtomic?: boolean } = {}) {
    this.#writesKept = writesKept;
    this.property = isAtomic ? 'atomicity' : 'regularity';
  }

  /** Reads given up because more writes came and went during them than the referee keeps. */
  get unjudged(): number {
    return this.#unjudged;
  }

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'invoked':
        this.#place++;
        return this.#invoke(record);
      case 'responded':
        this.#place++;
        return this.#respond(record);
      case 'crashed':
        this.#crash(record);
        return null;
      default:
        return null;
    }
  }

  finish(_at: number): readonly Violation[] {
    return [];
  }

  /**
   * Of places only their order counts, and only between an end and a beginning: runs of either become one place each. Values that were
   * overwritten are left out: a read of one is refused with or without them.
   */
  snapshot(seen: Perspective): Json {
    const registers: RegisterMemory[] = [];
    const begans = new Map<Operation, number>();
    for (const register of this.#registers.values()) {
      const rank = ranksOf(register);
      for (const read of register.reads) begans.set(read, rank(read.began));
      const writes = [...register.byValue.values()].map((write): RegisterMemory['writes'][number] => [
        write.value,
        rank(write.latest),
        write.ended === NEVER ? null : rank(write.ended),
      ]);
      const firstEnded = register.firstEnded === NEVER ? null : mayFindNothing(register) ? rank(register.firstEnded) : 0;
      if (writes.length > 0 || firstEnded !== null) registers.push({ name: register.name, firstEnded, writes: inOrder(writes) });
    }
    const underWay = [...this.#underWay.entries()].flatMap(([who, operations]) =>
      [...operations].map(([op, operation]) => ({
        who: whoSeen(who, seen),
        op,
        register: operation.register.name,
        value: operation.write?.value ?? null,
        began: begans.get(operation) ?? null,
      })),
    );
    return { registers: inOrder(registers as unknown as Json[]), underWay: inOrder(underWay) };
  }

  restore(memory: Json): void {
    const { registers, underWay } = memory as unknown as RegularityMemory;
    for (const { name, firstEnded, writes } of registers) {
      const register = this.#register(name);
      register.firstEnded = firstEnded ?? NEVER;
      for (const [value, latest, ended] of writes) {
        const write: Write = { began: null, value, latest, ended: ended ?? NEVER };
        register.byValue.set(value, write);
        if (ended !== null) register.ended.push(write);
        this.#place = Math.max(this.#place, latest, ended ?? 0, firstEnded ?? 0);
      }
    }
    // The oldest read comes first.
    for (const { who, op, register: name, value, began } of underWay.toSorted((a, b) => (a.began ?? 0) - (b.began ?? 0))) {
      const register = this.#register(name);
      const write = value === null ? null : (register.byValue.get(value) ?? null);
      const operation: Operation = { register, write, began: began ?? 0, beganAt: null };
      this.#operationsOf({ node: who[0], incarnation: who[1] }).set(op, operation);
      if (began === null) continue;
      register.reads.add(operation);
      this.#place = Math.max(this.#place, began);
    }
  }

  #invoke(record: Invoked): Violation | null {
    const register = this.#register(record.register);
    const operations = this.#operationsOf(record);
    if (operations.has(record.op)) return this.#violation(record, `began operation ${record.op}, which is under way already`);
    const began = this.#place;
    if (record.action === 'read') {
      const read: Operation = { register, write: null, began, beganAt: record.at };
      operations.set(record.op, read);
      register.reads.add(read);
      return null;
    }
    if (record.value === undefined) return this.#violation(record, `began write ${record.op} without a value`);
    const { value, node, incarnation } = record;
    const write: Write = { began: { node, incarnation, at: record.at }, value, latest: began, ended: NEVER };
    const twin = register.byValue.get(value) ?? register.dropped.get(value)?.write;
    operations.set(record.op, { register, write, began, beganAt: record.at });
    register.byValue.set(value, write);
    if (twin === undefined) return null;
    return this.#violation(
      record,
      `wrote ${quoted(value)} a second time: without unique values no read can be judged (first ${written(twin)})`,
    );
  }

  #respond(record: Responded): Violation | null {
    const operations = this.#underWay.get(record);
    const operation = operations?.get(record.op);
    if (operations === undefined || operation === undefined || operation.register.name !== record.register) {
      return this.#violation(record, `got an answer to operation ${record.op}, which is not under way`);
    }
    operations.delete(record.op);
    const { register, write } = operation;
    if (write !== null) {
      this.#end(register, write);
      return null;
    }
    const violation = register.reads.has(operation) ? this.#judgeRead(record, operation) : null;
    register.reads.delete(operation);
    const returned = this.property === 'atomicity' && typeof record.value === 'string' ? register.byValue.get(record.value) : undefined;
    if (returned === undefined) drop(register);
    else this.#end(register, returned);
    return violation;
  }

  /** A write is over: it was answered, or where registers are atomic a read that returned it was. */
  #end(register: Register, write: Write): void {
    if (write.ended === NEVER) {
      write.ended = this.#place;
      if (register.firstEnded === NEVER) register.firstEnded = this.#place;
      register.ended.push(write);
    }
    drop(register);
    while (register.ended.length > this.#writesKept && this.#giveUpOldestRead(register)) drop(register);
  }

  #judgeRead(record: Responded, read: Operation): Violation | null {
    const { register } = read;
    const began = since(read.beganAt);
    if (record.value === undefined) return this.#violation(record, `read nothing, not even null (${began})`);
    if (record.value === null) {
      if (register.firstEnded > read.began) return null;
      return this.#violation(record, `read null (${began}), though a write was complete before`);
    }
    const write = register.byValue.get(record.value);
    if (write === undefined) {
      const stale = register.dropped.get(record.value);
      if (stale !== undefined) return this.#stale(record, read, stale);
      return this.#violation(record, `read ${quoted(record.value)} (${began}), never written or overwritten long before`);
    }
    // The read asks that every write answered before it began precede the write it returns: must any of them follow that write?
    for (const follower of register.ended) {
      if (follower === write || follower.ended > read.began || follower.latest < write.ended) continue;
      return this.#stale(record, read, { write, follower });
    }
    if (read.began > write.latest) write.latest = read.began;
    return null;
  }

  #stale(record: Responded, read: Operation, { write, follower }: Overwritten): Violation {
    const what = `read ${quoted(write.value)} (${since(read.beganAt)}; ${written(write)})`;
    return this.#violation(
      record,
      `${what}, but ${quoted(follower.value)} (${written(follower)}) must follow it and was complete before the read`,
    );
  }

  /** Reads of the crashed are over. Its writes may take effect at any later time: they stay, pending. */
  #crash(who: Who): void {
    for (const operation of this.#underWay.take(who)?.values() ?? []) {
      if (operation.register.reads.delete(operation)) drop(operation.register);
    }
  }

  #operationsOf(who: Who): Map<number, Operation> {
    let operations = this.#underWay.get(who);
    if (operations === undefined) this.#underWay.set(who, (operations = new Map()));
    return operations;
  }

  #giveUpOldestRead(register: Register): boolean {
    for (const oldest of register.reads) {
      register.reads.delete(oldest);
      this.#unjudged++;
      return true;
    }
    return false;
  }

  #register(name: string): Register {
    let register = this.#registers.get(name);
    if (register === undefined) {
      const dropped = new RecentMap<string, Overwritten>(DROPPED_NAMED);
      register = { name, byValue: new Map(), ended: [], firstEnded: NEVER, dropped, reads: new Set() };
      this.#registers.set(name, register);
    }
    return register;
  }

  #violation(record: Invoked | Responded, what: string): Violation {
    return {
      property: this.property,
      at: record.at,
      message: `${party(record)} ${what} (register ${quoted(record.register)}, at ${instant(record.at)})`,
    };
  }
}

function written({ began }: Write): string {
  return began === null ? 'written before' : `written by ${party(began)} from ${instant(began.at)}`;
}

function since(beganAt: number | null): string {
  return beganAt === null ? 'began before' : `began at ${instant(beganAt)}`;
}

/** A read is under way that began before the first write was answered. */
function mayFindNothing({ reads, firstEnded }: Register): boolean {
  for (const { began } of reads) return began < firstEnded;
  return false;
}

/** A small number for each place that still matters, 0 for places before all of them: places of the same sort with none of the other between them get the same. */
function ranksOf(register: Register): (place: Place) => number {
  const { byValue, firstEnded, reads } = register;
  const isEnd = new Map<Place, boolean>();
  for (const { latest, ended } of byValue.values()) isEnd.set(latest, false).set(ended, true);
  for (const { began } of reads) isEnd.set(began, false);
  if (mayFindNothing(register)) isEnd.set(firstEnded, true);
  isEnd.delete(NEVER);
  const ranks = new Map<Place, number>();
  let rank = 0;
  let wasEnd = true;
  for (const place of [...isEnd.keys()].sort((a, b) => a - b)) {
    if (isEnd.get(place) !== wasEnd) rank++;
    wasEnd = isEnd.get(place) === true;
    ranks.set(place, rank);
  }
  return (place) => ranks.get(place) ?? 0;
}

/**
 * Drops the answered writes that no read, under way or to come, may return: some other write must
 * follow them and was answered before the oldest of these reads began. No later judgement misses a dropped
 * write: its follower does not precede it, so `latest` of it is before its follower's end, and every
 * write that had to precede it was answered by then and is dropped along with it.
 */
function drop(register: Register): void {
  const { ended } = register;
  if (ended.length < 2) return;
  let horizon: Place = NEVER;
  for (const oldest of register.reads) {
    horizon = oldest.began;
    break;
  }
  let last: Write | null = null;
  let lastButOne: Write | null = null;
  for (const write of ended) {
    if (write.ended >= horizon) continue;
    if (last === null || write.latest > last.latest) {
      lastButOne = last;
      last = write;
    } else if (lastButOne === null || write.latest > lastButOne.latest) lastButOne = write;
  }
  let kept = 0;
  for (const write of ended) {
    const follower = write === last ? lastButOne : last;
    if (follower === null || write.ended > follower.latest) {
      ended[kept++] = write;
      continue;
    }
    if (register.byValue.get(write.value) === write) register.byValue.delete(write.value);
    register.dropped.set(write.value, { write, follower });
  }
  ended.length = kept;
}
