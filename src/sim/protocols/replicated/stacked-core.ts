/** Δ-leases on a replicated register, as one core: what the lease core asks of its store is an operation on several units. The product has a store in between. */
import type { MonoUs, WallUs } from '../../../kernel/index.ts';
import {
  earliest,
  type Completion,
  type Core,
  type DeltaLeaseCore,
  type Snapshot,
  type Step,
  type StorageCommand,
  type StorageEvent,
  type UnitsCommand,
  type UnitsCore,
  type UnitsEvent,
} from '../../../core/index.ts';

export type StackedCommand =
  | { readonly for: 'leases'; readonly command: StorageCommand }
  | { readonly for: 'units'; readonly command: UnitsCommand };
export type StackedEvent = { readonly of: 'leases'; readonly event: StorageEvent } | { readonly of: 'units'; readonly event: UnitsEvent };
type StackedStep = Step<never, StackedEvent>;

/** Numbers of operations from here on belong to the lease core's accesses; lower numbers to the user's. */
const LEASE_OPS = 1_000_000;

export class StackedLeaseCore implements Core<never, StackedCommand, StackedEvent> {
  readonly leases: DeltaLeaseCore;
  readonly units: UnitsCore;
  /** Answers that the lease core was not told yet. */
  readonly #answers: Completion[] = [];

  /** Until when each access of the lease core is waited for. */
  readonly #untilUs = new Map<number, number>();
  readonly #patienceUs: number;

  constructor(leases: DeltaLeaseCore, units: UnitsCore, patienceUs: number) {
    this.leases = leases;
    this.units = units;
    this.#patienceUs = patienceUs;
  }

  start(): void {
    this.leases.start();
  }

  receive(): void {}
  admits(): boolean {
    return false;
  }

  command(command: StackedCommand, step: StackedStep): void {
    if (command.for === 'leases') this.leases.command(command.command, this.#leaseStep(step));
    else this.units.command(command.command, this.#unitsStep(step));
    this.#passAnswersOn(step);
  }

  wake(step: StackedStep): void {
    if (this.units.wakeAt <= step.monoUs) this.units.wake(this.#unitsStep(step));
    this.#passAnswersOn(step);
    if (this.leases.wakeAt <= step.monoUs) this.leases.wake(this.#leaseStep(step));
    this.#passAnswersOn(step);
  }

  completed(completion: Completion, step: StackedStep): void {
    this.units.completed(completion, this.#unitsStep(step));
    this.#passAnswersOn(step);
  }

  get wakeAt(): MonoUs {
    return earliest(this.leases.wakeAt, this.units.wakeAt);
  }

  remainingUs(lease: number, name: Uint8Array, mono: MonoUs, wall: WallUs): number {
    return this.leases.remainingUs(lease, name, mono, wall);
  }

  snapshot(): Snapshot {
    return { leases: this.leases.snapshot(), units: this.units.snapshot() };
  }

  restore(snapshot: Snapshot): void {
    const { leases, units } = snapshot as { readonly leases: Snapshot; readonly units: Snapshot };
    this.leases.restore(leases);
    this.units.restore(units);
  }

  /** The lease core hears of its accesses after the step in which they ended. */
  #passAnswersOn(step: StackedStep): void {
    for (const [op, untilUs] of this.#untilUs) {
      if (untilUs > step.monoUs) break;
      this.#untilUs.delete(op);
      this.units.command({ kind: 'abandon', op }, this.#unitsStep(step));
    }
    for (let answer = this.#answers.shift(); answer; answer = this.#answers.shift()) this.leases.completed(answer, this.#leaseStep(step));
  }

  #leaseStep(step: StackedStep): Step<never, StorageEvent> {
    const ask = (command: Extract<UnitsCommand, { op: number }>): void => {
      this.#untilUs.set(command.op, step.monoUs + this.#patienceUs);
      this.units.command(command, this.#unitsStep(step));
    };
    return {
      ...sharedParts(step),
      read: (_unit, name, op) => ask({ kind: 'read', op: LEASE_OPS + op, name }),
      write: (_unit, name, value, op) => ask({ kind: 'write', op: LEASE_OPS + op, name, value }),
      emit: (event) => step.emit({ of: 'leases', event }),
    };
  }

  #unitsStep(step: StackedStep): Step<never, UnitsEvent> {
    return { ...sharedParts(step), emit: (event) => this.#heard(event, step) };
  }

  #heard(event: UnitsEvent, step: StackedStep): void {
    if (!('op' in event) || event.op < LEASE_OPS) {
      step.emit({ of: 'units', event });
      return;
    }
    if (event.kind !== 'found' && event.kind !== 'written') return;
    this.#untilUs.delete(event.op);
    const value = event.kind === 'found' ? event.value : null;
    this.#answers.push({ op: event.op - LEASE_OPS, ok: true, isLost: false, value, version: value, keys: null });
  }
}

function sharedParts(step: StackedStep): Omit<Step<never, never>, 'emit'> {
  return {
    monoUs: step.monoUs,
    wallUs: step.wallUs,
    choose: (bound) => step.choose(bound),
    send: (to, message) => step.send(to, message),
    read: (unit, key, op) => step.read(unit, key, op),
    write: (unit, key, value, op) => step.write(unit, key, value, op),
    swap: (unit, key, seen, value, op) => step.swap(unit, key, seen, value, op),
    erase: (unit, key, op) => step.erase(unit, key, op),
    list: (unit, prefix, op) => step.list(unit, prefix, op),
  };
}
