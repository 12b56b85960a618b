/**
 * A plain client of shared storage: it reads, writes, swaps, erases and lists as it is told, and reports what came
 * back. It adds nothing to what a unit promises, so it sees the storage that the protocols above
 * have to live with. The smallest core that uses storage; read it before those.
 */
import { NEVER, type MonoUs } from '../../kernel/index.ts';
import type { Boot, Completion, Core, Snapshot, Step, UnitId, Version } from '../contract.ts';

/** `op` is the caller's number for the operation, not used before in this incarnation. */
export type RegisterCommand =
  | { kind: 'read'; unit: UnitId; key: string; op: number }
  | { kind: 'write'; unit: UnitId; key: string; op: number; value: Uint8Array }
  | { kind: 'swap'; unit: UnitId; key: string; op: number; seen: Version | null; value: Uint8Array | null }
  | { kind: 'erase'; unit: UnitId; key: string; op: number }
  /** The key is a prefix. */
  | { kind: 'list'; unit: UnitId; key: string; op: number };

/**
 * `written`: a write or an erasure is done, a swap is won. `lost`: a swap found another record, and changed nothing. `failed`: the unit said so; a change that
 * failed may have taken effect, or may do so later.
 */
export type RegisterEvent =
  | { kind: 'found'; op: number; value: Uint8Array | null; version: Version | null }
  | { kind: 'written'; op: number; version: Version | null }
  | { kind: 'lost'; op: number }
  | { kind: 'listed'; op: number; keys: readonly string[] }
  | { kind: 'failed'; op: number };

export interface RegisterRules {
  /** A read asks the unit, whatever this client knows of the register. */
  readonly readsAsk: boolean;
}

const RULES: RegisterRules = { readsAsk: true };

type RegisterStep = Step<never, RegisterEvent>;

interface Operation {
  readonly kind: RegisterCommand['kind'];
  readonly register: string;
  /** The register's value if it is done; null for none, and for a read or a list. */
  readonly written: Uint8Array | null;
}

export class PlainClient implements Core<never, RegisterCommand, RegisterEvent> {
  readonly wakeAt: MonoUs = NEVER;
  readonly #rules: RegisterRules;
  /** The register of each operation under way, by its number. */
  readonly #underWay = new Map<number, Operation>();
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
    const { kind, unit, key, op } = command;
    const register = `${unit} ${key}`;
    const seen = kind === 'read' && !this.#rules.readsAsk ? this.#seen.get(register) : undefined;
    if (seen !== undefined) {
      step.emit({ kind: 'found', op, value: seen, version: seen });
      return;
    }
    const written = kind === 'write' || kind === 'swap' ? command.value : null;
    this.#underWay.set(op, { kind, register, written: written?.slice() ?? null });
    switch (kind) {
      case 'read':
        return step.read(unit, key, op);
      case 'write':
        return step.write(unit, key, command.value, op);
      case 'swap':
        return step.swap(unit, key, command.seen, command.value, op);
      case 'erase':
        return step.erase(unit, key, op);
      case 'list':
        return step.list(unit, key, op);
    }
  }

  completed({ op, ok, isLost, value, version, keys }: Completion, step: RegisterStep): void {
    const operation = this.#underWay.get(op);
    if (operation === undefined) return;
    this.#underWay.delete(op);
    const { kind, register, written } = operation;
    if (!ok || isLost) {
      step.emit({ kind: ok ? 'lost' : 'failed', op });
      return;
    }
    if (kind === 'list') {
      step.emit({ kind: 'listed', op, keys: keys ?? [] });
      return;
    }
    const held = kind === 'read' ? value : written;
    if (held !== null && !this.#rules.readsAsk) this.#seen.set(register, held);
    step.emit(kind === 'read' ? { kind: 'found', op, value, version } : { kind: 'written', op, version });
  }

  snapshot(): Snapshot {
    const underWay = [...this.#underWay].sort(([a], [b]) => a - b);
    const seen = [...this.#seen].sort(([a], [b]) => (a < b ? -1 : 1));
    return {
      underWay: underWay.map(([op, { kind, register, written }]) => [op, kind, register, written && [...written]]),
      seen: seen.map(([register, value]) => [register, [...value]]),
    };
  }

  restore(snapshot: Snapshot): void {
    const { underWay, seen } = snapshot as { underWay: [number, Operation['kind'], string, number[] | null][]; seen: [string, number[]][] };
    this.#underWay.clear();
    this.#seen.clear();
    for (const [op, kind, register, written] of underWay) {
      this.#underWay.set(op, { kind, register, written: written && Uint8Array.from(written) });
    }
    for (const [register, value] of seen) this.#seen.set(register, Uint8Array.from(value));
  }
}
