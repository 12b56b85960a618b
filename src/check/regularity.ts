/**
 * Regularity of a multi-writer register: Definition 1 of Chockler & Malkhi (MWR2 of Shao, Pierce and
 * Welch). One order of all writes must explain every read; it is not enough that each read alone could
 * have returned its value, and the lease's proof of safety needs the difference.
 * Judged as the records come, keeping only writes that a read may still return.
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
import type { Happened, HistoryRecord, Invoked, Responded } from './history.ts';
import { PerIncarnation } from './incarnations.ts';
import { RecentMap } from './recent.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted } from './wording.ts';

/** The place of a record in the history; later is larger. */
type Place = number;
const NEVER: Place = Infinity;

interface Write {
  readonly by: Pick<Happened, 'node' | 'incarnation'>;
  readonly value: string;
  readonly beganAt: number;
  latest: Place;
  ended: Place;
}

interface Operation {
  readonly register: Register;
  /** What it writes, or null for a read. */
  readonly write: Write | null;
  readonly began: Place;
  readonly beganAt: number;
}

interface Overwritten {
  readonly write: Write;
  readonly follower: Write;
}

interface Register {
  readonly name: string;
  /** Writes that a read may still return, by value. */
  readonly byValue: Map<string, Write>;
  /** Those of them that were answered. */
  ended: Write[];
  /** When the first of all writes was answered: from here on "never written" is stale. */
  firstEnded: Place;
  /** Some of the writes dropped last, each with one that must follow it: only to say more than "unknown value". */
  readonly dropped: RecentMap<string, Overwritten>;
  /** Reads under way, oldest first. */
  readonly reads: Set<Operation>;
}

/** So many answered writes are kept for one slow read; then that read goes unjudged. */
const WRITES_KEPT = 1024;
const DROPPED_NAMED = 64;

export class RegularityReferee implements Referee {
  readonly property = 'regularity' as const;
  readonly #registers = new Map<string, Register>();
  readonly #underWay = new PerIncarnation<Map<number, Operation>>();
  #place: Place = 0;
  #unjudged = 0;
  readonly #writesKept: number;

  constructor(writesKept: number = WRITES_KEPT) {
    this.#writesKept = writesKept;
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

  #invoke(record: Invoked): Violation | null {
    const register = this.#register(record.register);
    let operations = this.#underWay.get(record);
    if (operations === undefined) this.#underWay.set(record, (operations = new Map()));
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
    const write: Write = { by: { node, incarnation }, value, beganAt: record.at, latest: began, ended: NEVER };
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
      write.ended = this.#place;
      if (register.firstEnded === NEVER) register.firstEnded = this.#place;
      register.ended.push(write);
      drop(register);
      while (register.ended.length > this.#writesKept && this.#giveUpOldestRead(register)) drop(register);
      return null;
    }
    const violation = register.reads.has(operation) ? this.#judgeRead(record, operation) : null;
    register.reads.delete(operation);
    drop(register);
    return violation;
  }

  #judgeRead(record: Responded, read: Operation): Violation | null {
    const { register } = read;
    const began = `began at ${instant(read.beganAt)}`;
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
    // The read asks that every write answered before it began precede the one it returns: must any of them follow that one?
    for (const follower of register.ended) {
      if (follower === write || follower.ended > read.began || follower.latest < write.ended) continue;
      return this.#stale(record, read, { write, follower });
    }
    if (read.began > write.latest) write.latest = read.began;
    return null;
  }

  #stale(record: Responded, read: Operation, { write, follower }: Overwritten): Violation {
    const what = `read ${quoted(write.value)} (began at ${instant(read.beganAt)}; ${written(write)})`;
    return this.#violation(
      record,
      `${what}, but ${quoted(follower.value)} (${written(follower)}) must follow it and was complete before the read`,
    );
  }

  /** Reads of the crashed are over. Its writes may take effect at any later time: they stay, pending. */
  #crash(who: Pick<Happened, 'node' | 'incarnation'>): void {
    for (const operation of this.#underWay.take(who)?.values() ?? []) {
      if (operation.register.reads.delete(operation)) drop(operation.register);
    }
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

function written(write: Write): string {
  return `written by ${party(write.by)} from ${instant(write.beganAt)}`;
}

/**
 * Drops the answered writes that no read, under way or to come, may return: some other write must
 * follow them and was answered before the oldest of those reads began. A dropped write is missed by
 * nobody: its follower does not precede it, so `latest` of it is before its follower's end, and every
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
  let follower: Write | null = null;
  for (const write of ended) {
    if (write.ended < horizon && (follower === null || write.latest > follower.latest)) follower = write;
  }
  if (follower === null) return;
  let kept = 0;
  for (const write of ended) {
    if (write === follower || write.ended > follower.latest) {
      ended[kept++] = write;
      continue;
    }
    if (register.byValue.get(write.value) === write) register.byValue.delete(write.value);
    register.dropped.set(write.value, { write, follower });
  }
  ended.length = kept;
}
