/**
 * Tasks at single units: find out which unit it is, get the content of a register, join a content to it, list. Each task is a few accesses, and
 * either succeeds or fails; a caller that wants it again begins another. An access that is not answered in time has failed for its task, and may take effect
 * later.
 */
import { NEVER, type MonoUs } from '../../../kernel/index.ts';
import type { Boot, Completion, Snapshot, Step, Version } from '../../contract.ts';
import { asSnapshot, fromSnapshot } from '../../state-snapshot.ts';
import { compareStamps, covers, decodeContent, encodeContent, merged, type RegisterContent, type Stamp } from './contents.ts';
import { blocksOf, MARK_KEY, placeOfKey, recordKeyOf, UNIT_REGISTERS, WHOLE_KEY } from './keys.ts';
import { decodeMark, decodeWhole, isSameText, type UnitMark } from './marks.ts';
import { PlainSlots } from './plain-slots.ts';
import type { UnitsRules } from './rules.ts';

/** `whole`: it counts. Otherwise why it does not: it did not answer, has no mark, was not finished when it was named, belongs to other units, or may have lost writes. */
export type UnitStanding = 'silent' | 'whole' | 'unmarked' | 'unfinished' | 'foreign' | 'epoch';

export interface UnitsConfig {
  /** What each unit can do, by its number. */
  readonly units: readonly { readonly canSwap: boolean }[];
  /** All units in words that every user of them has alike. Null: units that need no identity. */
  readonly members: Uint8Array | null;
  /** How long an access is waited for. */
  readonly patienceUs: number;
  /** How long it rests before it tries again. */
  readonly retryUs: number;
}

/** What a task is to do. */
export type TaskWish =
  | { readonly kind: 'identify' }
  /** Whether the unit is still the same unit. */
  | { readonly kind: 'check' }
  | { readonly kind: 'get'; readonly place: string }
  /** `guard`: refuse if a higher rank was promised or written. `thenGets`: the answer has what all others have put there. */
  | {
      readonly kind: 'join';
      readonly place: string;
      readonly content: RegisterContent;
      readonly guard: Stamp | null;
      readonly thenGets: boolean;
    }
  /** Places that begin so. */
  | { readonly kind: 'places'; readonly prefixes: readonly string[] }
  /** A record of the unit itself. */
  | { readonly kind: 'put'; readonly key: string; readonly bytes: Uint8Array };

export interface UnitTask {
  readonly number: number;
  /** The operation that it belongs to. */
  readonly owner: number;
  readonly unit: number;
  readonly wish: TaskWish;
  /** The content that was found in a register. */
  found: RegisterContent | null;
  isRefused: boolean;
  places: string[];
  /** Which unit it is; null if it does not count. */
  identity: number | null;
  /** What the unit says is whole. */
  whole: number | null;
  /** Accesses that it waits for. */
  pending: number;
}

interface UnitAccess {
  readonly task: number;
  readonly what: 'whole' | 'mark' | 'places' | 'blocks' | 'content' | 'swap' | 'blind' | 'put';
  readonly untilUs: MonoUs;
  /** What a swap leaves if it wins. */
  readonly next: RegisterContent | null;
}

/** The identity of units that need none, and of units that a mutant takes for blank. */
const ANY_IDENTITY = 0;

type AnyStep = Step<never, unknown>;

export interface TaskHost<AStep extends AnyStep> {
  ended(task: UnitTask, isDone: boolean, step: AStep): void;
}

export class UnitTasks<AStep extends AnyStep> {
  readonly standings: UnitStanding[];
  readonly #config: UnitsConfig;
  readonly #rules: UnitsRules;
  readonly #host: TaskHost<AStep>;
  readonly #slots: PlainSlots;
  readonly epochs: (Uint8Array | null)[];
  #tasks = new Map<number, UnitTask>();
  #accesses = new Map<number, UnitAccess>();
  #taskNumber = 0;
  #accessNumber = 0;

  constructor(config: UnitsConfig, boot: Boot, rules: UnitsRules, host: TaskHost<AStep>) {
    this.#config = config;
    this.#rules = rules;
    this.#host = host;
    this.standings = config.units.map(() => 'silent');
    this.epochs = config.units.map(() => null);
    this.#slots = new PlainSlots(rules.slotOfLife ? boot.incarnation : boot.self);
  }

  get wakeAt(): MonoUs {
    let first: MonoUs = NEVER;
    for (const { untilUs } of this.#accesses.values()) if (untilUs < first) first = untilUs;
    const { writingUntilUs } = this.#slots;
    return writingUntilUs < first ? writingUntilUs : first;
  }

  /** The number of the task that is begun next. */
  get nextNumber(): number {
    return this.#taskNumber + 1;
  }

  /** It may end before this returns. */
  begin(owner: number, unit: number, wish: TaskWish, step: AStep): void {
    const number = ++this.#taskNumber;
    const blank = { found: null, isRefused: false, places: [], identity: null, whole: null, pending: 0 };
    const task: UnitTask = { number, owner, unit, wish, ...blank };
    this.#tasks.set(number, task);
    this.#first(task, step);
  }

  /** No operation waits for it any more. */
  drop(number: number): void {
    this.#tasks.delete(number);
  }

  /** The unit is another one by now: it lacks everything that was put there before. */
  forget(unit: number, step: AStep): void {
    this.#fail(this.#slots.forget(unit), step);
  }

  #first(task: UnitTask, step: AStep): void {
    const { wish, unit } = task;
    switch (wish.kind) {
      case 'identify':
        step.read(unit, WHOLE_KEY, this.#access(task, 'whole', step));
        return;
      case 'check':
        step.read(unit, MARK_KEY, this.#access(task, 'mark', step));
        return;
      case 'get':
        return this.#get(task, wish.place, step);
      case 'join':
        return this.#join(task, wish, step);
      case 'put':
        step.write(unit, wish.key, wish.bytes, this.#access(task, 'put', step));
        return;
      case 'places':
        for (const prefix of wish.prefixes) step.list(unit, UNIT_REGISTERS + prefix, this.#access(task, 'places', step));
    }
  }

  completed(completion: Completion, step: AStep): void {
    const { op } = completion;
    const written = this.#slots.completed(op, completion.ok);
    if (written !== null) {
      this.#slotWritten(written, completion.ok, step);
      return;
    }
    const access = this.#accesses.get(op);
    if (access === undefined) return;
    this.#accesses.delete(op);
    const task = this.#tasks.get(access.task);
    if (task !== undefined) this.#answered(task, access, completion, step);
  }

  /** Whatever was not answered in time has failed. */
  wake(step: AStep): void {
    for (const [op, { untilUs }] of this.#accesses) {
      if (untilUs <= step.monoUs) this.completed(failed(op), step);
    }
    for (const op of this.#slots.overdue(step.monoUs)) this.completed(failed(op), step);
  }

  // ── Answers ────────────────────────────────────────────────────────────────────────────────────────

  #answered(task: UnitTask, access: UnitAccess, completion: Completion, step: AStep): void {
    const { ok, isLost, value, version, keys } = completion;
    task.pending--;
    if (!ok) {
      if (access.what === 'whole' || access.what === 'mark') this.standings[task.unit] = 'silent';
      return this.#end(task, false, step);
    }
    switch (access.what) {
      case 'whole':
        task.whole = value === null ? null : decodeWhole(value);
        step.read(task.unit, MARK_KEY, this.#access(task, 'mark', step));
        return;
      case 'mark':
        return this.#marked(task, value, step);
      case 'places':
        this.#listed(task, keys ?? [], step);
        return;
      case 'blocks':
        return this.#readBlocks(task, keys ?? [], step);
      case 'content':
        return this.#contentRead(task, value, version, step);
      case 'swap':
        if (isLost) return this.#get(task, placeIn(task.wish), step);
        task.found = access.next;
        return this.#end(task, true, step);
      case 'blind':
        if (task.wish.kind === 'join' && task.wish.thenGets) return this.#get(task, task.wish.place, step);
        return this.#end(task, true, step);
      default:
        return this.#end(task, true, step);
    }
  }

  #marked(task: UnitTask, value: Uint8Array | null, step: AStep): void {
    const mark = value === null ? null : decodeMark(value);
    const standing = this.#judge(task, mark);
    const isBlank = standing === 'unmarked' && !this.#rules.unmarkedIsDead;
    if (task.wish.kind === 'identify') this.standings[task.unit] = isBlank ? 'whole' : standing;
    if (isBlank) task.identity = ANY_IDENTITY;
    else if (standing === 'whole') task.identity = mark?.identity ?? null;
    this.#end(task, true, step);
  }

  /** A check is of a unit that was whole once: only the mark can have changed. */
  #judge({ unit, wish, whole }: UnitTask, mark: UnitMark | null): UnitStanding {
    const { members } = this.#config;
    const epoch = this.epochs[unit];
    if (mark === null || members === null) return 'unmarked';
    if (mark.slot !== unit || !isSameText(mark.members, members)) return 'foreign';
    if (this.#rules.epochCounts && (epoch === null || epoch === undefined || !isSameText(mark.epoch, epoch))) return 'epoch';
    return wish.kind === 'check' || whole === mark.identity ? 'whole' : 'unfinished';
  }

  #listed(task: UnitTask, keys: readonly string[], step: AStep): void {
    const isBlock = !this.#canSwap(task.unit);
    for (const key of keys) {
      const found = placeOfKey(key, isBlock);
      if (found !== null && !task.places.includes(found.place)) task.places.push(found.place);
    }
    if (task.pending === 0) this.#end(task, true, step);
  }

  // ── Registers ──────────────────────────────────────────────────────────────────────────────────────

  #get(task: UnitTask, place: string, step: AStep): void {
    task.found = null;
    if (this.#canSwap(task.unit)) step.read(task.unit, recordKeyOf(place), this.#access(task, 'content', step));
    else step.list(task.unit, blocksOf(place), this.#access(task, 'blocks', step));
  }

  #readBlocks(task: UnitTask, keys: readonly string[], step: AStep): void {
    const place = placeIn(task.wish);
    const blocks = keys.filter((key) => placeOfKey(key, true)?.place === place);
    for (const key of blocks) step.read(task.unit, key, this.#access(task, 'content', step));
    if (blocks.length === 0) this.#contentsRead(task, null, step);
  }

  #contentRead(task: UnitTask, value: Uint8Array | null, version: Version | null, step: AStep): void {
    const content = value === null ? null : decodeContent(placeIn(task.wish), value);
    // An unreadable record may have been anything: this unit has no answer.
    if (value !== null && content === null) return this.#end(task, false, step);
    if (content !== null) task.found = task.found === null ? content : merged(task.found, content);
    if (task.pending === 0) this.#contentsRead(task, version, step);
  }

  #contentsRead(task: UnitTask, version: Version | null, step: AStep): void {
    const { wish, unit, found } = task;
    if (wish.kind !== 'join') return this.#end(task, true, step);
    if (this.#isRefused(wish.guard, found)) {
      task.isRefused = true;
      return this.#end(task, true, step);
    }
    if (!this.#canSwap(unit) || covers(found, wish.content)) return this.#end(task, true, step);
    const next = merged(found, wish.content);
    const bytes = encodeContent(wish.place, next);
    step.swap(unit, recordKeyOf(wish.place), version, bytes, this.#access(task, 'swap', step, next));
  }

  #isRefused(guard: Stamp | null, found: RegisterContent | null): boolean {
    if (guard === null || found?.kind !== 'ranked') return false;
    if (found.rank !== null && compareStamps(found.rank, guard) > 0) return true;
    return this.#rules.promiseBinds && compareStamps(found.promised, guard) > 0;
  }

  #join(task: UnitTask, wish: Extract<TaskWish, { kind: 'join' }>, step: AStep): void {
    const { place, content } = wish;
    if (this.#canSwap(task.unit)) {
      if (this.#rules.keepsLarger || content.kind === 'ranked') return this.#get(task, place, step);
      step.write(task.unit, recordKeyOf(place), encodeContent(place, content), this.#access(task, 'blind', step));
      return;
    }
    if (!this.#rules.oneWriteUnderWay) {
      const all = this.#slots.withBegun(task.unit, place, content);
      step.write(task.unit, this.#slots.keyOf(task.unit, place), encodeContent(place, all), this.#access(task, 'blind', step));
      return;
    }
    this.#slots.join(task.unit, place, content, task.number);
    this.#writeSlot(task.unit, place, step);
    this.#slotWritten({ unit: task.unit, place, failed: [] }, true, step);
  }

  #writeSlot(unit: number, place: string, step: AStep): void {
    const op = ++this.#accessNumber;
    const written = this.#slots.write(unit, place, op, (step.monoUs + this.#config.patienceUs) as MonoUs);
    if (written !== null) step.write(unit, written.key, encodeContent(place, written.content), op);
  }

  /** Tasks that waited for the slot's present content go on. */
  #slotWritten({ unit, place, failed: given }: { unit: number; place: string; failed: readonly number[] }, ok: boolean, step: AStep): void {
    this.#fail(given, step);
    if (!ok) return;
    for (const number of this.#slots.served(unit, place)) {
      const task = this.#tasks.get(number);
      if (task?.wish.kind !== 'join') continue;
      if (task.wish.thenGets) this.#get(task, place, step);
      else this.#end(task, true, step);
    }
    this.#writeSlot(unit, place, step);
  }

  #access(task: UnitTask, what: UnitAccess['what'], step: AStep, next: RegisterContent | null = null): number {
    const op = ++this.#accessNumber;
    task.pending++;
    this.#accesses.set(op, { task: task.number, what, untilUs: (step.monoUs + this.#config.patienceUs) as MonoUs, next });
    return op;
  }

  #fail(tasks: readonly number[], step: AStep): void {
    for (const number of tasks) {
      const task = this.#tasks.get(number);
      if (task !== undefined) this.#end(task, false, step);
    }
  }

  #end(task: UnitTask, isDone: boolean, step: AStep): void {
    if (this.#tasks.delete(task.number)) this.#host.ended(task, isDone, step);
  }

  #canSwap(unit: number): boolean {
    return this.#config.units[unit]?.canSwap ?? false;
  }

  snapshot(): Snapshot {
    const numbers = [this.#taskNumber, this.#accessNumber];
    const { standings, epochs } = this;
    return asSnapshot({ numbers, standings, epochs, tasks: this.#tasks, accesses: this.#accesses, slots: this.#slots.snapshot() });
  }

  restore(snapshot: Snapshot): void {
    const state = fromSnapshot(snapshot) as {
      readonly numbers: readonly number[];
      readonly standings: UnitStanding[];
      readonly epochs: (Uint8Array | null)[];
      readonly tasks: Map<number, UnitTask>;
      readonly accesses: Map<number, UnitAccess>;
      readonly slots: Snapshot;
    };
    const { numbers, standings, epochs, tasks, accesses, slots } = state;
    [this.#taskNumber = 0, this.#accessNumber = 0] = numbers;
    this.standings.splice(0, Infinity, ...standings);
    this.epochs.splice(0, Infinity, ...epochs);
    this.#tasks = tasks;
    this.#accesses = accesses;
    this.#slots.restore(slots);
  }
}

function placeIn(wish: TaskWish): string {
  return wish.kind === 'get' || wish.kind === 'join' ? wish.place : '';
}

function failed(op: number): Completion {
  return { op, ok: false, isLost: false, value: null, version: null, keys: null };
}
