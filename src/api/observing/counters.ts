/**
 * What one cell or client counts, all the time: a few additions for each lease, no allocation. A snapshot is a
 * plain object whose parts become metrics as they are: counters only rise, histograms are cumulative.
 */
import type { PeerPace, RefusalReason } from '../../core/index.ts';
import type { ErrorCode } from '../../kernel/index.ts';
import type { CellState } from '../cell/state.ts';

/** The upper bounds of the buckets of all histograms, in milliseconds. Longer times are in the count only. */
export const BUCKETS_MS = [0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000] as const;

export interface HistogramSnapshot {
  /** How many took at most `leMs`; each bucket includes those before it. */
  readonly buckets: readonly { readonly leMs: number; readonly count: number }[];
  readonly count: number;
  readonly sumMs: number;
}

export interface PeerCounters {
  readonly id: string;
  readonly connected: boolean;
  /** Smoothed; null before the first was measured. */
  readonly rttMs: number | null;
  /** Its wall clock minus ours. */
  readonly clockOffsetMs: number | null;
  /** How fast its monotonic clock runs next to ours. */
  readonly pace: PeerPace;
  readonly messagesIn: number;
  readonly messagesOut: number;
  /** Messages of one turn share one. */
  readonly writes: number;
  /** Messages not sent because too many waited to be. */
  readonly dropped: number;
  readonly queuedBytes: number;
  readonly reconnects: number;
}

export interface CellCounters {
  readonly cell: string;
  /** The member's id, or the client's name. */
  readonly node: string;
  readonly incarnation: number;
  readonly state: CellState;
  /** Requests for a lease: of `acquire`, `tryAcquire`, `using` and each name of `acquireAll`. */
  readonly requests: number;
  readonly grants: number;
  readonly renewals: number;
  /** Attempts to renew that no quorum answered; each is tried again until the term is over. */
  readonly renewalFailures: number;
  /** Leases that ended before they were given back. */
  readonly losses: number;
  readonly releases: number;
  /** Requests that came to nothing, by reason. */
  readonly refusals: Readonly<Record<RefusalReason, number>>;
  /** Grants that had to wait in a queue first. */
  readonly queuedGrants: number;
  /** From the request to the grant. */
  readonly waitMs: HistogramSnapshot;
  /** From the grant to the release or the loss. */
  readonly holdMs: HistogramSnapshot;
  /** Claims asked for, of `next` and `ids` as well; claims that were granted; and claims that were refused. */
  readonly claims: number;
  readonly claimsGranted: number;
  readonly claimsRefused: number;
  /** Messages given to the members to be published; messages that have a position; and messages whose position is not known. */
  readonly publishes: number;
  readonly published: number;
  readonly uncertain: number;
  /** From `publish` to the position. */
  readonly publishMs: HistogramSnapshot;
  /** Of a member: the position of the last message that it has delivered. */
  readonly lastPosition: number;
  /** Right now. */
  readonly held: number;
  readonly waiting: number;
  /** How long this member has kept its restart silence; it still does while `state` is `silent`. */
  readonly silenceMs: number;
  /** Stalls, sleeps and steps of this process's clocks, and how often a clock, its own or a member's, was found to run too fast or too slow. */
  readonly clocks: {
    readonly stalls: number;
    readonly stallMsMax: number;
    readonly sleeps: number;
    readonly wallSteps: number;
    readonly ratesOff: number;
  };
  /** Peers turned away, here or there, by code: every attempt counts. */
  readonly peersRefused: Readonly<Partial<Record<ErrorCode, number>>>;
  /** Every other member. */
  readonly peers: readonly PeerCounters[];
  /** Records written to the history file, and records that could not be. */
  readonly historyRecords: number;
  readonly historyDropped: number;
}

export class Histogram {
  readonly #counts = new Float64Array(BUCKETS_MS.length);
  #count = 0;
  #sumUs = 0;

  add(us: number): void {
    this.#count++;
    this.#sumUs += us;
    for (let i = 0; i < BUCKETS_MS.length; i++) {
      if (us <= (BUCKETS_MS[i] as number) * 1000) {
        this.#counts[i] = (this.#counts[i] as number) + 1;
        return;
      }
    }
  }

  snapshot(): HistogramSnapshot {
    let below = 0;
    const buckets = BUCKETS_MS.map((leMs, i) => ({ leMs, count: (below += this.#counts[i] as number) }));
    return { buckets, count: this.#count, sumMs: this.#sumUs / 1000 };
  }
}

/** What happens to leases, as it is counted. */
export class LeaseTally {
  requests = 0;
  grants = 0;
  renewals = 0;
  renewalFailures = 0;
  losses = 0;
  releases = 0;
  queuedGrants = 0;
  readonly refusals: Record<RefusalReason, number> = {
    'no-place': 0,
    'no-room': 0,
    'too-long': 0,
    held: 0,
    contended: 0,
    queued: 0,
    skewed: 0,
    ahead: 0,
    silent: 0,
    'no-quorum': 0,
    unreachable: 0,
    unreadable: 0,
    timeout: 0,
    cancelled: 0,
    'old-version': 0,
  };
  readonly waitMs: Histogram = new Histogram();
  readonly holdMs: Histogram = new Histogram();
}
