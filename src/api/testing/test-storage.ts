/** A store and the processes that have leases on it, on virtual time. Cores, drivers and leases are real; only store and clocks are played. */
import { deriveStorageTiming, renewAfterUs } from '../../core/index.ts';
import {
  checkOptions,
  incarnation,
  parseDuration,
  SeededChooser,
  TenureError,
  type Chooser,
  type Duration,
  type OptionTable,
} from '../../kernel/index.ts';
import { defaultParameters, initParameters, MemorySpace, PARAMETERS_KEY } from '../../store/index.ts';
import type { Lease } from '../leases/lease.ts';
import { storageEngine } from '../storage/engine.ts';
import type { StorageNode } from '../storage/node.ts';
import { runNode } from '../storage/open.ts';
import { wantedParameters, type StorageOptions } from '../storage/options.ts';
import { LeaseStorage } from '../storage/storage.ts';
import { VirtualStore, VirtualUnit } from './virtual-store.ts';
import { VirtualClocks, VirtualProcess, VirtualTime } from './virtual-time.ts';

export interface TestStorageOptions extends Pick<StorageOptions, 'engine' | 'delta' | 'maxTerm' | 'rateError' | 'renewal'> {
  /** Where chance begins: 1. */
  readonly seed?: number;
}

const TEST_STORAGE_OPTIONS: OptionTable<TestStorageOptions> = {
  engine: 'any',
  delta: 'any',
  maxTerm: 'any',
  rateError: 'number',
  renewal: 'any',
  seed: 'number',
};

/** One process, and what it lives on. */
interface TestProcess {
  readonly node: StorageNode;
  readonly process: VirtualProcess;
  readonly clocks: VirtualClocks;
  readonly unit: VirtualUnit;
}

/** The store is set up when it resolves. */
export let openTestStorage: (options: TestStorageOptions) => Promise<TestStorage>;

export class TestStorage {
  readonly #options: TestStorageOptions;
  readonly #time = new VirtualTime(() => this.#isAsked());
  readonly #space = new MemorySpace();
  readonly #parameters;
  readonly #chooser: Chooser;
  readonly #clients = new Map<LeaseStorage, TestProcess>();
  #born = 0;

  static {
    openTestStorage = async (options) => {
      const storage = new TestStorage(options);
      await initParameters(new VirtualStore(storage.#space, true), storage.#parameters);
      return storage;
    };
  }

  /** Test storages are made by `testStorage`. */
  private constructor(options: TestStorageOptions) {
    this.#options = checkOptions('testStorage', options, TEST_STORAGE_OPTIONS);
    this.#parameters = { ...defaultParameters('memory'), ...wantedParameters(options) };
    // Said at once, not by the first client.
    deriveStorageTiming(this.#parameters);
    this.#chooser = new SeededChooser(options.seed ?? 1);
  }

  /** Milliseconds since it began. */
  now(): number {
    return this.#time.nowUs / 1000;
  }

  /** What `openStorage` gives, as if in a process of its own. Any number. */
  async client(): Promise<LeaseStorage> {
    const store = new VirtualStore(this.#space, this.#parameters.isPlain !== true);
    const engine = storageEngine(store, this.#parameters, this.#options.renewal);
    const { patienceUs, maxTermUs } = engine.timing;
    const process = new VirtualProcess();
    // A try that finds the lease held is answered when its holder renews.
    const answerUs = renewAfterUs(maxTermUs) + 2 * patienceUs;
    const clocks = new VirtualClocks(this.#time, process, answerUs);
    let onFailure = (_error: unknown): void => {};
    const unit = new VirtualUnit({ store, time: this.#time, process, patienceUs, answerUs, onFailure: (error) => onFailure(error) });
    const surroundings = {
      clocks,
      chooser: this.#chooser,
      unit: (told: (error: unknown) => void) => {
        onFailure = told;
        return unit;
      },
    };
    const node = await runNode({ store, isOwned: true, engine, born: incarnation(++this.#born), options: {}, surroundings });
    const client = new LeaseStorage(node);
    this.#clients.set(client, { node, process, clocks, unit });
    return client;
  }

  /**
   * Lets time pass: renewals, deadlines, signals and accesses happen in order, and what waits for them runs in between. A call is
   * answered without it unless its answer takes long: longer than it takes a holder to renew.
   */
  advance(duration: Duration): Promise<void> {
    return this.#time.advance(parseDuration(duration));
  }

  /** For code under test that sleeps: over when `advance` has gone so far. */
  sleep(duration: Duration, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    return this.#time.sleep(parseDuration(duration), signal);
  }

  /** The store does not answer this client until it is mended, and nothing that it sends lands. */
  cutOff(client: LeaseStorage): void {
    this.#processOf(client).unit.isCut = true;
  }

  mend(client: LeaseStorage): void {
    this.#processOf(client).unit.isCut = false;
  }

  /** It dies without a word. Others find its leases taken until they have watched them for long enough. */
  crash(client: LeaseStorage): void {
    const { node, process } = this.#processOf(client);
    this.#clients.delete(client);
    process.isGone = true;
    node.die();
  }

  /** It stands still for so long, like a process that the system does not run. */
  stall(client: LeaseStorage, duration: Duration): void {
    const { process } = this.#processOf(client);
    process.standsUntilUs = Math.max(process.standsUntilUs, this.#time.nowUs + parseDuration(duration));
  }

  /** Its clocks run at this rate from here on: 1.05 gains half a second in ten, 1 is right. */
  setClockRate(client: LeaseStorage, rate: number): void {
    if (!(rate > 0 && rate < Infinity)) throw new TenureError('TENURE_BAD_ARGUMENT', `a clock's rate is a number above 0, not ${rate}`);
    this.#processOf(client).clocks.setRate(rate);
  }

  /** The store starts anew and has lost every record of a lease: a new epoch, in which no lease is taken before the earlier holds are over. */
  loseWrites(): void {
    const parameters = this.#space.records.get(PARAMETERS_KEY);
    this.#space.loseAll();
    this.#space.set(PARAMETERS_KEY, parameters ?? null);
  }

  /** Its holder loses the lease now, as if it had run out: its signal aborts, and others can have it. */
  loseLease(lease: Lease): void {
    for (const { node } of this.#clients.values()) if (node.lose(lease)) return;
    throw new TenureError('TENURE_BAD_ARGUMENT', `nobody here holds the lease on '${lease.name}' any more`);
  }

  /** Ends everything at once: leases and waits are over, and no time needs to pass. */
  close(): Promise<void> {
    for (const client of this.#clients.keys()) this.crash(client);
    return this.#time.idle();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #isAsked(): boolean {
    for (const { node } of this.#clients.values()) if (node.leases.isAsked || node.fetches.count > 0) return true;
    return false;
  }

  #processOf(client: LeaseStorage): TestProcess {
    const found = this.#clients.get(client);
    if (found) return found;
    throw new TenureError('TENURE_BAD_ARGUMENT', 'this is no client of the test storage, or it has crashed');
  }
}
