/**
 * All that is told about one cell or client while it works, in one place: counters, diagnostics channels, the log
 * and the history file. The cell says what happened; this observer decides which of them hear of it. Leases have an observer of their own.
 */
import type { ErrorCode, TenureError } from '../../kernel/index.ts';
import type { ClockWatchCounts } from '../../runtime/index.ts';
import type { MemberReach } from '../cell/clock-skew.ts';
import type { CellState } from '../cell/state.ts';
import { BroadcastObserver } from './broadcast-observer.ts';
import { ClaimObserver } from './claim-observer.ts';
import type { CellCounters } from './counters.ts';
import type { openHistory } from './history-file.ts';
import { LeaseObserver } from './lease-observer.ts';
import { Outlets, type OutletOptions } from './outlets.ts';

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
  readonly leases: LeaseObserver;
  readonly claims: ClaimObserver;
  readonly broadcasts: BroadcastObserver;
  readonly #outlets: Outlets;
  readonly #peersRefused = new Map<ErrorCode, number>();
  #look: () => Observed = () => NOTHING;
  #silentSinceUs: number | null = null;
  #silenceUs = 0;
  #ratesOff = 0;

  /** Tests bring a disk of their own. */
  constructor(options: OutletOptions, open?: typeof openHistory) {
    this.#outlets = new Outlets(options, open);
    this.leases = new LeaseObserver(this.#outlets);
    this.claims = new ClaimObserver(this.#outlets);
    this.broadcasts = new BroadcastObserver(this.#outlets);
  }

  /** The member's id, or the client's name. */
  get node(): string {
    return this.#outlets.origin.node;
  }

  /** The cell or client it observes. */
  watchOver(look: () => Observed): void {
    this.#look = look;
  }

  state(state: CellState, before: CellState, isClosing: boolean): void {
    this.#outlets.publish('tenure:cell:state', { state, before });
    // On the way up it passes through lesser states: that is nothing to warn of.
    const isFine = isClosing || ASCENDING.indexOf(state) > ASCENDING.indexOf(before);
    this.#outlets.log.say(isFine ? 'info' : 'warn', { state, before }, isClosing ? 'left the cell' : STATES[state]);
  }

  peer(peer: string, connected: boolean, reason: string | null, isMember: boolean): void {
    const { log } = this.#outlets;
    if (connected) log.welcome(peer);
    this.#outlets.publish('tenure:cell:peer', { peer, connected, reason });
    const level = isMember ? 'info' : 'debug';
    if (log.wants(level)) log.say(level, reason === null ? { peer } : { peer, reason }, connected ? 'connected' : 'disconnected');
  }

  peerRefused(peer: string, error: TenureError): void {
    this.#peersRefused.set(error.code, (this.#peersRefused.get(error.code) ?? 0) + 1);
    this.#outlets.publish('tenure:cell:refused', { peer, error });
    this.#outlets.log.refusal(peer, error);
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
    const ms = us / 1000;
    this.#outlets.publish('tenure:cell:silence', { silent, ms });
    this.#outlets.log.say('info', { silent, ms }, message);
  }

  /** Called in the middle of a step: a subscriber may want to call the cell, so it hears of it after the step. */
  stalled(kind: 'stall' | 'sleep' | 'wall-step', us: number): void {
    if (!this.#outlets.hears('tenure:cell:stall') && !this.#outlets.log.wants('warn')) return;
    queueMicrotask(() => {
      const ms = us / 1000;
      this.#outlets.publish('tenure:cell:stall', { kind, ms });
      this.#outlets.log.say('warn', { kind, ms }, STALLS[kind]);
    });
  }

  /** A clock runs too fast or too slow, this node's or a member's. */
  clockRate(warning: TenureError): void {
    this.#ratesOff++;
    this.#outlets.publish('tenure:cell:clock-rate', { error: warning });
    this.#outlets.log.say('warn', { code: warning.code, ...warning.details }, warning.message);
  }

  clockRateFine(): void {
    this.#outlets.publish('tenure:cell:clock-rate', { error: null });
    this.#outlets.log.say('info', {}, 'the clock of this process runs like the others again');
  }

  /** A term that was asked for is short for the round trips there are. */
  shortTerm(warning: TenureError, termUs: number, rttUs: number): void {
    const [termMs, rttMs] = [termUs / 1000, rttUs / 1000];
    this.#outlets.publish('tenure:cell:short-term', { termMs, rttMs });
    this.#outlets.log.say('warn', { termMs, rttMs }, warning.message);
  }

  noting(message: string): void {
    this.#outlets.log.say('warn', {}, message);
  }

  /** It is over: the history says so. */
  failed(error: TenureError): void {
    this.#outlets.history?.append({ kind: 'crashed' });
    this.partFailed(error);
  }

  /** It votes no more, or a service beside leases is over, and it lives on: its leases are told of as before. */
  partFailed(error: TenureError): void {
    this.#outlets.publish('tenure:cell:failure', { error });
    this.#outlets.log.say('error', { code: error.code }, error.message);
  }

  counters(): CellCounters {
    const { state, held, waiting, clocks, nowUs, peers } = this.#look();
    const { origin, history } = this.#outlets;
    const { waitMs, holdMs, refusals, ...tally } = this.leases.tally;
    return {
      ...origin,
      state,
      ...tally,
      ...this.claims.tally,
      ...this.broadcasts.tally,
      publishMs: this.broadcasts.publishMs.snapshot(),
      lastPosition: this.broadcasts.lastPosition,
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
      historyRecords: history?.records ?? 0,
      historyDropped: history?.dropped ?? 0,
    };
  }

  /** The last of the history is written. */
  async close(): Promise<void> {
    await this.#outlets.history?.close();
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
