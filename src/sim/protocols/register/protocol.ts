/**
 * Shared storage in the simulator: clients read and write registers while units fail, answers get lost
 * and writes outlive their writers. It shows that the world's storage gives what a regular register
 * allows, no more and no less than the protocols above it are proved against.
 */
import { encodeName, type Chooser } from '../../../kernel/index.ts';
import { PlainClient, type Boot, type RegisterCommand, type RegisterEvent } from '../../../core/index.ts';
import { RegularityReferee, type Happened, type HistoryRecord, type Invoked, type Referee } from '../../../check/index.ts';
import { registerCodec } from '../../../wire/index.ts';
import { drawFaults } from '../../faults.ts';
import { HistoryObserver, PROCESS_INTERESTS, STORAGE_INTERESTS } from '../../interest.ts';
import type { Desk, Scenario, SimProtocol, SmallerScenario, User } from '../../protocol.ts';
import { bytesAsText } from '../../regular-register.ts';

const TERM_US = 1_000_000;

export interface RegisterWorld {
  readonly units: number;
  readonly keys: number;
  /** How long a client thinks before its next operation, at most. */
  readonly pauseUsMax: number;
  /** How many operations of one client may be under way. */
  readonly atOnce: number;
}

type RegisterScenario = Scenario<RegisterWorld>;

export const register: SimProtocol<never, RegisterCommand, RegisterEvent, RegisterWorld, PlainClient> = {
  name: 'register',
  summary: 'clients of shared storage: reads and writes as a regular register allows them, units that fail',
  mutants: [
    {
      name: 'cached-read',
      rule: 'regular register, reads',
      how: 'A read is answered with what the client saw last. A write that ended in between is missed.',
    },
  ],
  sometimes: [
    { name: 'read', description: 'a read was answered' },
    { name: 'write', description: 'a write was answered' },
    { name: 'read-of-nothing', description: 'a read found that nothing was ever written' },
    { name: 'read-beside-write', description: 'a read was answered while a write of its register was under way' },
    { name: 'read-of-unanswered-write', description: 'a read found what a write wrote that was never answered' },
    { name: 'crash-during-write', description: 'a client crashed with a write under way' },
    ...PROCESS_INTERESTS,
    ...STORAGE_INTERESTS,
  ],
  codec: registerCodec,

  plan(chooser: Chooser): RegisterScenario {
    const units = 1 + chooser.below(3);
    return {
      nodes: 1 + chooser.below(5),
      units,
      faults: drawFaults(chooser, { termUs: TERM_US, ratePpmMax: 1000, offsetUsMax: TERM_US }),
      termUs: TERM_US,
      safetyUs: TERM_US * (2 + chooser.below(6)),
      livenessUs: TERM_US * 10,
      config: { units, keys: 1 + chooser.below(2), pauseUsMax: 1_000 + chooser.below(TERM_US / 10), atOnce: 1 + chooser.below(3) },
    };
  },

  smaller(scenario: RegisterScenario): SmallerScenario<RegisterWorld>[] {
    const { nodes, units, config } = scenario;
    const smaller: SmallerScenario<RegisterWorld>[] = [];
    if (nodes > 1) smaller.push({ without: 'a client', scenario: { ...scenario, nodes: nodes - 1 } });
    if (units > 1)
      smaller.push({ without: 'a unit', scenario: { ...scenario, units: units - 1, config: { ...config, units: units - 1 } } });
    if (config.keys > 1) smaller.push({ without: 'a register', scenario: { ...scenario, config: { ...config, keys: 1 } } });
    if (config.atOnce > 1)
      smaller.push({ without: 'operations side by side', scenario: { ...scenario, config: { ...config, atOnce: 1 } } });
    return smaller;
  },

  core: (_scenario: RegisterScenario, boot: Boot, mutant: string | null): PlainClient =>
    mutant === 'cached-read' ? new PlainClient(boot, { readsAsk: false }) : new PlainClient(boot),
  user: ({ config }: RegisterScenario, _core: PlainClient, desk: Desk<RegisterCommand>): User<RegisterEvent> =>
    new RegisterUser(config, desk),
  referees: (_scenario: RegisterScenario, sometimes: (name: string) => void): Referee[] => [
    new RegularityReferee(),
    new RegisterObserver(sometimes),
  ],
  isVote: (): boolean => false,
  describeMessage: (): string => '',
  describeCommand: ({ kind, unit, key, op }: RegisterCommand): string => `${kind} ${key} of unit ${unit} (operation ${op})`,
  describeEvent: (event: RegisterEvent): string =>
    `${event.kind}${event.kind === 'listed' ? ` ${event.keys.join(', ') || 'nothing'}` : ''} (operation ${event.op})`,
  nodeName: (_scenario: RegisterScenario, node: number): string => `client${node}`,
};

/** The timer of the next operation; any other tag is the operation that is given up. */
const NEXT = 0;

class RegisterUser implements User<RegisterEvent> {
  readonly #config: RegisterWorld;
  readonly #desk: Desk<RegisterCommand>;
  readonly #registers = new Map<number, string>();
  readonly #awaited = new Set<number>();
  #ops = 0;
  /** The operations owed since the world healed, while they are under way. */
  #owedRead = 0;
  #owedWrite = 0;

  constructor(config: RegisterWorld, desk: Desk<RegisterCommand>) {
    this.#config = config;
    this.#desk = desk;
  }

  start(): void {
    for (let i = 0; i < this.#config.atOnce; i++) this.#nextLater();
  }

  timer(tag: number): void {
    if (this.#desk.healed) return;
    if (tag !== NEXT) {
      // The answer may never come; the client goes on without it.
      if (this.#awaited.delete(tag)) this.#nextLater();
      return;
    }
    const op = this.#begin(this.#desk.choose(2) === 0 ? 'read' : 'write');
    this.#awaited.add(op);
    this.#desk.after(TERM_US / 4, op);
  }

  event(event: RegisterEvent): void {
    const { op } = event;
    const name = this.#registers.get(op) as string;
    this.#registers.delete(op);
    switch (event.kind) {
      case 'found':
        this.#desk.record({ kind: 'responded', register: name, op, value: bytesAsText(event.value) });
        break;
      case 'written':
        this.#desk.record({ kind: 'responded', register: name, op });
        break;
      default:
        break;
    }
    if (!this.#desk.healed) {
      if (this.#awaited.delete(op)) this.#nextLater();
      return;
    }
    if (op === this.#owedRead) this.#owedRead = 0;
    if (op === this.#owedWrite) this.#owedWrite = 0;
    if (this.#owedRead === 0 && this.#owedWrite === 0) this.#desk.done();
  }

  healed(): void {
    this.#owedWrite = this.#begin('write');
    this.#owedRead = this.#begin('read');
  }

  waitingFor(): string {
    return [this.#owedRead && 'a read', this.#owedWrite && 'a write'].filter(Boolean).join(' and ');
  }

  #begin(kind: 'read' | 'write'): number {
    const desk = this.#desk;
    const { units, keys } = this.#config;
    const unit = desk.choose(units);
    const key = `k${desk.choose(keys)}`;
    const name = `${unit}/${key}`;
    const op = ++this.#ops;
    this.#registers.set(op, name);
    if (kind === 'read') {
      desk.record({ kind: 'invoked', register: name, op, action: 'read' });
      desk.command({ kind, unit, key, op });
    } else {
      const value = `${desk.incarnation}.${op}`;
      desk.record({ kind: 'invoked', register: name, op, action: 'write', value });
      desk.command({ kind, unit, key, op, value: encodeName(value) });
    }
    return op;
  }

  #nextLater(): void {
    this.#desk.after(this.#desk.choose(this.#config.pauseUsMax), NEXT);
  }
}

class RegisterObserver extends HistoryObserver {
  /** Writes that were not answered, by value: of the living and of the crashed. */
  readonly #unanswered = new Map<string, Invoked>();
  readonly #orphans = new Set<string>();

  protected see(record: HistoryRecord): void {
    switch (record.kind) {
      case 'invoked':
        if (record.value !== undefined) this.#unanswered.set(record.value, record);
        return;
      case 'responded':
        if (record.value === undefined) this.#unanswered.delete(`${record.incarnation}.${record.op}`);
        else this.#read(record.register, record.value);
        return this.sometimes(record.value === undefined ? 'write' : 'read');
      case 'crashed':
        return this.#crash(record);
      default:
        return;
    }
  }

  #read(name: string, value: string | null): void {
    if (value === null) this.sometimes('read-of-nothing');
    else if (this.#orphans.has(value)) this.sometimes('read-of-unanswered-write');
    for (const write of this.#unanswered.values()) {
      if (write.register !== name) continue;
      this.sometimes('read-beside-write');
      break;
    }
  }

  #crash({ incarnation }: Pick<Happened, 'incarnation'>): void {
    let hadOne = false;
    for (const [value, write] of this.#unanswered) {
      if (write.incarnation !== incarnation) continue;
      hadOne = true;
      this.#unanswered.delete(value);
      this.#orphans.add(value);
    }
    if (hadOne) this.sometimes('crash-during-write');
  }
}
