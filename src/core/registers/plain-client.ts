/**
 * A plain client of shared storage: it reads and writes registers as it is told, and reports what came
 * back. It adds nothing to what a unit promises, so what it sees is what the protocols above storage
 * have to live with. The smallest core that uses storage; read it before those.
 */
import { NEVER, type MonoUs } from '../../kernel/index.ts';
import type { Boot, Completion, Core, Snapshot, Step, UnitId } from '../contract.ts';

/** `op` is the caller's number for the operation, not used before in this incarnation. */
export type RegisterCommand =
  | { kind: 'read'; unit: UnitId; key: string; op: number }
  | { kind: 'write'; unit: UnitId; key: string; op: number; value: Uint8Array };

/** `failed`: the unit said so. A write that failed may have taken effect, or may do so later. */
export type RegisterEvent =
  | { kind: 'found'; op: number; value: Uint8Array | null }
  | { kind: 'written'; op: number }
  | { kind: 'failed'; op: number };

export interface RegisterRules {
  /** A read asks the unit, whatever this client knows of the register. */
  readonly readsAsk: boolean;
}

const RULES: RegisterRules = { readsAsk: true };

type RegisterStep = Step<never, RegisterEvent>;

export class PlainClient implements Core<never, RegisterCommand, RegisterEvent> {
  readonly wakeAt: MonoUs = NEVER;
  readonly #rules: RegisterRules;
  /** The register of each operation under way, by its number. */
  readonly #underWay = new Map<number, { register: string; written: Uint8Array | null }>();
  /** What this client last saw in each register. Only a mutant answers from it. */
  readonly #seen = new Map<string, Uint8Array>();

  constructor(_boot: Boot, rules: RegisterRules = RULES) {
    this.#rules = rules;
  }

  start(): void {}
  receive(): void {}
  admits(): boolean {
    return false;
  }
  wake(): void {}

  command(command: RegisterCommand, step: RegisterStep): void {
    const { unit, key, op } = command;
    const register = `${unit} ${key}`;
    if (command.kind === 'write') {
      this.#underWay.set(op, { register, written: command.value.slice() });
      step.write(unit, key, command.value, op);
      return;
    }
    const seen = this.#rules.readsAsk ? undefined : this.#seen.get(register);
    if (seen === undefined) {
      this.#underWay.set(op, { register, written: null });
      step.read(unit, key, op);
    } else {
      step.emit({ kind: 'found', op, value: seen });
    }
  }

  completed({ op, ok, value }: Completion, step: RegisterStep): void {
    const operation = this.#underWay.get(op);
    if (operation === undefined) return;
    this.#underWay.delete(op);
    const { register, written } = operation;
    if (!ok) {
      step.emit({ kind: 'failed', op });
      return;
    }
    const held = written ?? value;
    if (held !== null && !this.#rules.readsAsk) this.#seen.set(register, held);
    step.emit(written === null ? { kind: 'found', op, value } : { kind: 'written', op });
  }

  snapshot(): Snapshot {
    const underWay = [...this.#underWay].sort(([a], [b]) => a - b);
    const seen = [...this.#seen].sort(([a], [b]) => (a < b ? -1 : 1));
    return {
      underWay: underWay.map(([op, { register, written }]) => [op, register, written && [...written]]),
      seen: seen.map(([register, value]) => [register, [...value]]),
    };
  }

  restore(snapshot: Snapshot): void {
    const { underWay, seen } = snapshot as { underWay: [number, string, number[] | null][]; seen: [string, number[]][] };
    this.#underWay.clear();
    this.#seen.clear();
    for (const [op, register, written] of underWay) this.#underWay.set(op, { register, written: written && Uint8Array.from(written) });
    for (const [register, value] of seen) this.#seen.set(register, Uint8Array.from(value));
  }
}
