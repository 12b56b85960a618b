/**
 * The lemmas of Flease's round-based register. Ballots are ordered by time, then by incarnation; each belongs to one READ
 * and the WRITE that follows it. "Some operation" of R1 and R2 is another operation, begun before the abort. R3 is meant with
 * k″ < k for WRITE: as printed (≤) each READ that commits would forbid its own WRITE. R5 does not ask which of the two
 * committed first. A crash ends nothing here: an operation that was begun may still take effect.
 */
import type { Json } from '../kernel/index.ts';
import type { Aborted, Asked, Committed, Happened, HistoryRecord, RecordKind } from './history.ts';
import { PerIncarnation } from './incarnations.ts';
import { inOrder, whoSeen, type Perspective, type Who, type WhoMemory } from './memory.ts';
import type { Referee, Violation } from './referee.ts';
import { party, quoted } from './wording.ts';

interface Ballot {
  readonly time: number;
  readonly by: number;
}

const NO_BALLOT: Ballot = { time: -1, by: -1 };

interface Operation extends Ballot {
  readonly action: 'read' | 'write';
  readonly value: string | undefined;
  /** The highest ballot that had committed when it began. */
  readonly committedBefore: Ballot;
}

type BallotMemory = readonly [time: number, by: number];
type TopMemory = readonly [ballot: BallotMemory, value: string | null, other: BallotMemory];

/** Values with ballots: the value with the highest, and the highest ballot of any other value. */
class Top {
  ballot: Ballot = NO_BALLOT;
  value: string | null = null;
  other: Ballot = NO_BALLOT;

  add(ballot: Ballot, value: string | null): void {
    if (compare(ballot, this.ballot) > 0) {
      if (value !== this.value) this.other = this.ballot;
      this.ballot = ballot;
      this.value = value;
    } else if (value !== this.value && compare(ballot, this.other) > 0) this.other = ballot;
  }

  /** The highest ballot of anything but this value. */
  besides(value: string | null): Ballot {
    return value === this.value ? this.other : this.ballot;
  }

  snapshot(seen: Perspective): TopMemory {
    return [ballotSeen(this.ballot, seen), this.value, ballotSeen(this.other, seen)];
  }

  restore([ballot, value, other]: TopMemory): void {
    this.ballot = ballotOf(ballot);
    this.value = value;
    this.other = ballotOf(other);
  }
}

interface Register {
  readonly name: string;
  /** Of all operations begun, and of all that committed. */
  highest: Ballot;
  committed: Ballot;
  /** The lowest ballot with which each value was written. */
  readonly lowest: Map<string, Ballot>;
  readonly writes: Top;
  readonly reads: Top;
  /** Ballots of the committed WRITEs that no WRITE of another value is above. */
  standing: Ballot[];
}

interface RegisterMemory {
  readonly name: string;
  readonly highest: BallotMemory;
  readonly committed: BallotMemory;
  readonly lowest: readonly (readonly [value: string, ballot: BallotMemory])[];
  readonly writes: TopMemory;
  readonly reads: TopMemory;
  readonly standing: readonly BallotMemory[];
}

interface OperationMemory {
  readonly who: WhoMemory;
  readonly op: number;
  readonly ballot: BallotMemory;
  /** Null: it reads. */
  readonly value: string | null;
  readonly committedBefore: BallotMemory;
}

/** One lemma. */
export type Lemma = 'R1' | 'R2' | 'R3' | 'R4' | 'R5';

export class LemmaReferee implements Referee {
  readonly property: Lemma;
  readonly handles: readonly RecordKind[] = ['asked', 'committed', 'aborted', 'crashed'];
  readonly #registers = new Map<string, Register>();
  readonly #underWay = new PerIncarnation<Map<number, Operation>>();

  constructor(lemma: Lemma) {
    this.property = lemma;
  }

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
        this.#underWay.take(record);
        return null;
      default:
        return null;
    }
  }

  finish(): readonly Violation[] {
    return [];
  }

  snapshot(seen: Perspective): Json {
    const registers = [...this.#registers.values()].map(({ name, highest, committed, lowest, writes, reads, standing }) => ({
      name,
      highest: ballotSeen(highest, seen),
      committed: ballotSeen(committed, seen),
      lowest: inOrder([...lowest].map(([value, ballot]) => [value, ballotSeen(ballot, seen)] as const)),
      writes: writes.snapshot(seen),
      reads: reads.snapshot(seen),
      standing: inOrder(standing.map((ballot) => ballotSeen(ballot, seen))),
    }));
    const underWay = [...this.#underWay.entries()].flatMap(([who, operations]) =>
      [...operations].map(([op, operation]) => ({
        who: whoSeen(who, seen),
        op,
        ballot: ballotSeen(operation, seen),
        value: operation.value ?? null,
        committedBefore: ballotSeen(operation.committedBefore, seen),
      })),
    );
    return { registers: inOrder(registers), underWay: inOrder(underWay) };
  }

  restore(memory: Json): void {
    const { registers, underWay } = memory as unknown as {
      readonly registers: readonly RegisterMemory[];
      readonly underWay: readonly OperationMemory[];
    };
    for (const { name, highest, committed, lowest, writes, reads, standing } of registers) {
      const register = this.#register(name);
      register.highest = ballotOf(highest);
      register.committed = ballotOf(committed);
      for (const [value, ballot] of lowest) register.lowest.set(value, ballotOf(ballot));
      register.writes.restore(writes);
      register.reads.restore(reads);
      register.standing = standing.map(ballotOf);
    }
    for (const { who, op, ballot, value, committedBefore } of underWay) {
      this.#operationsOf({ node: who[0], incarnation: who[1] }).set(op, {
        ...ballotOf(ballot),
        action: value === null ? 'read' : 'write',
        value: value ?? undefined,
        committedBefore: ballotOf(committedBefore),
      });
    }
  }

  #ask(record: Asked): void {
    const register = this.#register(record.register);
    const operation: Operation = {
      time: record.ballot,
      by: record.incarnation,
      action: record.action,
      value: record.value,
      committedBefore: register.committed,
    };
    this.#operationsOf(record).set(record.op, operation);
    if (compare(operation, register.highest) > 0) register.highest = operation;
    if (record.value === undefined) return;
    const lowest = register.lowest.get(record.value);
    if (lowest === undefined || compare(operation, lowest) < 0) register.lowest.set(record.value, operation);
    register.writes.add(operation, record.value);
    register.standing = register.standing.filter((ballot) => compare(ballot, register.writes.other) > 0);
  }

  #operationsOf(who: Who): Map<number, Operation> {
    let operations = this.#underWay.get(who);
    if (operations === undefined) this.#underWay.set(who, (operations = new Map()));
    return operations;
  }

  #abort(record: Aborted): Violation | null {
    const operation = this.#take(record);
    const register = this.#register(record.register);
    if (operation === undefined || compare(register.highest, operation) > 0) return null;
    return this.#broken(
      operation.action === 'read' ? 'R1' : 'R2',
      record,
      operation,
      'was aborted, though no other had its ballot or a higher one',
    );
  }

  #commit(record: Committed): Violation | null {
    const operation = this.#take(record);
    if (operation === undefined) return null;
    const register = this.#register(record.register);
    const below = compare(operation, operation.committedBefore);
    const isLate = operation.action === 'read' ? below <= 0 : below < 0;
    if (compare(operation, register.committed) > 0) register.committed = operation;
    const found =
      operation.action === 'read'
        ? this.#found(record, operation, record.value ?? null, register)
        : this.#written(record, operation, operation.value ?? '', register);
    if (isLate) {
      const why = `was committed, though ${named(operation.committedBefore)} had been before it began`;
      return this.#broken('R3', record, operation, why) ?? found;
    }
    return found;
  }

  #found(record: Committed, read: Operation, value: string | null, register: Register): Violation | null {
    const { lowest, writes, standing } = register;
    register.reads.add(read, value);
    const first = value === null ? null : (lowest.get(value) ?? NO_BALLOT);
    if (first !== null && (first === NO_BALLOT || compare(first, read) >= 0)) {
      const violation = this.#broken('R4', record, read, `found ${quoted(value ?? '')}, which no lower ballot had written`);
      if (violation !== null) return violation;
    }
    const missed = standing.find((ballot) => compare(ballot, read) < 0);
    if (missed === undefined || value === writes.value) return null;
    return this.#broken(
      'R5',
      record,
      read,
      `found ${valueText(value)}, though ${named(missed)} had written ${valueText(writes.value)} and nobody anything else since`,
    );
  }

  #written(record: Committed, write: Operation, value: string, register: Register): Violation | null {
    if (compare(write, register.writes.besides(value)) < 0) return null;
    register.standing.push(write);
    const blind = register.reads.besides(value);
    if (compare(blind, write) <= 0) return null;
    return this.#broken('R5', record, write, `wrote ${valueText(value)}, which ${named(blind)} had not found`);
  }

  #take(record: Committed | Aborted): Operation | undefined {
    const operations = this.#underWay.get(record);
    const operation = operations?.get(record.op);
    operations?.delete(record.op);
    return operation;
  }

  #register(name: string): Register {
    let register = this.#registers.get(name);
    if (register === undefined) {
      const fresh = { highest: NO_BALLOT, committed: NO_BALLOT, lowest: new Map<string, Ballot>(), standing: [] };
      this.#registers.set(name, (register = { name, ...fresh, writes: new Top(), reads: new Top() }));
    }
    return register;
  }

  /** Null if another lemma is this one's business. */
  #broken(lemma: Lemma, record: Happened & { register: string }, operation: Operation, why: string): Violation | null {
    if (lemma !== this.property) return null;
    const what = `${operation.action.toUpperCase()} with ballot ${named(operation)} of ${quoted(record.register)}`;
    return { property: lemma, at: record.at, message: `${what} by ${party(record)} ${why}` };
  }
}

/** A referee for each lemma. */
export function lemmaReferees(): Referee[] {
  return (['R1', 'R2', 'R3', 'R4', 'R5'] as const).map((lemma) => new LemmaReferee(lemma));
}

function ballotSeen({ time, by }: Ballot, seen: Perspective): BallotMemory {
  return [time, by === NO_BALLOT.by ? by : seen.incarnation(by)];
}

/** There is one ballot that stands for none: it is compared by identity. */
function ballotOf([time, by]: BallotMemory): Ballot {
  return time === NO_BALLOT.time ? NO_BALLOT : { time, by };
}

function compare(a: Ballot, b: Ballot): number {
  return a.time !== b.time ? a.time - b.time : a.by - b.by;
}

function named({ time, by }: Ballot): string {
  return `${time}.${by}`;
}

function valueText(value: string | null): string {
  return value === null ? 'nothing' : quoted(value);
}
