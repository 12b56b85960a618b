/**
 * One run of the storage paper's section on scalability: clients that all want the same lease at the same moment, on one register. Access
 * times are exponential with mean 1, δ = 2, Δ = 1. Each client takes the lease once, and releases it when it expires. The clients are real
 * cores, by the paper to the letter; nothing fails, and all clocks are perfect.
 */
import {
  encodeName,
  incarnation,
  invariant,
  monoUs,
  NEVER,
  nodeId,
  Random,
  TenureError,
  wallUs,
  type MonoUs,
  type WallUs,
} from '../../kernel/index.ts';
import {
  DeltaLeaseCore,
  LITERAL_DELTA_RULES,
  literalTiming,
  type DeltaRules,
  type StorageCommand,
  type StorageEvent,
  type StorageStep,
} from '../../core/index.ts';
import { COMPLETE, EventQueue, USER_TIMER, WAKE } from '../event-queue.ts';
import { Parked } from '../parked.ts';
import { Registers, type AccessRequest, type BegunAccess } from '../registers.ts';
import { exponentialUs } from './logarithm.ts';

/** The unit of time of the figures: how long an access takes on average. */
export const ACCESS_US = 1_000_000;
const DELTA_US = 2 * ACCESS_US;
const TERM_US = ACCESS_US;

const UNIT = 0;
const NAME = encodeName('item');
/** Every client asks once. */
const LEASE = 1;
const PATIENCE_US = Number.MAX_SAFE_INTEGER / 2;
const WALL_US = 1_800_000_000_000_000;

/** Rule 14 in full: a late access voids the attempt, and the deadline counts from the write. */
const WITH_RULE_14: DeltaRules = { ...LITERAL_DELTA_RULES, timingCheck: true, deadlineFromWrite: true };

export interface ContentionPlan {
  readonly clients: number;
  /** `letter`: as the paper has it. `rule 14`: a late access voids the attempt. */
  readonly variant: 'letter' | 'rule 14';
  /** When the run may stop: once one client has had the lease, or all have. */
  readonly until: 'first' | 'all';
  readonly seed: number;
}

/** When each client that was waited for got the lease, the first first. */
export function runContention(plan: ContentionPlan): readonly number[] {
  return new Contention(plan).run();
}

interface Client {
  readonly core: DeltaLeaseCore;
  /** When it is woken next; Infinity if it is not. */
  wakeDueUs: number;
}

interface Course {
  readonly answerUs: number;
}

class Contention implements StorageStep {
  monoUs: MonoUs = monoUs(0);
  wallUs: WallUs = wallUs(WALL_US);
  readonly #wanted: number;
  readonly #clients: readonly Client[];
  readonly #random: Random;
  readonly #queue = new EventQueue();
  readonly #registers = new Registers();
  readonly #accesses = new Parked<BegunAccess & Course>();
  readonly #grantedUs: number[] = [];
  /** The client whose step it is. */
  #running = 0;

  constructor({ clients, variant, until, seed }: ContentionPlan) {
    this.#wanted = until === 'first' ? 1 : clients;
    this.#random = new Random(seed);
    const timing = literalTiming({ deltaUs: DELTA_US, maxTermUs: TERM_US }, 'nd');
    const config = { unit: UNIT, timing, renewal: 'nd', variant: 'literal' } as const;
    this.#clients = Array.from({ length: clients }, (_, self) => {
      const boot = { self: nodeId(self), incarnation: incarnation(self + 1), restarted: false, diskKept: false };
      const core = new DeltaLeaseCore(config, boot, variant === 'letter' ? LITERAL_DELTA_RULES : WITH_RULE_14);
      return { core, wakeDueUs: Infinity };
    });
  }

  run(): readonly number[] {
    const acquire = { kind: 'acquire', lease: LEASE, name: NAME, termUs: TERM_US, waitUs: PATIENCE_US, keep: false } as const;
    for (const index of this.#clients.keys()) this.#command(index, acquire);
    while (this.#grantedUs.length < this.#wanted) {
      invariant(this.#queue.take(), 'a client waits for ever');
      this.#advance();
    }
    return this.#grantedUs;
  }

  #advance(): void {
    const { at, kind, target, ref } = this.#queue;
    this.monoUs = monoUs(at);
    this.wallUs = wallUs(WALL_US + at);
    if (kind === COMPLETE) this.#access(target, ref);
    else if (kind === USER_TIMER) this.#command(target, { kind: 'release', lease: LEASE, name: NAME });
    else if ((this.#clients[target] as Client).wakeDueUs === at) this.#step(target, (core) => core.wake(this));
  }

  /** First its effect, then its answer. */
  #access(target: number, ref: number): void {
    const access = this.#accesses.get(ref);
    if (!access.isEffective) {
      this.#registers.takeEffect(access);
      this.#queue.schedule(access.answerUs, COMPLETE, target, ref);
      return;
    }
    this.#accesses.take(ref);
    const completion = this.#registers.end(access, true);
    this.#step(target, (core) => core.completed(completion, this));
  }

  #command(target: number, command: StorageCommand): void {
    this.#step(target, (core) => core.command(command, this));
  }

  #step(target: number, act: (core: DeltaLeaseCore) => void): void {
    const client = this.#clients[target] as Client;
    this.#running = target;
    if (client.wakeDueUs <= this.monoUs) client.wakeDueUs = Infinity;
    act(client.core);
    const { wakeAt } = client.core;
    if (wakeAt === client.wakeDueUs) return;
    client.wakeDueUs = wakeAt;
    if (wakeAt !== NEVER) this.#queue.schedule(wakeAt, WAKE, target, 0);
  }

  #begin(request: AccessRequest): void {
    const durationUs = exponentialUs(this.#random, ACCESS_US);
    const effectUs = this.monoUs + this.#random.below(durationUs + 1);
    const access = this.#registers.begin(this.#running, request, true, { answerUs: this.monoUs + durationUs });
    this.#queue.schedule(effectUs, COMPLETE, this.#running, this.#accesses.park(access));
  }

  choose(bound: number): number {
    return this.#random.below(bound);
  }

  read(unit: number, key: string, op: number): void {
    this.#begin({ action: 'read', unit, key, op });
  }

  write(unit: number, key: string, value: Uint8Array, op: number): void {
    this.#begin({ action: 'write', unit, key, op, value: value.slice() });
  }

  erase(): never {
    throw unheardOf('erase');
  }

  swap(): never {
    throw unheardOf('swap');
  }

  list(): never {
    throw unheardOf('list');
  }

  send(): never {
    throw unheardOf('send');
  }

  emit(event: StorageEvent): void {
    invariant(event.kind !== 'refused', 'a client whose patience has no end was refused');
    if (event.kind !== 'granted') return;
    this.#grantedUs.push(this.monoUs);
    this.#queue.schedule(event.deadlineMonoUs, USER_TIMER, this.#running, 0);
  }
}

function unheardOf(effect: string): TenureError {
  return new TenureError('TENURE_INTERNAL', `the paper's clients read and write; none would ${effect}`);
}
