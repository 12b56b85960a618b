/** Clients of shared storage on a stage: each reads and writes when told, and the script says when a unit answers. */
import { decodeName, encodeName, TenureError } from '../../../kernel/index.ts';
import type { PlainClient, RegisterCommand, RegisterEvent, Snapshot } from '../../../core/index.ts';
import { noFaults } from '../../faults.ts';
import type { Desk, Scenario } from '../../protocol.ts';
import type { Said, TapeToScript } from '../../shrink/tape-to-script.ts';
import { settingCount } from '../../stage/settings.ts';
import type { Actor, Settings, Staging } from '../../stage/staging.ts';
import { ASKER_NAMES, takesNoMore, unknownVerb } from '../../stage/words.ts';
import type { RegisterWorld } from './protocol.ts';

export const registerStaging: Staging<RegisterCommand, RegisterEvent, RegisterWorld, PlainClient> = {
  defaults: { clients: '2', units: '1' },
  verbs: ['read NODE KEY [unit N]', 'write NODE KEY TEXT [unit N]'],

  scenario(settings: Settings): Scenario<RegisterWorld> {
    const nodes = settingCount(settings, 'clients', 1, ASKER_NAMES.length);
    const units = settingCount(settings, 'units', 1, 99);
    const config = { units, keys: 1, pauseUsMax: 1, atOnce: 1 };
    return { nodes, units, faults: noFaults(), termUs: 1_000_000, safetyUs: 0, livenessUs: 0, config };
  },

  nodeName: (_scenario: Scenario<RegisterWorld>, node: number): string => ASKER_NAMES[node] ?? `n${node}`,
  actor: ({ units }: Scenario<RegisterWorld>, _core: PlainClient, desk: Desk<RegisterCommand>): RegisterActor =>
    new RegisterActor(units, desk),
};

export const registerTapeToScript: TapeToScript<RegisterCommand, RegisterWorld> = {
  settings: ({ nodes, units }: Scenario<RegisterWorld>): Settings => ({ clients: String(nodes), units: String(units) }),
  say(command: RegisterCommand): Said {
    const unit = command.unit === 0 ? [] : ['unit', String(command.unit)];
    const value = command.kind === 'write' ? [String.fromCharCode(...command.value)] : [];
    return { verb: command.kind, words: [command.key, ...value, ...unit] };
  },
  use: (): null => null,
};

class RegisterActor implements Actor<RegisterEvent> {
  readonly #units: number;
  readonly #desk: Desk<RegisterCommand>;
  #ops = 0;
  #registers = new Map<number, string>();

  constructor(units: number, desk: Desk<RegisterCommand>) {
    this.#units = units;
    this.#desk = desk;
  }

  act(verb: string, words: readonly string[]): void {
    const desk = this.#desk;
    if (verb !== 'read' && verb !== 'write') throw unknownVerb(verb, registerStaging.verbs);
    const [key, ...rest] = words;
    const value = verb === 'write' ? rest.shift() : undefined;
    if (key === undefined || (verb === 'write' && value === undefined))
      throw new TenureError('TENURE_BAD_ARGUMENT', `${verb} needs a key${verb === 'write' ? ' and a text' : ''}`);
    const unit = this.#unit(rest);
    takesNoMore(verb, rest.slice(2));
    const bytes = value === undefined ? null : encodeName(value);
    const name = `${unit}/${key}`;
    const op = ++this.#ops;
    this.#registers.set(op, name);
    if (value === undefined || bytes === null) {
      desk.record({ kind: 'invoked', register: name, op, action: 'read' });
      desk.command({ kind: 'read', unit, key, op });
    } else {
      desk.record({ kind: 'invoked', register: name, op, action: 'write', value });
      desk.command({ kind: 'write', unit, key, op, value: bytes });
    }
  }

  #unit([word, number]: readonly string[]): number {
    if (word === undefined) return 0;
    if (word !== 'unit') throw new TenureError('TENURE_BAD_ARGUMENT', `'unit N' may follow, not '${word}'`);
    const unit = /^\d+$/.test(number ?? '') ? Number(number) : Infinity;
    if (unit >= this.#units) throw new TenureError('TENURE_BAD_ARGUMENT', `units are numbered from 0 to ${this.#units - 1}`);
    return unit;
  }

  event(event: RegisterEvent): void {
    const { op } = event;
    const name = this.#registers.get(op) ?? '';
    this.#registers.delete(op);
    if (event.kind === 'found') {
      const value = event.value && decodeName(event.value, 0, event.value.length);
      this.#desk.record({ kind: 'responded', register: name, op, value });
    } else if (event.kind === 'written') {
      this.#desk.record({ kind: 'responded', register: name, op });
    }
  }

  snapshot(): Snapshot {
    return { ops: this.#ops, registers: [...this.#registers] };
  }

  restore(snapshot: Snapshot): void {
    const { ops, registers } = snapshot as unknown as { ops: number; registers: [number, string][] };
    this.#ops = ops;
    this.#registers = new Map(registers);
  }
}
