/**
 * Simulated storage: each node's own disk, and shared units of registers. An access takes a while and
 * has its effect at some instant within; its answer may be lost or come far too late; a unit or a disk may fail. Records are damaged, forgotten
 * and wiped, writes go astray and take effect twice, units go back to an earlier state, where the world has such faults.
 *
 * With `weakReads`, a read of a shared unit answers with anything a regular register allows (`regular-register.ts`), and a list leaves out or names any
 * of the keys that come or go meanwhile.
 */
import { invariant, type Chooser } from '../kernel/index.ts';
import { OWN_DISK, type Completion, type UnitId } from '../core/index.ts';
import { UnitEpochs } from './unit-epochs.ts';
import type { FaultPlan } from './faults.ts';
import type { WorldCounts } from './interest.ts';
import { NOT_YET } from './regular-register.ts';
import type { UnitRecord } from './protocol.ts';
import { Registers, type BegunAccess, type AccessRequest, type Damage, type StoragePlace } from './registers.ts';

const MILLION = 1_000_000;
/** A unit that goes back to an earlier state has lost up to so many changes. */
const CHANGES_UNDONE_MAX = 12;

/** What the world has drawn for an access. */
interface Course {
  readonly process: number;
  readonly ok: boolean;
  /** `gone` is an access to its own disk of a process that crashed. */
  phase: 'under way' | 'effective' | 'gone';
  readonly effectUs: number;
  /** Infinity when the answer is lost. */
  readonly answerUs: number;
  /** The key that a write goes to instead of its own. */
  readonly astray: string | undefined;
  /** When a change takes effect once more; Infinity if it does not. */
  readonly againUs: number;
}

export type ScheduledAccess = BegunAccess & Course;

export class Storage {
  faults: FaultPlan;
  readonly #chooser: Chooser;
  readonly #termUs: number;
  readonly #counts: WorldCounts;
  readonly #registers = new Registers();
  readonly epochs: UnitEpochs = new UnitEpochs();
  readonly #failedUntilUs = new Map<UnitId, number>();
  readonly #diskFailedUntilUs = new Map<number, number>();
  /** Processes that an access to their own disk has failed, or never answered: only a new process gets on from there. */
  readonly #stranded = new Set<number>();
  /** Accesses under way to the own disk. */
  readonly #onDisk = new Set<ScheduledAccess>();
  /** Is told of each effect, and of each change that takes effect once more. */
  effected: (access: ScheduledAccess, isAgain: boolean) => void = () => undefined;
  /** Is told of what befalls records by themselves. */
  damaged: (damage: Damage) => void = () => undefined;

  constructor(chooser: Chooser, faults: FaultPlan, termUs: number, counts: WorldCounts) {
    this.#chooser = chooser;
    this.faults = faults;
    this.#termUs = termUs;
    this.#counts = counts;
  }

  /** It was there before the world began. */
  furnish({ unit, key, value }: UnitRecord): void {
    const access = this.#registers.begin(0, { action: 'write', unit, key, op: 0, value }, true, {});
    this.#registers.takeEffect(access);
    this.#registers.end(access, true);
  }

  fail(unit: UnitId, untilUs: number): void {
    this.#failedUntilUs.set(unit, Math.max(untilUs, this.#failedUntilUs.get(unit) ?? 0));
  }

  failDisk(node: number, untilUs: number): void {
    this.#diskFailedUntilUs.set(node, Math.max(untilUs, this.#diskFailedUntilUs.get(node) ?? 0));
  }

  /** Some record there, any of its bytes; nothing happens where there is none. */
  strike(kind: Damage['kind'], place: StoragePlace): void {
    const damage = this.#drawDamage(kind, place);
    if (damage === null || !this.#registers.damage(damage)) return;
    this.#counts[place.unit === OWN_DISK ? 'disk-damaged' : DAMAGE_COUNTS[kind]]++;
    if (damage.kind === 'restore') this.epochs.renew(damage.unit);
    this.damaged(damage);
  }

  isStranded(process: number): boolean {
    return this.#stranded.has(process);
  }

  repairAll(): void {
    this.#failedUntilUs.clear();
    this.#diskFailedUntilUs.clear();
  }

  recordOn(node: number, key: string): Uint8Array | null {
    return this.#registers.recordAt({ unit: OWN_DISK, node }, key);
  }

  wipeDisk(node: number): void {
    this.#registers.replaceDisk(node);
  }

  /** Begins an access; null if nothing will ever come of it. */
  begin(process: number, node: number, request: AccessRequest, nowUs: number): ScheduledAccess | null {
    const { storageUsMin, storageUsSpread, lateAccessPpm, lostAnswerPpm, diskHangPpm, diskLostAnswerPpm } = this.faults;
    const { unit } = request;
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
    const course: Course = { process, ok, phase: 'under way', effectUs, answerUs, ...this.#drawMishaps(node, request, effectUs) };
    const access = this.#registers.begin(node, request, does === 'work', course);
    if (isShared && this.epochs.refuses(process, unit)) this.#registers.refuse(access);
    if (!isShared) this.#onDisk.add(access);
    return access;
  }

  /** The instant of the effect. Says whether an answer will follow. */
  takeEffect(access: ScheduledAccess, writerLives: boolean): boolean {
    const { change, request, astray } = access;
    const isShared = request.unit !== OWN_DISK;
    access.phase = 'effective';
    if (!access.isVoid) this.effected(access, false);
    if (!isShared) this.#onDisk.delete(access);
    this.#registers.takeEffect(access, astray);
    if (change !== null && !access.isVoid) {
      if (astray !== undefined) this.#counts[isShared ? 'misdirected-write' : 'disk-damaged']++;
      if (access.isLost) this.#counts['lost-swap']++;
      else if (!writerLives && isShared) this.#counts['write-outlives-writer']++;
    }
    if (access.answerUs !== Infinity) return true;
    this.#counts[isShared ? 'lost-answer' : 'disk-answer-lost']++;
    this.#registers.abandon(access);
    return false;
  }

  /** A change that took effect does so once more, as when it was sent twice. */
  takeEffectAgain(access: ScheduledAccess): void {
    this.#counts['repeated-write']++;
    this.effected(access, true);
    this.#registers.repeat(access);
  }

  /** The answer arrives. A weak read is settled only now, since writes begun meanwhile are concurrent with it. */
  answer(access: ScheduledAccess): Completion {
    const { ok, request, isVoid } = access;
    if (isVoid) this.#counts['refused-access']++;
    else if (!ok) this.#counts[request.unit === OWN_DISK ? 'disk-failed' : 'failed-access']++;
    if (this.faults.weakReads && request.unit !== OWN_DISK && !isVoid) this.#answerWeakly(access);
    return this.#registers.end(access, ok);
  }

  /** The process is gone. Each of its writes to its own disk took effect or never will; the rest is not its to stop. */
  crash(process: number): void {
    for (const access of this.#onDisk) {
      if (access.process !== process) continue;
      if (access.change !== null && this.#chooser.below(2) === 0) this.takeEffect(access, false);
      access.phase = 'gone';
      this.#onDisk.delete(access);
    }
  }

  #answerWeakly(access: ScheduledAccess): void {
    const { action } = access.request;
    if (action !== 'read' && action !== 'list') return;
    if (this.#chooser.below(2) !== 0) return;
    if (action === 'read') this.#readWeakly(access);
    else this.#listWeakly(access);
  }

  #readWeakly(access: ScheduledAccess): void {
    const { changes, orNothing } = this.#registers.findable(access);
    const choices = changes.length + (orNothing ? 1 : 0);
    invariant(choices > 0, 'a register forgot the newest of its writes');
    const found = changes[this.#chooser.below(choices)] ?? null;
    const newest = this.#registers.newestOf(access);
    access.found = found?.value ?? null;
    access.foundWeakly = found;
    if (found?.place === NOT_YET) this.#counts['early-read']++;
    else if (newest !== null && newest !== found) this.#counts['stale-read']++;
  }

  #listWeakly(access: ScheduledAccess): void {
    const { must, may } = this.#registers.listable(access);
    const named = may.filter(() => this.#chooser.below(2) === 0);
    this.#registers.listAs(access, [...must, ...named]);
    if (may.length > 0) this.#counts['weak-list']++;
  }

  /** Draws nothing where the world has no such faults. */
  #drawMishaps(node: number, { action, unit, key }: AccessRequest, effectUs: number): Pick<Course, 'astray' | 'againUs'> {
    const { misdirectPpm, diskMisdirectPpm, repeatPpm } = this.faults;
    const isShared = unit !== OWN_DISK;
    let astray: string | undefined;
    if (action === 'write' && this.#hits(isShared ? misdirectPpm : diskMisdirectPpm)) {
      const others = this.#registers.keysAt(isShared ? { unit } : { unit, node }).filter((other) => other !== key);
      astray = others.length > 0 ? others[this.#chooser.below(others.length)] : undefined;
    }
    const isAgain = isShared && action !== 'read' && action !== 'list' && astray === undefined && this.#hits(repeatPpm);
    return { astray, againUs: isAgain ? effectUs + this.#chooser.below(this.#termUs * 3) : Infinity };
  }

  #drawDamage(kind: Damage['kind'], place: StoragePlace): Damage | null {
    if (kind === 'wipe') return { kind, ...place };
    if (kind === 'restore') return { kind, unit: place.unit, changes: this.#chooser.below(CHANGES_UNDONE_MAX + 1) };
    const keys = this.#registers.keysAt(place);
    if (keys.length === 0) return null;
    const key = keys[this.#chooser.below(keys.length)] as string;
    if (kind === 'forget') return { kind, ...place, key };
    const bytes = this.#registers.recordAt(place, key)?.length ?? 0;
    return bytes === 0 ? null : { kind, ...place, key, byte: this.#chooser.below(bytes) };
  }

  #hits(sharePpm: number): boolean {
    return sharePpm > 0 && this.#chooser.below(MILLION) < sharePpm;
  }
}

const DAMAGE_COUNTS = { corrupt: 'corrupt-record', forget: 'forgotten-write', wipe: 'wiped-unit', restore: 'restored-unit' } as const;
