/** Leases on a store as one process sees them: a client of leases, and what can be told of the store. */
import { EventEmitter } from 'node:events';
import { checkOptions, parseDuration, type TenureError } from '../../kernel/index.ts';
import { Election, type ElectionGround, type ElectionOptions } from '../elections/election.ts';
import { CLOSE_OPTIONS, optionsBefore, type CloseOptions, type LeaseClient, type Work, type WorkUnderAll } from '../leases/client.ts';
import type { Lease } from '../leases/lease.ts';
import type { HolderAnswer, Listing } from '../leases/questions.ts';
import type { AcquireOptions, TryResult } from '../leases/requests.ts';
import { SIGNAL_ONLY, type SignalOnly } from '../signals.ts';
import type { WatchOptions } from '../watches/feed.ts';
import type { Watch } from '../watches/watch.ts';
import type { DecideOptions } from './decisions.ts';
import { storageClosed, unsureOfHolder } from './failures.ts';
import type { StoredData } from './fetches.ts';
import type { StorageNode } from './node.ts';
import type { StorageEngineName } from './options.ts';

export interface StorageEvents {
  /** It broke one of its own rules, or the store lost its parameters and was set up differently since: it fell silent, and holds nothing any more. */
  failure: [error: TenureError];
}

export class LeaseStorage extends EventEmitter<StorageEvents> implements LeaseClient {
  readonly #node: StorageNode;

  /** Made by `openStorage`. */
  constructor(node: StorageNode) {
    super();
    this.#node = node;
    node.announceTo({
      failure: (error) => {
        try {
          this.emit('failure', error);
        } catch (thrown) {
          // A listener that throws must not keep the rest from its work.
          process.emitWarning(thrown instanceof Error ? thrown : String(thrown));
        }
      },
    });
  }

  get incarnation(): number {
    return this.#node.incarnation;
  }

  /** The store, without passwords. */
  get url(): string {
    return this.#node.url;
  }

  get engine(): StorageEngineName {
    return this.#node.engine.name;
  }

  /** The longest term of any lease here: Δ. */
  get maxTermMs(): number {
    return this.#node.engine.timing.maxTermUs / 1000;
  }

  /** How long an access may take, as a rule: δ. */
  get deltaMs(): number {
    return this.#node.engine.timing.deltaUs / 1000;
  }

  /** How long this process still takes nothing, because the store may have lost what a holder wrote; 0 as a rule. */
  get silentForMs(): number {
    return this.#node.silentForUs / 1000;
  }

  acquire(name: string, options?: AcquireOptions): Promise<Lease> {
    return this.#node.isOpen ? this.#node.leases.acquire(name, options) : Promise.reject(storageClosed());
  }

  tryAcquire(name: string, options?: Omit<AcquireOptions, 'wait'>): Promise<TryResult> {
    return this.#node.isOpen ? this.#node.leases.tryAcquire(name, options) : Promise.reject(storageClosed());
  }

  using<T>(name: string, work: Work<T>): Promise<T>;
  using<T>(name: string, options: AcquireOptions, work: Work<T>): Promise<T>;
  async using<T>(name: string, ...rest: [Work<T>] | [AcquireOptions, Work<T>]): Promise<T> {
    return this.#node.alive.during(this.#node.open().using(name, ...optionsBefore(rest)));
  }

  usingAll<T>(names: readonly string[], work: WorkUnderAll<T>): Promise<T>;
  usingAll<T>(names: readonly string[], options: AcquireOptions, work: WorkUnderAll<T>): Promise<T>;
  async usingAll<T>(names: readonly string[], ...rest: [WorkUnderAll<T>] | [AcquireOptions, WorkUnderAll<T>]): Promise<T> {
    return this.#node.alive.during(this.#node.open().usingAll(names, ...optionsBefore(rest)));
  }

  async acquireAll(names: readonly string[], options?: AcquireOptions): Promise<Lease[]> {
    return this.#node.alive.during(this.#node.open().acquireAll(names, options));
  }

  /**
   * The one decided value of a key, for ever: this one, or another's that was proposed before. Safe at all times; where the store cannot compare and set it takes
   * a process that leads for a moment.
   */
  async decide(key: string, value: Uint8Array | string, options?: DecideOptions): Promise<Uint8Array> {
    this.#node.open();
    return this.#node.alive.during(this.#node.decisions.decide(key, value, options));
  }

  elect(name: string, options?: ElectionOptions): Election {
    return new Election(this.engine === 'plain' ? this.#toldLeaders() : this, name, options, (of) =>
      unsureOfHolder(this.url, of, this.#node.lastFailure, this.silentForMs),
    );
  }

  /** That another process holds a lease is never certain on plain registers. The leader is advice, and the name found there is enough for it. */
  #toldLeaders(): ElectionGround {
    return {
      acquire: (name, options) => this.acquire(name, options),
      watch: (name, options) => this.watch(name, options),
      holder: async (name, options) => {
        const answer = await this.holder(name, options);
        return answer.holder === null ? answer : { ...answer, certain: true };
      },
    };
  }

  watch(prefix?: string, options?: WatchOptions): Watch {
    return this.#node.open().watch(prefix, options);
  }

  async holder(name: string, options?: SignalOnly): Promise<HolderAnswer> {
    return this.#node.alive.during(this.#node.open().holder(name, options));
  }

  async list(prefix?: string, options?: SignalOnly): Promise<Listing> {
    return this.#node.alive.during(this.#node.open().list(prefix, options));
  }

  /** The data last stored under a lease of this name (`lease.sync`), and the token of that lease; null if there is none. */
  async read(name: string, options: SignalOnly = {}): Promise<StoredData | null> {
    const { signal } = checkOptions('read', options, SIGNAL_ONLY);
    this.#node.open();
    return this.#node.alive.during(this.#node.fetches.read(name, signal));
  }

  async close(options: CloseOptions = {}): Promise<void> {
    const { timeout, handOver } = checkOptions('close', options, CLOSE_OPTIONS);
    if (handOver) this.#node.leases.transfers.checkEngine();
    return this.#node.close(timeout === undefined ? undefined : parseDuration(timeout));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
