/**
 * All that is told about one cell or client while it works, in one place: counters, diagnostics channels, the log
 * and the history file. The lease service and the cell say what happened; who hears of it is decided here. On the way
 * of a lease this costs a few additions; objects are made only for those who listen.
 */
import type { RefusalReason } from '../../core/index.ts';
import { type ErrorCode, type TenureError } from '../../kernel/index.ts';
import type { ClockWatchCounts } from '../../runtime/index.ts';
import type { CellState } from '../cell/cell.ts';
import type { MemberReach } from '../cell/clock-skew.ts';
import { LeaseTally, type CellCounters } from './counters.ts';
import { CHANNELS, type Origin, type TenureEvents } from './diagnostics.ts';
import { openHistory, type HistoryFile, type HistoryOptions } from './history-file.ts';
import type { Lease } from '../leases/lease.ts';
import { Log, type Logger } from './logging.ts';
import { shortTerm } from '../cell/short-term.ts';

export interface ObserverOptions extends Origin {
  readonly logger?: Logger | undefined;
  readonly history?: string | HistoryOptions | undefined;
}

/** What an observer asks of its cell when it is asked itself. */
export interface Observed {
  readonly state: CellState;
  readonly held: number;
  readonly waiting: number;
  readonly clocks: Readonly<ClockWatchCounts> | null;
  readonly nowUs: number;
  /** All other members. */
  readonly peers: readonly Omit<MemberReach, 'self'>[];
}

export class Observer {
  readonly #origin: Origin;
  readonly #log: Log;
  readonly #history: HistoryFile | null;
  readonly #tally = new LeaseTally();
  readonly #peersRefused = new Map<ErrorCode, number>();
  #look: () => Observed = () => NOTHING;
  #silentSinceUs: number | null = null;
  #silenceUs = 0;
  #ratesOff = 0;

  /** Tests bring a disk of their own. */
  constructor({ cell, node, incarnation, logger, history }: ObserverOptions, open: typeof openHistory = openHistory) {
    this.#origin = { cell, node, incarnation };
    this.#log = new Log(logger, { cell, node });
    this.#history = history === undefined ? null : open(history, this.#origin, (error) => this.#historyFailed(error));
  }

  /** Whom it observes. */
  watchOver(look: () => Observed): void {
    this.#look = look;
  }

  // ── Leases ─────────────────────────────────────────────────────────────────────────────────────────

  requested(name: string, request: number): void {
    this.#tally.requests++;
    this.#history?.tell({ kind: 'requested', resource: name, request });
    const channel = CHANNELS['tenure:lease:requested'];
    if (channel.hasSubscribers) {
      channel.publish({ ...this.#origin, name, request } satisfies TenureEvents['tenure:lease:requested']);
    }
  }

  /** It stands in line at a quorum. */
  queued(name: string, request: number): void {
    this.#history?.tell({ kind: 'queued', resource: name, request });
  }

  granted(lease: Lease, termUs: number, waitUs: number, queued: boolean): void {
    this.#tally.grants++;
    if (queued) this.#tally.queuedGrants++;
    this.#tally.waitMs.add(waitUs);
    const { name, token, number: request } = lease;
    const channel = CHANNELS['tenure:lease:granted'];
    const isLogged = this.#log.wants('debug');
    if (!this.#history && !channel.hasSubscribers && !isLogged) return;
    const remainingMs = lease.remainingMs();
    const remainingUs = Math.floor(remainingMs * 1000);
    // One that had run out before it could be handed over was never had.
    if (remainingUs > 0) this.#history?.tell({ kind: 'granted', resource: name, request, token, remainingUs });
    else this.#history?.tell({ kind: 'abandoned', resource: name, request });
    if (channel.hasSubscribers) {
      channel.publish({
        ...this.#origin,
        name,
        request,
        token,
        termMs: termUs / 1000,
        remainingMs,
        waitMs: waitUs / 1000,
        queued,
      } satisfies TenureEvents['tenure:lease:granted']);
    }
    if (isLogged) this.#log.say('debug', { name, token, waitMs: waitUs / 1000 }, 'lease granted');
  }

  /** The request came to nothing. */
  refused(name: string, request: number, reason: RefusalReason, waitUs: number): void {
    this.#tally.refusals[reason]++;
    this.#history?.tell({ kind: 'abandoned', resource: name, request });
    const channel = CHANNELS['tenure:lease:refused'];
    const waitMs = waitUs / 1000;
    if (channel.hasSubscribers) {
      channel.publish({ ...this.#origin, name, request, reason, waitMs } satisfies TenureEvents['tenure:lease:refused']);
    }
    if (this.#log.wants('debug')) this.#log.say('debug', { name, reason, waitMs }, 'lease refused');
  }

  renewed(lease: Lease): void {
    this.#tally.renewals++;
    const channel = CHANNELS['tenure:lease:renewed'];
    if (!this.#history && !channel.hasSubscribers) return;
    const { name, token } = lease;
    const remainingMs = lease.remainingMs();
    const remainingUs = Math.floor(remainingMs * 1000);
    if (remainingUs > 0) this.#history?.tell({ kind: 'renewed', resource: name, token, remainingUs });
    if (channel.hasSubscribers)
      channel.publish({ ...this.#origin, name, token, remainingMs } satisfies TenureEvents['tenure:lease:renewed']);
  }

  renewalFailed(lease: Lease): void {
    this.#tally.renewalFailures++;
    const channel = CHANNELS['tenure:lease:renewal-failed'];
    const isLogged = this.#log.wants('debug');
    if (!channel.hasSubscribers && !isLogged) return;
    const { name, token } = lease;
    const remainingMs = lease.remainingMs();
    if (channel.hasSubscribers) {
      channel.publish({ ...this.#origin, name, token, remainingMs } satisfies TenureEvents['tenure:lease:renewal-failed']);
    }
    if (isLogged) this.#log.say('debug', { name, token, remainingMs }, 'lease not renewed yet; trying again');
  }

  lost(lease: Lease, holdUs: number, error: TenureError): void {
    this.#tally.losses++;
    this.#tally.holdMs.add(holdUs);
    const { name, token } = lease;
    const holdMs = holdUs / 1000;
    this.#history?.tell({ kind: 'ended', resource: name, token, reason: error.code === 'TENURE_LEASE_LOST' ? 'deadline' : 'lost' });
    const channel = CHANNELS['tenure:lease:lost'];
    if (channel.hasSubscribers)
      channel.publish({ ...this.#origin, name, token, holdMs, error } satisfies TenureEvents['tenure:lease:lost']);
    this.#log.say('warn', { code: error.code, name, token, holdMs }, error.message);
  }

  /** Its holder has stopped. To be called before anybody else can hear of it. */
  released(lease: Lease, holdUs: number): void {
    this.#tally.releases++;
    this.#tally.holdMs.add(holdUs);
    const { name, token } = lease;
    const holdMs = holdUs / 1000;
    this.#history?.tell({ kind: 'ended', resource: name, token, reason: 'released' });
    const channel = CHANNELS['tenure:lease:released'];
    if (channel.hasSubscribers) channel.publish({ ...this.#origin, name, token, holdMs } satisfies TenureEvents['tenure:lease:released']);
    if (this.#log.wants('debug')) this.#log.say('debug', { name, token, holdMs }, 'lease released');
  }

  // ── The cell ───────────────────────────────────────────────────────────────────────────────────────

  state(state: CellState, before: CellState, isClosing: boolean): void {
    const channel = CHANNELS['tenure:cell:state'];
    if (channel.hasSubscribers) channel.publish({ ...this.#origin, state, before } satisfies TenureEvents['tenure:cell:state']);
    // On the way up it passes through lesser states: that is nothing to warn of.
    const isFine = isClosing || ASCENDING.indexOf(state) > ASCENDING.indexOf(before);
    this.#log.say(isFine ? 'info' : 'warn', { state, before }, isClosing ? 'left the cell' : STATES[state]);
  }

  peer(peer: string, connected: boolean, reason: string | null, isMember: boolean): void {
    if (connected) this.#log.welcome(peer);
    const channel = CHANNELS['tenure:cell:peer'];
    if (channel.hasSubscribers) channel.publish({ ...this.#origin, peer, connected, reason } satisfies TenureEvents['tenure:cell:peer']);
    const level = isMember ? 'info' : 'debug';
    if (this.#log.wants(level))
      this.#log.say(level, reason === null ? { peer } : { peer, reason }, connected ? 'connected' : 'disconnected');
  }

  peerRefused(peer: string, error: TenureError): void {
    this.#peersRefused.set(error.code, (this.#peersRefused.get(error.code) ?? 0) + 1);
    const channel = CHANNELS['tenure:cell:refused'];
    if (channel.hasSubscribers) channel.publish({ ...this.#origin, peer, error } satisfies TenureEvents['tenure:cell:refused']);
    this.#log.refusal(peer, error);
  }

  silenceBegan(silenceUs: number, nowUs: number): void {
    this.#silentSinceUs = nowUs;
    this.#silence(true, silenceUs, `silent for ${Math.ceil(silenceUs / 1000)} ms: a member that starts may have voted before`);
  }

  silenceEnded(nowUs: number): void {
    if (this.#silentSinceUs === null) return;
    this.#silenceUs = nowUs - this.#silentSinceUs;
    this.#silentSinceUs = null;
    this.#silence(false, this.#silenceUs, 'the restart silence is over');
  }

  #silence(silent: boolean, us: number, message: string): void {
    const channel = CHANNELS['tenure:cell:silence'];
    const ms = us / 1000;
    if (channel.hasSubscribers) channel.publish({ ...this.#origin, silent, ms } satisfies TenureEvents['tenure:cell:silence']);
    this.#log.say('info', { silent, ms }, message);
  }

  /** Called in the middle of a step: whoever hears of it may want to do something, and hears of it after. */
  stalled(kind: 'stall' | 'sleep' | 'wall-step', us: number): void {
    const channel = CHANNELS['tenure:cell:stall'];
    if (!channel.hasSubscribers && !this.#log.wants('warn')) return;
    queueMicrotask(() => {
      const ms = us / 1000;
      channel.publish({ ...this.#origin, kind, ms } satisfies TenureEvents['tenure:cell:stall']);
      this.#log.say('warn', { kind, ms }, STALLS[kind]);
    });
  }

  /** A clock runs too fast or too slow, this node's or a member's. */
  clockRate(warning: TenureError): TenureError {
    this.#ratesOff++;
    const channel = CHANNELS['tenure:cell:clock-rate'];
    if (channel.hasSubscribers) channel.publish({ ...this.#origin, error: warning } satisfies TenureEvents['tenure:cell:clock-rate']);
    this.#log.say('warn', { code: warning.code, ...warning.details }, warning.message);
    return warning;
  }

  clockRateFine(): void {
    const channel = CHANNELS['tenure:cell:clock-rate'];
    if (channel.hasSubscribers) channel.publish({ ...this.#origin, error: null } satisfies TenureEvents['tenure:cell:clock-rate']);
    this.#log.say('info', {}, 'the clock of this process runs like the others again');
  }

  failed(error: TenureError): void {
    this.#history?.tell({ kind: 'crashed' });
    this.#failure(error);
  }

  noting(message: string): void {
    this.#log.say('warn', {}, message);
  }

  /** It votes no more, and lives on: what it holds is told of as before. */
  diskFailed(error: TenureError): void {
    this.#failure(error);
  }

  #failure(error: TenureError): void {
    const channel = CHANNELS['tenure:cell:failure'];
    if (channel.hasSubscribers) channel.publish({ ...this.#origin, error } satisfies TenureEvents['tenure:cell:failure']);
    this.#log.say('error', { code: error.code }, error.message);
  }

  counters(): CellCounters {
    const { state, held, waiting, clocks, nowUs, peers } = this.#look();
    const { waitMs, holdMs, refusals, ...tally } = this.#tally;
    return {
      ...this.#origin,
      state,
      ...tally,
      refusals: { ...refusals },
      waitMs: waitMs.snapshot(),
      holdMs: holdMs.snapshot(),
      held,
      waiting,
      silenceMs: (this.#silentSinceUs === null ? this.#silenceUs : nowUs - this.#silentSinceUs) / 1000,
      clocks: {
        stalls: clocks?.stalls ?? 0,
        stallMsMax: (clocks?.stallUsMax ?? 0) / 1000,
        sleeps: clocks?.sleeps ?? 0,
        wallSteps: clocks?.wallSteps ?? 0,
        ratesOff: this.#ratesOff,
      },
      peersRefused: Object.fromEntries(this.#peersRefused),
      peers: peers.map(({ id, stats, pace }) => ({
        id,
        connected: stats?.connected ?? false,
        rttMs: toMs(stats?.rttUs),
        clockOffsetMs: toMs(stats?.offsetUs),
        pace,
        messagesIn: stats?.messagesIn ?? 0,
        messagesOut: stats?.messagesOut ?? 0,
        writes: stats?.writes ?? 0,
        dropped: stats?.dropped ?? 0,
        queuedBytes: stats?.queuedBytes ?? 0,
        reconnects: stats?.reconnects ?? 0,
      })),
      historyRecords: this.#history?.records ?? 0,
      historyDropped: this.#history?.dropped ?? 0,
    };
  }

  /** A term that was asked for is short for the round trips there are. */
  shortTerm(termUs: number, rttUs: number): TenureError {
    const warning = shortTerm(termUs, rttUs);
    const [termMs, rttMs] = [termUs / 1000, rttUs / 1000];
    const channel = CHANNELS['tenure:cell:short-term'];
    if (channel.hasSubscribers) channel.publish({ ...this.#origin, termMs, rttMs } satisfies TenureEvents['tenure:cell:short-term']);
    this.#log.say('warn', { termMs, rttMs }, warning.message);
    return warning;
  }

  /** The last of the history is written. */
  async close(): Promise<void> {
    await this.#history?.close();
  }

  #historyFailed(error: TenureError): void {
    const channel = CHANNELS['tenure:history:failed'];
    if (channel.hasSubscribers) channel.publish({ ...this.#origin, error } satisfies TenureEvents['tenure:history:failed']);
    this.#log.say('error', { code: error.code, details: error.details }, error.message);
  }
}

const NOTHING: Observed = { state: 'no-quorum', held: 0, waiting: 0, clocks: null, nowUs: 0, peers: [] };

function toMs(us: number | null | undefined): number | null {
  return us === null || us === undefined ? null : us / 1000;
}

const ASCENDING: readonly CellState[] = ['no-quorum', 'silent', 'degraded', 'ready'];

const STATES: Readonly<Record<CellState, string>> = {
  silent: 'a majority is connected; this member keeps its restart silence',
  ready: 'all members are connected',
  degraded: 'a majority of the members is connected, not all',
  'no-quorum': 'no majority of the members is connected: nothing can be acquired or renewed',
};

const STALLS = {
  stall: 'the event loop stood still',
  sleep: 'the machine slept, or its wall clock was set forward',
  'wall-step': 'the wall clock was set back',
} as const;
