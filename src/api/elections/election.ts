/**
 * Elections, on any lease service: the leader is the holder of the lease of the election's name, and its value is
 * the lease's metadata. An election keeps no state; being the leader is a `Leadership`, which knows by
 * the clock whether it still is.
 */
import { checkName, checkOptions, TenureError, type Duration, type OptionTable } from '../../kernel/index.ts';
import type { LeaseWaiter } from '../leases/lease-waiter.ts';
import type { Lease } from '../leases/lease.ts';
import type { HolderAnswer } from '../leases/questions.ts';
import type { AcquireOptions } from '../leases/requests.ts';
import { LeaderChanges, asLeader, type Leader } from './leader-changes.ts';
import type { AsyncSequence } from '../sequences.ts';
import { SIGNAL_ONLY, type SignalOnly } from '../signals.ts';
import type { Change, WatchOptions } from '../watches/feed.ts';

/** What an election is built on: these calls of a lease service, as they are. */
export interface ElectionGround {
  acquire(name: string, options?: AcquireOptions): Promise<Lease>;
  holder(name: string, options?: SignalOnly): Promise<HolderAnswer>;
  watch(name: string, options?: WatchOptions): AsyncSequence<Change>;
}

export interface ElectionOptions {
  /** How long a leader stays one unless it renews, which it does; the longest term there is unless told otherwise. */
  readonly term?: Duration;
}

export interface CampaignOptions extends ElectionOptions {
  /** What the leader says of itself: an address, a version. At most as long as metadata may be. */
  readonly value?: Uint8Array | string;
  /** How long to stand; without it, until elected. */
  readonly wait?: Duration;
  readonly signal?: AbortSignal;
  /** Whether the process stays alive as long as it leads: no. */
  readonly keepAlive?: boolean;
}

const ELECTION_OPTIONS: OptionTable<ElectionOptions> = { term: 'any' };
const CAMPAIGN_OPTIONS: OptionTable<CampaignOptions> = { term: 'any', value: 'any', wait: 'any', signal: 'signal', keepAlive: 'boolean' };

export class Election {
  readonly name: string;
  readonly #ground: ElectionGround;
  readonly #options: ElectionOptions;
  readonly #unsure: (name: string) => TenureError;

  /** Elections are made by `elect`. `unsure` says why the leader is unknown. */
  constructor(ground: ElectionGround, name: string, options: ElectionOptions = {}, unsure: (name: string) => TenureError = tooFewAnswers) {
    checkName(name);
    checkOptions('elect', options, ELECTION_OPTIONS);
    this.name = name;
    this.#ground = ground;
    this.#options = options;
    this.#unsure = unsure;
  }

  /** Stands, in line with the other candidates, and resolves when elected. Each call is a candidate of its own. */
  async campaign(campaign: CampaignOptions = {}): Promise<Leadership> {
    const { value, ...options } = checkOptions('campaign', campaign, CAMPAIGN_OPTIONS);
    const meta = value === undefined ? {} : { meta: value };
    return new Leadership(await this.#ground.acquire(this.name, { ...this.#options, ...options, ...meta }));
  }

  /** Asks for the leader: null if there is none. Throws TENURE_NO_QUORUM if too few members answered to know, TENURE_STORE_UNREACHABLE if a store did not. */
  async leader(options: SignalOnly = {}): Promise<Leader | null> {
    const { holder, certain, meta } = await this.#ground.holder(this.name, options);
    if (certain) return holder && asLeader(holder, meta);
    throw this.#unsure(this.name);
  }

  /**
   * Tells the leader, now and whenever it changes: another leader, another value, none. As with `watch`, changes
   * are hints, and where some may have been missed there is a gap.
   */
  observe(options: SignalOnly = {}): LeaderChanges {
    const { signal } = checkOptions('observe', options, SIGNAL_ONLY);
    return new LeaderChanges(() => this.#ground.watch(this.name, { exact: true, ...(signal ? { signal } : {}) }));
  }
}

function tooFewAnswers(name: string): TenureError {
  return new TenureError('TENURE_NO_QUORUM', `too few answers came to know who leads '${name}'; ask again, or mend the network`);
}

/** Being the leader, for as long as it lasts. */
export class Leadership {
  readonly #lease: Lease;

  /** Leaderships are won by `campaign`. */
  constructor(lease: Lease) {
    this.#lease = lease;
  }

  /** The election's. */
  get name(): string {
    return this.#lease.name;
  }

  /** The fencing token: rises with every leader of this election, for ever. */
  get token(): number {
    return this.#lease.token;
  }

  /** Aborts when it is time to stop leading, a margin before another can be elected. Not when you resign. */
  get signal(): AbortSignal {
    return this.#lease.signal;
  }

  /** Whether this is the leader at this very moment. */
  get valid(): boolean {
    return this.#lease.valid;
  }

  /** The instant it ends unless it is renewed, as `performance.now()` counts. */
  get deadline(): number {
    return this.#lease.deadline;
  }

  /** Milliseconds left; 0 when it is over. */
  remainingMs(): number {
    return this.#lease.remainingMs();
  }

  /** Replaces the leader's value; it stays the leader. Resolves when every later question is answered with the new value. */
  proclaim(value: Uint8Array | string, options: SignalOnly = {}): Promise<void> {
    return this.#lease.proclaim(value, options);
  }

  /** Gives it up. You must have stopped leading before. Calling again, or when it was lost, is harmless. */
  resign(): Promise<void> {
    return this.#lease.release();
  }

  /**
   * Hands it over to the next candidate in line, or to a candidate that `waiters` told of: no candidate has to find out that there is no leader. You must have stopped leading before. Resolves to whether it was handed over; if no candidate was
   * there in time you still lead. Not every engine can: TENURE_UNSUPPORTED.
   */
  handOver(to?: LeaseWaiter): Promise<boolean> {
    return this.#lease.transfer(to);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.resign();
  }
}
