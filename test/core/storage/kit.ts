/**
 * Cores of leases on storage stepped by hand: clocks move only when told to, and every access can be let land, be
 * answered, fail, be lost, land late or twice. After every step the core is replaced by one that was restored from its
 * snapshot, so each scenario is also a test of snapshots.
 */
import { encodeName, incarnation, monoUs, nodeId, stateHash, wallUs } from '../../../src/kernel/index.ts';
import {
  CasLeaseCore,
  DeltaLeaseCore,
  deriveStorageTiming,
  type Boot,
  type CasRules,
  type Completion,
  type DeltaConfig,
  type DeltaRules,
  type StorageCommand,
  type StorageEvent,
  type StorageStep,
  type StorageTiming,
} from '../../../src/core/index.ts';

export const DELTA_US = 10_000;
export const TERM_US = 1_000_000;
export const TIMING: StorageTiming = deriveStorageTiming({ deltaUs: DELTA_US, maxTermUs: TERM_US, rateErrorPpm: 0 });
export const R: Uint8Array = encodeName('r');
const WALL_US = 1_800_000_000_000_000;
/** How long an access takes here unless a scenario says otherwise. */
export const ACCESS_US = 1_000;
const STEPS_MAX = 10_000;

type AnyCore = DeltaLeaseCore | CasLeaseCore;

interface Access {
  readonly by: Client;
  readonly kind: 'read' | 'write' | 'swap';
  readonly key: string;
  readonly op: number;
  readonly seen: Uint8Array | null;
  readonly value: Uint8Array | null;
}

/** A process with a core of its own, and what that core said. */
export class Client {
  core: AnyCore;
  /** What both clocks are ahead of the store's time, and what it slept. */
  wallOffUs = 0;
  sleptUs = 0;
  events: StorageEvent[] = [];
  readonly #store: ScriptedStore;
  readonly #make: () => AnyCore;

  constructor(store: ScriptedStore, make: (boot: Boot) => AnyCore, number: number) {
    const boot = { self: nodeId(number), incarnation: incarnation(number), restarted: false, diskKept: false };
    this.#store = store;
    this.#make = () => make(boot);
    this.core = this.#make();
  }

  get monoUs(): number {
    return this.#store.nowUs - this.sleptUs;
  }

  get wallUs(): number {
    return WALL_US + this.#store.nowUs + this.wallOffUs;
  }

  command(command: StorageCommand): void {
    this.input((step) => this.core.command(command, step));
  }

  acquire(lease: number, more: Partial<Extract<StorageCommand, { kind: 'acquire' }>> = {}): void {
    this.command({ kind: 'acquire', lease, name: R, termUs: TERM_US, waitUs: 60_000_000, keep: false, ...more });
  }

  release(lease: number): void {
    this.command({ kind: 'release', lease, name: R });
  }

  remainingUs(lease: number): number {
    return this.core.remainingUs(lease, R, monoUs(this.monoUs), wallUs(this.wallUs));
  }

  state(lease: number): string {
    return this.core.stateOf(lease, monoUs(this.monoUs), wallUs(this.wallUs));
  }

  /** What was said since the last time. */
  said(): string[] {
    return this.events.splice(0).map((event) => {
      if (event.kind === 'refused') return `refused ${event.lease} ${event.reason}`;
      return 'lease' in event ? `${event.kind} ${event.lease}` : event.kind;
    });
  }

  input(act: (step: StorageStep) => void): void {
    const begin = (kind: Access['kind'], key: string, op: number, seen: Uint8Array | null, value: Uint8Array | null): void =>
      this.#store.begin({ by: this, kind, key, op, seen: seen && seen.slice(), value: value && value.slice() });
    act({
      monoUs: monoUs(this.monoUs),
      wallUs: wallUs(this.wallUs),
      choose: () => 0,
      send: () => undefined,
      read: (_unit, key, op) => begin('read', key, op, null, null),
      write: (_unit, key, value, op) => begin('write', key, op, null, value),
      swap: (_unit, key, seen, value, op) => begin('swap', key, op, seen, value),
      erase: (_unit, key, op) => begin('write', key, op, null, null),
      list: () => undefined,
      emit: (event) => void this.events.push(event),
    });
    const before = this.core.snapshot();
    const restored = this.#make();
    restored.restore(before);
    if (stateHash(restored.snapshot()) !== stateHash(before)) throw new Error('a restored core has another snapshot');
    this.core = restored;
  }
}

/** What a scenario does with an access. */
export type Fate =
  /** It lands and is answered, in time. */
  | 'done'
  /** It lands so much later, and is never answered. */
  | { readonly landsAfterUs: number }
  /** It lands in time, and its answer comes so much later. */
  | { readonly answeredAfterUs: number }
  /** It lands so much later, and is answered then. */
  | { readonly doneAfterUs: number }
  /** The unit says that it failed; it has had no effect. */
  | 'failed'
  /** The unit says that it failed; it has had its effect. */
  | 'failed-but-done'
  /** Nothing comes of it. */
  | 'lost'
  /** It lands twice: now, and so much later. */
  | { readonly landsAgainAfterUs: number };

type Pick = (access: { readonly by: Client; readonly kind: string; readonly key: string }) => boolean;

export class ScriptedStore {
  nowUs = 1_000_000_000;
  readonly registers = new Map<string, Uint8Array>();
  readonly #clients: Client[] = [];
  readonly #planned: { readonly atUs: number; readonly order: number; readonly act: () => void }[] = [];
  readonly #fates: { readonly pick: Pick; readonly fate: Fate }[] = [];
  /** Every access that began, as `kind key`. */
  log: string[] = [];
  #order = 0;

  plain(more: Partial<DeltaConfig> = {}, rules?: DeltaRules): Client {
    return this.#add((boot) => new DeltaLeaseCore({ unit: 0, timing: TIMING, ...more }, boot, rules));
  }

  cas(rules?: CasRules): Client {
    return this.#add((boot) => new CasLeaseCore({ unit: 0, timing: TIMING }, boot, rules));
  }

  #add(make: (boot: Boot) => AnyCore): Client {
    const client = new Client(this, make, this.#clients.length + 1);
    this.#clients.push(client);
    return client;
  }

  /** The next access that fits has this fate. */
  next(fate: Fate, pick: Pick): void {
    this.#fates.push({ pick, fate });
  }

  /** Lets so much time pass. Who crashed is not there any more. */
  run(forUs: number): void {
    const endUs = this.nowUs + forUs;
    for (let steps = 0; steps < STEPS_MAX; steps++) {
      const wakes = this.#clients.map((client) => ({ client, atUs: Math.max(this.nowUs, client.core.wakeAt + client.sleptUs) }));
      wakes.sort((a, b) => a.atUs - b.atUs);
      this.#planned.sort((a, b) => a.atUs - b.atUs || a.order - b.order);
      const wake = wakes[0];
      const planned = this.#planned[0];
      const atUs = Math.min(wake?.atUs ?? Infinity, planned?.atUs ?? Infinity);
      if (atUs > endUs) break;
      // A machine that slept gets its answers when it wakes up.
      this.nowUs = Math.max(this.nowUs, atUs);
      if (planned?.atUs === atUs) {
        this.#planned.shift();
        planned.act();
      } else wake?.client.input((step) => wake.client.core.wake(step));
    }
    this.nowUs = endUs;
  }

  /** The process is gone. Its accesses are not its to stop. */
  crash(client: Client): void {
    this.#clients.splice(this.#clients.indexOf(client), 1);
  }

  begin(access: Access): void {
    this.log.push(`${access.kind} ${access.key}`);
    const at = this.#fates.findIndex(({ pick }) => pick(access));
    const fate = at < 0 ? 'done' : (this.#fates.splice(at, 1)[0]?.fate ?? 'done');
    if (fate === 'lost') return;
    if (fate === 'failed') {
      this.#after(ACCESS_US, () => this.#answer(access, { ok: false, isLost: false, found: null }));
    } else if (fate === 'failed-but-done') {
      this.#after(ACCESS_US, () => {
        this.#land(access);
        this.#answer(access, { ok: false, isLost: false, found: null });
      });
    } else if (fate === 'done' || 'landsAgainAfterUs' in fate) {
      this.#after(ACCESS_US, () => this.#answer(access, this.#land(access)));
      if (fate !== 'done') this.#after(fate.landsAgainAfterUs, () => void this.#land(access));
    } else if ('landsAfterUs' in fate) {
      this.#after(fate.landsAfterUs, () => void this.#land(access));
    } else if ('doneAfterUs' in fate) {
      this.#after(fate.doneAfterUs, () => this.#answer(access, this.#land(access)));
    } else {
      this.#after(ACCESS_US, () => {
        const landed = this.#land(access);
        this.#after(fate.answeredAfterUs, () => this.#answer(access, landed));
      });
    }
  }

  #land({ kind, key, seen, value }: Access): Landed {
    const found = this.registers.get(key) ?? null;
    if (kind === 'read') return { ok: true, isLost: false, found };
    if (kind === 'swap' && !isSame(found, seen)) return { ok: true, isLost: true, found: null };
    if (value === null) this.registers.delete(key);
    else this.registers.set(key, value);
    return { ok: true, isLost: false, found: value };
  }

  #answer({ by, kind, op }: Access, { ok, isLost, found }: Landed): void {
    if (!this.#clients.includes(by)) return;
    const value = kind === 'read' ? found : null;
    const completion: Completion = { op, ok, isLost, value, version: found, keys: null };
    by.input((step) => by.core.completed(completion, step));
  }

  #after(delayUs: number, act: () => void): void {
    this.#planned.push({ atUs: this.nowUs + delayUs, order: this.#order++, act });
  }
}

interface Landed {
  readonly ok: boolean;
  readonly isLost: boolean;
  readonly found: Uint8Array | null;
}

function isSame(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === b || (a !== null && b !== null && a.length === b.length && a.every((byte, i) => byte === b[i]));
}

/** Picks accesses of one kind by one client, to the name or to what is said of it. */
export function of(client: Client, kind: string, key = 'r'): Pick {
  return (access) => access.by === client && access.kind === kind && access.key === key;
}

export const SAID = '_tenure/said/r';
