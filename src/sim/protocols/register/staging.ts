/** Clients of shared storage on a stage: each reads and writes when told, and the script says when a unit answers. */
import { decodeName, encodeName, TenureError } from '../../../kernel/index.ts';
import type { PlainClient, RegisterCommand, RegisterEvent, Snapshot } from '../../../core/index.ts';
import type { Desk, Scenario } from '../../protocol.ts';
import { bytesAsText } from '../../regular-register.ts';
import type { TapeToScript } from '../../shrink/tape-to-script.ts';
import { settingCount } from '../../stage/settings.ts';
import { calmScenario, type Actor, type Settings, type Staging } from '../../stage/staging.ts';
import { ASKER_NAMES, takesNoMore, unknownVerb } from '../../stage/words.ts';
import type { Said } from '../../tape.ts';
import type { RegisterWorld } from './protocol.ts';

/** How many texts each verb takes after its key, and what a verb that takes so many needs. A swap names the value it has seen by its text. */
const TEXTS: Readonly<Record<string, number>> = { read: 0, list: 0, write: 1, swap: 2 };
const NEEDS = ['a key', 'a key and a text', 'a key, the text it has seen or nothing, and a text'];

export const registerStaging: Staging<RegisterCommand, RegisterEvent, RegisterWorld, PlainClient> = {
  defaults: { clients: '2', units: '1' },
  verbs: ['read NODE KEY [unit N]', 'write NODE KEY TEXT [unit N]', 'swap NODE KEY SEEN TEXT [unit N]', 'list NODE PREFIX [unit N]'],

  scenario(settings: Settings): Scenario<RegisterWorld> {
    const nodes = settingCount(settings, 'clients', 1, ASKER_NAMES.length);
    const units = settingCount(settings, 'units', 1, 99);
    return calmScenario(nodes, 1_000_000, { units, keys: 1, pauseUsMax: 1, atOnce: 1 }, units);
  },

  nodeName: (_scenario: Scenario<RegisterWorld>, node: number): string => ASKER_NAMES[node] ?? `n${node}`,
  actor: ({ units }: Scenario<RegisterWorld>, _core: PlainClient, desk: Desk<RegisterCommand>): RegisterActor =>
    new RegisterActor(units, desk),
};

export const registerTapeToScript: TapeToScript<RegisterCommand, RegisterWorld> = {
  settings: ({ nodes, units }: Scenario<RegisterWorld>): Settings => ({ clients: String(nodes), units: String(units) }),
  spares: ['clients'],
  say(command: RegisterCommand): Said {
    const unit = command.unit === 0 ? [] : ['unit', String(command.unit)];
    const text = (value: Uint8Array | null): string => bytesAsText(value) ?? 'nothing';
    const seen = command.kind === 'swap' ? [text(command.seen)] : [];
    const value = command.kind === 'write' || command.kind === 'swap' ? [text(command.value)] : [];
    return { verb: command.kind, words: [command.key, ...seen, ...value, ...unit] };
  },
  use: (): null => null,
};

export interface RegisterActorSnapshot {
  readonly ops: number;
  /** Of the operations under way. */
  readonly registers: readonly (readonly [op: number, register: string])[];
}

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
    const texts = TEXTS[verb];
    if (texts === undefined) throw unknownVerb(verb, registerStaging.verbs);
    const [key, ...rest] = words;
    const [seen, value] = verb === 'swap' ? rest : [undefined, rest[0]];
    if (key === undefined || rest.length < texts) throw new TenureError('TENURE_BAD_ARGUMENT', `${verb} needs ${NEEDS[texts]}`);
    const where = rest.slice(texts);
    const unit = this.#unit(where);
    takesNoMore(verb, where.slice(2));
    const name = `${unit}/${key}`;
    const op = ++this.#ops;
    if (verb === 'list') {
      desk.command({ kind: 'list', unit, key, op });
      return;
    }
    this.#registers.set(op, name);
    if (verb === 'read' || value === undefined) {
      desk.record({ kind: 'invoked', register: name, op, action: 'read' });
      desk.command({ kind: 'read', unit, key, op });
      return;
    }
    const bytes = encodeName(value);
    desk.record({ kind: 'invoked', register: name, op, action: 'write', value });
    if (seen === undefined) desk.command({ kind: 'write', unit, key, op, value: bytes });
    else desk.command({ kind: 'swap', unit, key, op, seen: seen === 'nothing' ? null : encodeName(seen), value: bytes });
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
    const { ops, registers } = snapshot as unknown as RegisterActorSnapshot;
    this.#ops = ops;
    this.#registers = new Map(registers);
  }
}
