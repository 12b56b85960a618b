/**
 * Simulated storage: each node's own disk, and shared units of registers. An access takes a while and
 * has its effect at some instant within; its answer may be lost or come far too late; a unit may fail.
 * With `weakReads`, a read of a shared unit answers with anything a regular register allows.
 */
import type { Chooser } from '../kernel/index.ts';
import { OWN_DISK, type UnitId } from '../core/index.ts';
import type { FaultPlan } from './faults.ts';

const MILLION = 1_000_000;

export interface Access {
  readonly process: number;
  readonly node: number;
  readonly unit: UnitId;
  readonly key: string;
  readonly op: number;
  readonly action: 'read' | 'write';
  readonly invokedUs: number;
  /** What is written, or what the read found. */
  value: Uint8Array | null;
  ok: boolean;
  phase: 'under way' | 'effective';
  answerUs: number;
}

interface Write {
  readonly value: Uint8Array;
  /** Place in the order of effects, which is the one order of writes all reads agree on; Infinity before the effect. */
  place: number;
  respondedUs: number;
}

interface Register {
  value: Uint8Array | null;
  /** Writes a reader may still see. */
  writes: Write[];
}

export class Storage {
  faults: FaultPlan;
  readonly #chooser: Chooser;
  readonly #termUs: number;
  readonly #registers = new Map<string, Register>();
  readonly #failedUntilUs = new Map<UnitId, number>();
  readonly #readsUnderWay = new Set<Access>();
  readonly #writeOf = new Map<Access, Write>();
  #effects = 0;

  constructor(chooser: Chooser, faults: FaultPlan, termUs: number) {
    this.#chooser = chooser;
    this.faults = faults;
    this.#termUs = termUs;
  }

  fail(unit: UnitId, untilUs: number): void {
    this.#failedUntilUs.set(unit, untilUs);
  }

  repairAll(): void {
    this.#failedUntilUs.clear();
  }

  wipeDisk(node: number): void {
    const prefix = `disk ${node} `;
    for (const name of this.#registers.keys()) if (name.startsWith(prefix)) this.#registers.delete(name);
  }

  /** Begins an access; says when it has its effect (and `answerUs` is set), or null if it never has and is never answered. */
  begin(access: Access, nowUs: number): number | null {
    const { storageUsMin, storageUsSpread, lateAccessPpm, lostAnswerPpm } = this.faults;
    let durationUs = storageUsMin + this.#chooser.below(storageUsSpread + 1);
    if (access.unit !== OWN_DISK) {
      if (lateAccessPpm > 0 && this.#chooser.below(MILLION) < lateAccessPpm) durationUs += this.#chooser.below(this.#termUs * 3);
      if ((this.#failedUntilUs.get(access.unit) ?? 0) > nowUs) {
        access.ok = false;
        // A failing unit may do the work and not say so, say that it failed, or do nothing at all.
        if (this.#chooser.below(3) === 0) return null;
      }
    }
    const effectUs = nowUs + this.#chooser.below(durationUs + 1);
    access.answerUs = nowUs + durationUs;
    if (access.unit !== OWN_DISK && lostAnswerPpm > 0 && this.#chooser.below(MILLION) < lostAnswerPpm) access.answerUs = Infinity;
    if (access.action === 'read') this.#readsUnderWay.add(access);
    else if (access.value !== null) {
      const write: Write = { value: access.value, place: Infinity, respondedUs: Infinity };
      this.#writeOf.set(access, write);
      if (access.unit !== OWN_DISK) this.#register(access).writes.push(write);
    }
    return effectUs;
  }

  /** The instant of the effect. */
  takeEffect(access: Access): void {
    access.phase = 'effective';
    const register = this.#register(access);
    if (access.action === 'read') {
      access.value = register.value;
      return;
    }
    register.value = access.value;
    const write = this.#writeOf.get(access);
    if (write) write.place = ++this.#effects;
  }

  /** The answer leaves: a weak read is settled only now, since writes begun meanwhile are concurrent with it. */
  answer(access: Access, nowUs: number): void {
    if (access.action === 'write') {
      const write = this.#writeOf.get(access);
      this.#writeOf.delete(access);
      // A write that was said to have failed has no response: it stays concurrent with everything after it.
      if (write && access.ok) write.respondedUs = nowUs;
      return;
    }
    this.#readsUnderWay.delete(access);
    if (access.unit === OWN_DISK || !this.faults.weakReads || this.#chooser.below(2) === 0) return;
    const register = this.#register(access);
    const visible = register.writes.filter((write) => !isOverwritten(write, register.writes, access.invokedUs));
    const untouched = !register.writes.some((write) => write.respondedUs < access.invokedUs);
    const pick = this.#chooser.below(visible.length + (untouched ? 1 : 0));
    access.value = visible[pick]?.value ?? null;
    this.#prune(register, nowUs);
  }

  /** The process is gone: its own disk accesses either had their effect or never will; others go on. */
  survivesCrash(access: Access): boolean {
    return access.unit !== OWN_DISK || (access.action === 'write' && this.#chooser.below(2) === 0);
  }

  #register(access: Access): Register {
    const name = access.unit === OWN_DISK ? `disk ${access.node} ${access.key}` : `unit ${access.unit} ${access.key}`;
    let register = this.#registers.get(name);
    if (!register) this.#registers.set(name, (register = { value: null, writes: [] }));
    return register;
  }

  #prune(register: Register, nowUs: number): void {
    let oldestReadUs = nowUs;
    for (const read of this.#readsUnderWay) oldestReadUs = Math.min(oldestReadUs, read.invokedUs);
    const writes = register.writes;
    register.writes = writes.filter((write) => !isOverwritten(write, writes, oldestReadUs));
  }
}

/** A later write was over before the read began: no reader may see this one any more. */
function isOverwritten(write: Write, writes: readonly Write[], readInvokedUs: number): boolean {
  return writes.some((other) => other.place > write.place && other.respondedUs < readInvokedUs);
}
