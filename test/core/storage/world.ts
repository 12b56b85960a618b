/**
 * A small random world for leases on storage: processes with clocks of their own, one unit of atomic registers whose
 * accesses are late, lost, failing or outlive their process, stalls, sleeps and crashes. It judges exclusion at every
 * grant and renewal, fencing, and after the world has healed that everyone gets its turn.
 */
import { encodeName, incarnation, monoUs, nodeId, Random, wallUs } from '../../../src/kernel/index.ts';
import type { Boot, Completion, Core, StorageCommand, StorageEvent, StorageStep } from '../../../src/core/index.ts';

type LeaseCore = Core<never, StorageCommand, StorageEvent> & {
  remainingUs(lease: number, name: Uint8Array, mono: ReturnType<typeof monoUs>, wall: ReturnType<typeof wallUs>): number;
};

export interface WorldPlan {
  readonly makeCore: (boot: Boot) => LeaseCore;
  readonly processes: number;
  readonly names: number;
  readonly deltaUs: number;
  readonly maxTermUs: number;
  /** Clocks are off by as much, either way. */
  readonly ratePpm: number;
  readonly wallOffUs: number;
  readonly latePpm: number;
  readonly lostPpm: number;
  readonly failPpm: number;
  readonly stallPpm: number;
  readonly sleepPpm: number;
  readonly crashPpm: number;
  readonly corruptPpm?: number;
  /** Records that were given back are erased, now and then. */
  readonly compactPpm?: number;
  /** So long there are faults. */
  readonly troubleUs: number;
  readonly judgesTokens: boolean;
  /** Every core is replaced by one restored from its snapshot, now and then. */
  readonly restores?: boolean;
  /** The answers of accesses in time take at most this part of δ. */
  readonly pace?: number;
}

export interface Outcome {
  readonly violation: string | null;
  readonly grants: number;
  readonly renewals: number;
  readonly voids: number;
  readonly stuck: string | null;
}

interface Process {
  readonly node: number;
  incarnation: number;
  core: LeaseCore;
  readonly rate: number;
  readonly wallOff: number;
  sleptUs: number;
  isUp: boolean;
  busyUntilUs: number;
  inbox: (() => void)[];
  plannedAt: number;
  lease: number;
  nextLease: number;
  held: Map<number, string>;
  readonly ends: Map<number, number>;
  turns: number;
}

interface Entry {
  readonly at: number;
  readonly order: number;
  readonly act: () => void;
}

const START_US = 1_000_000_000;
const WALL_US = 1_800_000_000_000_000;
const PPM = 1_000_000;
const STEPS_MAX = 60_000;

export class World {
  readonly #plan: WorldPlan;
  readonly #random: Random;
  readonly #heap: Entry[] = [];
  readonly #registers = new Map<string, Uint8Array>();
  readonly #processes: Process[] = [];
  readonly #tokens = new Map<string, number>();
  #now = START_US;
  #order = 0;
  #born = 0;
  #isHealed = false;
  #violation: string | null = null;
  #grants = 0;
  #renewals = 0;
  #voids = 0;

  constructor(plan: WorldPlan, seed: number) {
    this.#plan = plan;
    this.#random = new Random(seed);
    for (let node = 0; node < plan.processes; node++) {
      // Clocks at the edge of what is allowed find most.
      const rate = (this.#random.below(2) === 0 ? this.#between(-plan.ratePpm, plan.ratePpm) : (1 - 2 * (node % 2)) * plan.ratePpm) / PPM;
      const wallOff = this.#between(-plan.wallOffUs, plan.wallOffUs);
      const process = {
        node,
        rate,
        wallOff,
        sleptUs: 0,
        incarnation: 0,
        isUp: false,
        busyUntilUs: 0,
        inbox: [],
        plannedAt: Infinity,
        lease: 0,
        nextLease: 1,
        held: new Map(),
        ends: new Map(),
        turns: 0,
      } as unknown as Process;
      this.#processes.push(process);
      this.#boot(process);
    }
    this.#after(plan.troubleUs, () => this.#heal());
    this.#trouble();
  }

  run(): Outcome {
    const longUs =
      this.#plan.troubleUs + 40 * (this.#plan.maxTermUs * 2 + 40 * this.#plan.deltaUs) + this.#plan.processes * 4 * this.#plan.maxTermUs;
    for (let steps = 0; steps < STEPS_MAX && this.#violation === null; steps++) {
      const next = this.#pop();
      if (next === undefined || next.at > START_US + longUs) break;
      this.#now = next.at;
      next.act();
      if (this.#isHealed && this.#processes.every(({ turns }) => turns > 0)) break;
    }
    const stuck = this.#processes
      .filter(({ turns }) => turns === 0)
      .map(({ node }) => `process ${node} got no turn after the world had healed`);
    return {
      violation: this.#violation,
      grants: this.#grants,
      renewals: this.#renewals,
      voids: this.#voids,
      stuck: this.#violation === null && stuck.length > 0 ? stuck.join('; ') : null,
    };
  }

  // ── Clocks ─────────────────────────────────────────────────────────────────────────────────────────

  #mono({ rate, sleptUs }: Process): number {
    return Math.floor((this.#now - sleptUs) * (1 + rate));
  }

  #wall({ rate, wallOff }: Process): number {
    return Math.floor(WALL_US + wallOff + this.#now * (1 + rate));
  }

  // ── Processes ──────────────────────────────────────────────────────────────────────────────────────

  #boot(process: Process): void {
    process.incarnation = ++this.#born;
    process.core = this.#plan.makeCore({
      self: nodeId(process.node),
      incarnation: incarnation(process.incarnation),
      restarted: false,
      diskKept: false,
    });
    process.isUp = true;
    process.inbox = [];
    process.held.clear();
    process.plannedAt = Infinity;
    process.lease = 0;
    this.#later(process, this.#random.below(this.#plan.maxTermUs), () => this.#want(process));
  }

  /** Hands an input to the process, at once or when it runs again. */
  #input(process: Process, act: (step: StorageStep) => void): void {
    if (!process.isUp) return;
    if (this.#now < process.busyUntilUs) {
      process.inbox.push(() => this.#input(process, act));
      return;
    }
    const events: StorageEvent[] = [];
    act(this.#step(process, events));
    if (this.#plan.restores === true && this.#random.below(4) === 0) this.#replace(process);
    for (const event of events) this.#event(process, event);
    this.#replan(process);
  }

  #replace(process: Process): void {
    const before = process.core.snapshot();
    const boot = { self: nodeId(process.node), incarnation: incarnation(process.incarnation), restarted: false, diskKept: false };
    const core = this.#plan.makeCore(boot);
    core.restore(before);
    if (JSON.stringify(core.snapshot()) !== JSON.stringify(before)) this.#violation ??= 'a restored core has another snapshot';
    process.core = core;
  }

  #replan(process: Process): void {
    const { wakeAt } = process.core;
    if (wakeAt === Infinity) return;
    const inUs = Math.max(0, Math.ceil((wakeAt - this.#mono(process)) / (1 + process.rate)));
    const at = this.#now + inUs;
    if (process.plannedAt <= at && process.plannedAt > this.#now) return;
    process.plannedAt = at;
    this.#later(process, inUs, () => {
      if (process.plannedAt !== at) return;
      process.plannedAt = Infinity;
      this.#input(process, (step) => {
        if (process.core.wakeAt <= step.monoUs) process.core.wake(step);
      });
    });
  }

  #step(process: Process, events: StorageEvent[]): StorageStep {
    const begin = (kind: Kind, key: string, op: number, seen: Uint8Array | null, value: Uint8Array | null): void =>
      this.#access(process, { kind, key, op, seen: seen?.slice() ?? null, value: value?.slice() ?? null });
    return {
      monoUs: monoUs(this.#mono(process)),
      wallUs: wallUs(this.#wall(process)),
      choose: (bound) => this.#random.below(bound),
      send: () => undefined,
      read: (_unit, key, op) => begin('read', key, op, null, null),
      write: (_unit, key, value, op) => begin('write', key, op, null, value),
      swap: (_unit, key, seen, value, op) => begin('swap', key, op, seen, value),
      erase: (_unit, key, op) => begin('write', key, op, null, null),
      list: () => undefined,
      emit: (event) => void events.push(event),
    };
  }

  // ── Users ──────────────────────────────────────────────────────────────────────────────────────────

  #want(process: Process): void {
    if (process.lease !== 0) return;
    const { maxTermUs } = this.#plan;
    const lease = process.nextLease++;
    const name = `n${this.#random.below(this.#plan.names)}`;
    process.lease = lease;
    process.held.set(lease, name);
    const termUs = this.#random.below(3) === 0 ? 1 + Math.floor(maxTermUs / 8) : maxTermUs;
    const waitUs = !this.#isHealed && this.#random.below(4) === 0 ? 0 : 1000 * maxTermUs;
    const keep = this.#random.below(3) > 0;
    this.#input(process, (step) =>
      process.core.command(
        { kind: 'acquire', lease, name: encodeName(name), termUs, waitUs, keep, meta: Uint8Array.of(lease & 255) },
        step,
      ),
    );
    if (!this.#isHealed && this.#random.below(6) === 0) {
      this.#later(process, this.#random.below(8 * this.#plan.deltaUs), () => {
        this.#input(process, (step) => {
          process.core.command({ kind: 'cancel', lease }, step);
          process.core.command({ kind: 'release', lease, name: encodeName(name) }, step);
        });
        this.#gone(process, lease);
      });
    }
  }

  #gone(process: Process, lease: number): void {
    process.held.delete(lease);
    if (process.lease !== lease) return;
    process.lease = 0;
    this.#later(process, 1 + this.#random.below(this.#plan.maxTermUs), () => this.#want(process));
  }

  #event(process: Process, event: StorageEvent): void {
    switch (event.kind) {
      case 'granted': {
        this.#grants++;
        const name = process.held.get(event.lease);
        if (name === undefined) return;
        if (this.#isHealed) process.turns++;
        this.#judge(process, event.lease, name, event.kind);
        const highest = this.#tokens.get(name) ?? 0;
        if (this.#plan.judgesTokens && event.token <= highest) this.#violation ??= `token ${event.token} after ${highest}`;
        this.#tokens.set(name, Math.max(highest, event.token));
        process.ends.set(event.lease, event.deadlineMonoUs);
        const heldUs = this.#random.below(this.#random.below(3) === 0 ? 4 * this.#plan.deltaUs : 2 * this.#plan.maxTermUs);
        this.#later(process, heldUs, () => {
          if (!process.held.has(event.lease)) return;
          this.#input(process, (step) => process.core.command({ kind: 'release', lease: event.lease, name: encodeName(name) }, step));
        });
        return;
      }
      case 'renewed': {
        this.#renewals++;
        const name = process.held.get(event.lease);
        if (name === undefined) return;
        this.#judge(process, event.lease, name, event.kind);
        if (this.#mono(process) >= (process.ends.get(event.lease) ?? 0))
          this.#violation ??= `process ${process.node} renewed ${name} after its end`;
        process.ends.set(event.lease, event.deadlineMonoUs);
        return;
      }
      case 'voided':
        this.#voids++;
        return;
      case 'lost':
        if (this.#mono(process) < (process.ends.get(event.lease) ?? 0)) this.#early(process, event.lease);
        this.#gone(process, event.lease);
        return;
      case 'refused':
      case 'released':
        this.#gone(process, event.lease);
        return;
      default:
    }
  }

  /** The wall clocks of this world are never set: only a sleep ends a lease before the monotonic clock does. */
  #early(process: Process, lease: number): void {
    const name = process.held.get(lease);
    if (name !== undefined && process.sleptUs === 0) this.#violation ??= `process ${process.node} lost ${name} before its end`;
  }

  /** Nobody else may believe that it holds the name, at this very instant and by its own clocks. */
  #judge(by: Process, lease: number, name: string, how: string): void {
    const bytes = encodeName(name);
    const holds = (one: Process, number: number): boolean =>
      one.core.remainingUs(number, bytes, monoUs(this.#mono(one)), wallUs(this.#wall(one))) > 0;
    if (!holds(by, lease)) return;
    for (const other of this.#processes) {
      if (!other.isUp) continue;
      for (const [number, held] of other.held) {
        if (held !== name || (other === by && number === lease) || !holds(other, number)) continue;
        this.#violation ??= `${how} to process ${by.node} while process ${other.node} holds ${name}`;
      }
    }
  }

  // ── Storage ────────────────────────────────────────────────────────────────────────────────────────

  #access(process: Process, { kind, key, op, seen, value }: Access): void {
    const { deltaUs, maxTermUs, latePpm, lostPpm, failPpm, pace = 0.9 } = this.#plan;
    const born = process.incarnation;
    const part = this.#random.below(2) === 0 ? 0.1 : pace;
    let durationUs = 1 + this.#random.below(Math.max(1, Math.floor(deltaUs * part)));
    if (this.#hits(latePpm)) durationUs += this.#random.below(this.#random.below(2) === 0 ? 4 * deltaUs : 3 * maxTermUs);
    const isFailing = this.#hits(failPpm);
    const takesEffect = !isFailing || this.#random.below(2) === 0;
    const isAnswered = !this.#hits(lostPpm);
    const effectUs = this.#random.below(durationUs + 1);
    let found: Uint8Array | null = null;
    let isLost = false;
    this.#after(effectUs, () => {
      if (!takesEffect) return;
      found = this.#registers.get(key) ?? null;
      if (kind === 'swap' && !same(found, seen)) isLost = true;
      else if (kind !== 'read' && value === null) this.#registers.delete(key);
      else if (kind !== 'read' && value !== null) this.#registers.set(key, this.#damaged(value));
    });
    if (!isAnswered) return;
    this.#after(durationUs, () => {
      if (process.incarnation !== born) return;
      const ok = !isFailing;
      const completion: Completion = {
        op,
        ok,
        isLost: ok && isLost,
        value: kind === 'read' && ok ? found : null,
        version: ok && !isLost ? (kind === 'read' ? found : value) : null,
        keys: null,
      };
      this.#input(process, (step) => process.core.completed(completion, step));
    });
  }

  #damaged(value: Uint8Array): Uint8Array {
    if (!this.#hits(this.#plan.corruptPpm ?? 0)) return value;
    const copy = value.slice();
    copy[copy.length - 1] = (copy[copy.length - 1] ?? 0) ^ 1;
    return copy;
  }

  // ── Trouble ────────────────────────────────────────────────────────────────────────────────────────

  #trouble(): void {
    this.#after(1 + this.#random.below(4 * this.#plan.deltaUs), () => {
      if (this.#isHealed) return;
      for (const process of this.#processes) {
        const { stallPpm, sleepPpm, crashPpm } = this.#plan;
        if (this.#hits(stallPpm)) this.#stall(process, false);
        else if (this.#hits(sleepPpm)) this.#stall(process, true);
        else if (this.#hits(crashPpm)) this.#crash(process);
        if (this.#hits(this.#plan.compactPpm ?? 0)) this.#compact(process);
      }
      this.#trouble();
    });
  }

  #compact(process: Process): void {
    const lease = process.nextLease++;
    const name = encodeName(`n${this.#random.below(this.#plan.names)}`);
    this.#input(process, (step) => process.core.command({ kind: 'compact', lease, name }, step));
  }

  #stall(process: Process, sleeps: boolean): void {
    if (!process.isUp || this.#now < process.busyUntilUs) return;
    const forUs = 1 + this.#random.below(this.#random.below(2) === 0 ? 6 * this.#plan.deltaUs : 3 * this.#plan.maxTermUs);
    process.busyUntilUs = this.#now + forUs;
    const born = process.incarnation;
    this.#after(forUs, () => {
      if (sleeps) process.sleptUs += forUs;
      if (process.incarnation !== born) return;
      const inbox = process.inbox.splice(0);
      for (const one of inbox) one();
      this.#replan(process);
    });
  }

  #crash(process: Process): void {
    if (!process.isUp) return;
    if (this.#now < process.busyUntilUs) return;
    process.isUp = false;
    process.incarnation = ++this.#born;
    process.held.clear();
    this.#after(1 + this.#random.below(3 * this.#plan.maxTermUs), () => this.#boot(process));
  }

  #heal(): void {
    this.#isHealed = true;
    for (const process of this.#processes) process.turns = 0;
  }

  #hits(ppm: number): boolean {
    return !this.#isHealed && ppm > 0 && this.#random.below(PPM) < ppm;
  }

  // ── Time ───────────────────────────────────────────────────────────────────────────────────────────

  #later(process: Process, delayUs: number, act: () => void): void {
    const born = process.incarnation;
    this.#after(delayUs, () => {
      if (process.isUp && process.incarnation === born) act();
    });
  }

  #after(delayUs: number, act: () => void): void {
    const entry: Entry = { at: this.#now + delayUs, order: this.#order++, act };
    const heap = this.#heap;
    let hole = heap.length;
    heap.push(entry);
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      const above = heap[parent] as Entry;
      if (isBefore(above, entry)) break;
      heap[hole] = above;
      hole = parent;
    }
    heap[hole] = entry;
  }

  #pop(): Entry | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || heap.length === 0) return top;
    let hole = 0;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Entry, heap[child] as Entry)) child++;
      if (isBefore(last, heap[child] as Entry)) break;
      heap[hole] = heap[child] as Entry;
      hole = child;
    }
    heap[hole] = last;
    return top;
  }

  #between(low: number, high: number): number {
    return low + this.#random.below(high - low + 1);
  }
}

type Kind = 'read' | 'write' | 'swap';

interface Access {
  readonly kind: Kind;
  readonly key: string;
  readonly op: number;
  readonly seen: Uint8Array | null;
  readonly value: Uint8Array | null;
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

function same(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === b || (a !== null && b !== null && a.length === b.length && a.every((byte, i) => byte === b[i]));
}
