/**
 * Simulated storage: each node's own disk, and shared units of registers. An access takes a while and
 * has its effect at some instant within; its answer may be lost or come far too late; a unit or a disk may fail.
 *
 * With `weakReads`, a read of a shared unit answers with anything a regular register allows: the order
 * in which writes take effect is the one order of writes that all reads agree on, and a read may find
 * any write not followed, in that order, by one that was answered before the read began. A write under
 * way has no place in it yet, so it may be found, and not found, and found again.
 */
import { invariant, type Chooser } from '../kernel/index.ts';
import { OWN_DISK, type UnitId } from '../core/index.ts';
import type { FaultPlan } from './faults.ts';
import type { WorldCounts } from './interest.ts';

const MILLION = 1_000_000;

/** A place in the order of all beginnings, effects and answers: instants are too coarse, much happens in the same microsecond. */
type Place = number;
const NOT_YET: Place = Infinity;

export interface Access {
  readonly process: number;
  readonly op: number;
  readonly action: 'read' | 'write';
  readonly unit: UnitId;
  readonly key: string;
  readonly register: Register;
  readonly began: Place;
  /** Null for a read, and for a write that a failing unit does not do. */
  readonly write: Write | null;
  /** What a read found. */
  found: Uint8Array | null;
  /** The write that a weak read found, or null for none; undefined where it found what was there. */
  foundWeakly: Write | null | undefined;
  readonly ok: boolean;
  /** `gone` is an access to its own disk of a process that crashed. */
  phase: 'under way' | 'effective' | 'gone';
  readonly effectUs: number;
  /** Infinity when the answer is lost. */
  readonly answerUs: number;
}

export interface Write {
  readonly value: Uint8Array;
  /** When it took effect. */
  place: Place;
  /** When it was answered. One that is said to have failed never is: it stays concurrent with all that follows. */
  ended: Place;
}

interface Register {
  newest: Write | null;
  /** Writes that a read may still find, in the order in which they began. */
  writes: Write[];
  readonly reads: Set<Access>;
}

export class Storage {
  faults: FaultPlan;
  readonly #chooser: Chooser;
  readonly #termUs: number;
  readonly #counts: WorldCounts;
  /** By unit and key; a disk is known by the node it is in. */
  readonly #units = new Map<UnitId, Map<string, Register>>();
  readonly #disks = new Map<number, Map<string, Register>>();
  readonly #failedUntilUs = new Map<UnitId, number>();
  readonly #diskFailedUntilUs = new Map<number, number>();
  /** Processes that an access to their own disk has failed, or never answered: only a new process gets on from there. */
  readonly #stranded = new Set<number>();
  /** Accesses under way to the own disk. */
  readonly #onDisk = new Set<Access>();
  #places: Place = 0;
  /** Is told of each effect. */
  effected: (access: Access) => void = () => undefined;

  constructor(chooser: Chooser, faults: FaultPlan, termUs: number, counts: WorldCounts) {
    this.#chooser = chooser;
    this.faults = faults;
    this.#termUs = termUs;
    this.#counts = counts;
  }

  fail(unit: UnitId, untilUs: number): void {
    this.#failedUntilUs.set(unit, Math.max(untilUs, this.#failedUntilUs.get(unit) ?? 0));
  }

  failDisk(node: number, untilUs: number): void {
    this.#diskFailedUntilUs.set(node, Math.max(untilUs, this.#diskFailedUntilUs.get(node) ?? 0));
  }

  isStranded(process: number): boolean {
    return this.#stranded.has(process);
  }

  repairAll(): void {
    this.#failedUntilUs.clear();
    this.#diskFailedUntilUs.clear();
  }

  wipeDisk(node: number): void {
    this.#disks.delete(node);
  }

  /** Begins an access; null if nothing will ever come of it. `value` is what is written, null for a read. */
  begin(process: number, node: number, unit: UnitId, key: string, op: number, value: Uint8Array | null, nowUs: number): Access | null {
    const { storageUsMin, storageUsSpread, lateAccessPpm, lostAnswerPpm, diskHangPpm, diskLostAnswerPpm } = this.faults;
    const isShared = unit !== OWN_DISK;
    let durationUs = storageUsMin + this.#chooser.below(storageUsSpread + 1);
    if (this.#hits(isShared ? lateAccessPpm : diskHangPpm)) {
      this.#counts[isShared ? 'late-access' : 'disk-hung']++;
      durationUs += this.#chooser.below(this.#termUs * 3);
    }
    const ok = ((isShared ? this.#failedUntilUs.get(unit) : this.#diskFailedUntilUs.get(node)) ?? 0) <= nowUs;
    // A failing unit does the work and says that it failed, or does not do it and says so, or does nothing at all.
    const does = ok ? 'work' : (['work', 'answer', 'nothing'] as const)[this.#chooser.below(3)];
    const isLost = does === 'nothing' || this.#hits(isShared ? lostAnswerPpm : diskLostAnswerPpm);
    if (!isShared && (isLost || !ok)) this.#stranded.add(process);
    if (does === 'nothing') return null;
    const effectUs = nowUs + this.#chooser.below(durationUs + 1);
    const answerUs = isLost ? Infinity : nowUs + durationUs;
    const register = this.#register(unit, node, key);
    const action = value === null ? 'read' : 'write';
    const write = value === null || does === 'answer' ? null : { value, place: NOT_YET, ended: NOT_YET };
    const began = ++this.#places;
    const access: Access = {
      process,
      op,
      action,
      unit,
      key,
      register,
      began,
      write,
      found: null,
      foundWeakly: undefined,
      ok,
      phase: 'under way',
      effectUs,
      answerUs,
    };
    if (!isShared) this.#onDisk.add(access);
    else if (action === 'read') register.reads.add(access);
    else if (write !== null) register.writes.push(write);
    return access;
  }

  /** The instant of the effect. Says whether an answer will follow. */
  takeEffect(access: Access, writerLives: boolean): boolean {
    const { register, write, unit } = access;
    access.phase = 'effective';
    this.effected(access);
    if (unit === OWN_DISK) this.#onDisk.delete(access);
    if (write !== null) {
      write.place = ++this.#places;
      register.newest = write;
      if (!writerLives && unit !== OWN_DISK) this.#counts['write-outlives-writer']++;
    } else if (access.action === 'read') {
      access.found = register.newest?.value ?? null;
    }
    if (access.answerUs !== Infinity) return true;
    this.#counts[unit === OWN_DISK ? 'disk-answer-lost' : 'lost-answer']++;
    register.reads.delete(access);
    return false;
  }

  /** The answer arrives. A weak read is settled only now, since writes begun meanwhile are concurrent with it. */
  answer(access: Access): void {
    const { register, write } = access;
    if (!access.ok) this.#counts[access.unit === OWN_DISK ? 'disk-failed' : 'failed-access']++;
    if (access.unit === OWN_DISK) return;
    if (write !== null) {
      if (access.ok) write.ended = ++this.#places;
    } else if (access.action === 'read') {
      register.reads.delete(access);
      if (this.faults.weakReads && this.#chooser.below(2) === 0) this.#readWeakly(access);
    }
    forgetOverwritten(register);
  }

  /** The process is gone. Each of its writes to its own disk took effect or never will; the rest is not its to stop. */
  crash(process: number): void {
    for (const access of this.#onDisk) {
      if (access.process !== process) continue;
      if (access.write !== null && this.#chooser.below(2) === 0) this.takeEffect(access, false);
      access.phase = 'gone';
      this.#onDisk.delete(access);
    }
  }

  #readWeakly(access: Access): void {
    const { writes, newest } = access.register;
    const oldest = newestEndedBefore(writes, access.began);
    const visible = writes.filter((write) => write.place >= oldest);
    // Before any write was answered, "never written" is an answer too.
    const choices = visible.length + (oldest === 0 ? 1 : 0);
    invariant(choices > 0, 'a register forgot the newest of its writes');
    const found = visible[this.#chooser.below(choices)];
    access.found = found?.value ?? null;
    access.foundWeakly = found ?? null;
    if (found?.place === NOT_YET) this.#counts['early-read']++;
    else if (newest !== null && newest !== found) this.#counts['stale-read']++;
  }

  #hits(sharePpm: number): boolean {
    return sharePpm > 0 && this.#chooser.below(MILLION) < sharePpm;
  }

  #register(unit: UnitId, node: number, key: string): Register {
    const places = unit === OWN_DISK ? this.#disks : this.#units;
    const place = unit === OWN_DISK ? node : unit;
    let registers = places.get(place);
    if (registers === undefined) places.set(place, (registers = new Map()));
    let register = registers.get(key);
    if (register === undefined) registers.set(key, (register = { newest: null, writes: [], reads: new Set() }));
    return register;
  }
}

/** The place of the last write, in the order of effects, of those answered before; 0 if there is none. */
function newestEndedBefore(writes: readonly Write[], before: Place): Place {
  let newest = 0;
  for (const { ended, place } of writes) if (ended < before && place > newest) newest = place;
  return newest;
}

/** Drops writes that no read may find any more, neither one under way nor one to come. */
function forgetOverwritten(register: Register): void {
  const { writes } = register;
  if (writes.length < 2) return;
  let horizon: Place = NOT_YET;
  // The first of the set is the oldest.
  for (const { began } of register.reads) {
    horizon = began;
    break;
  }
  const oldest = newestEndedBefore(writes, horizon);
  let kept = 0;
  for (const write of writes) if (write.place >= oldest) writes[kept++] = write;
  writes.length = kept;
}
