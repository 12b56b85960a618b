/** A store in the memory of this process: for tests, and for trying things out. It can do everything and keeps nothing. */
import { randomUUID } from 'node:crypto';
import { compareNames, type TenureError } from '../kernel/index.ts';
import {
  checkAccess,
  checkList,
  checkSwap,
  equalValues,
  type AccessOptions,
  type Capabilities,
  type Landing,
  type ListOptions,
  type SwapOutcome,
  type Store,
} from './contract.ts';
import { newEpoch } from './failures.ts';
import { Gate } from './gate.ts';

/** What connections to one memory store share. */
export class MemorySpace {
  readonly identity: string = randomUUID();
  readonly records: Map<string, Uint8Array> = new Map();
  readonly watchers: Set<(key: string) => void> = new Set();
  epoch = 1;

  /** As if the server had started again without its last writes. */
  loseAll(): void {
    this.records.clear();
    this.epoch++;
  }

  set(key: string, value: Uint8Array | null): void {
    if (value === null) this.records.delete(key);
    else this.records.set(key, value);
    for (const watcher of this.watchers) watcher(key);
  }
}

/** Spaces with a name, one each in this process. */
const spaces = new Map<string, MemorySpace>();

/** The space of a name. Without a name it is shared with no other store. */
export function memorySpace(name: string): MemorySpace {
  const space = spaces.get(name) ?? new MemorySpace();
  if (name !== '') spaces.set(name, space);
  return space;
}

export class MemoryStore implements Store {
  readonly url: string;
  readonly kind: string = 'memory';
  readonly can: Capabilities = { swap: true, list: true, watch: true };
  readonly #space: MemorySpace;
  readonly #gate: Gate;
  readonly #watching = new Set<(key: string) => void>();
  #epoch: number;

  constructor(space: MemorySpace = new MemorySpace(), url = 'memory:') {
    this.url = url;
    this.#space = space;
    this.#gate = new Gate(url);
    this.#epoch = space.epoch;
  }

  get lastUnknown(): TenureError | null {
    return this.#gate.lastUnknown;
  }

  /** The first epoch has lost nothing. */
  get mayForget(): boolean {
    return this.#space.epoch > 1;
  }

  async read(key: string, options?: AccessOptions): Promise<Uint8Array | null> {
    checkAccess(key);
    return await this.#gate.ask(options, async () => this.#records().get(key)?.slice() ?? null);
  }

  async write(key: string, value: Uint8Array | null, options?: AccessOptions): Promise<Landing> {
    checkAccess(key, value);
    const copy = value?.slice() ?? null;
    return await this.#gate.change(options, async (call) => {
      this.#records();
      call.leave();
      this.#space.set(key, copy);
      return 'done';
    });
  }

  async swap(key: string, seen: Uint8Array | null, next: Uint8Array | null, options?: AccessOptions): Promise<SwapOutcome> {
    checkSwap(key, seen, next);
    const copy = next?.slice() ?? null;
    return await this.#gate.change(options, async (call) => {
      if (!equalValues(this.#records().get(key) ?? null, seen)) return 'lost';
      call.leave();
      this.#space.set(key, copy);
      return 'won';
    });
  }

  async list(prefix: string, options: ListOptions = {}): Promise<string[]> {
    const { after, limit } = checkList(prefix, options);
    return await this.#gate.ask(options, async () => {
      const keys = [...this.#records().keys()].filter((key) => key.startsWith(prefix) && (after === null || compareNames(key, after) > 0));
      return keys.sort(compareNames).slice(0, limit);
    });
  }

  async watch(prefix: string, hint: (key: string) => void, options?: AccessOptions): Promise<() => Promise<void>> {
    checkList(prefix, {});
    return await this.#gate.ask(options, async () => {
      const watcher = (key: string): void => {
        if (key.startsWith(prefix)) setImmediate(() => this.#watching.has(watcher) && hint(key));
      };
      this.#watching.add(watcher);
      this.#space.watchers.add(watcher);
      return async () => this.#stop(watcher);
    });
  }

  async identity(options?: AccessOptions): Promise<string> {
    return await this.#gate.ask(options, async () => this.#space.identity);
  }

  async epoch(options?: AccessOptions): Promise<string> {
    return await this.#gate.ask(options, async () => {
      this.#epoch = this.#space.epoch;
      return `memory/${this.#epoch}`;
    });
  }

  async close(): Promise<void> {
    this.#gate.close();
    for (const watcher of this.#watching) this.#stop(watcher);
  }

  #stop(watcher: (key: string) => void): void {
    this.#watching.delete(watcher);
    this.#space.watchers.delete(watcher);
  }

  #records(): ReadonlyMap<string, Uint8Array> {
    if (this.#epoch !== this.#space.epoch) throw newEpoch(this.url);
    return this.#space.records;
  }
}
