/**
 * All that exists of a node once it is known which engine its cell has: the core on its driver, leases, calls to
 * members, and the watch over round trips and clocks.
 */
import { configsOf, longestTermUsOf, nameQuorumOf, rateErrorPpmOf, type LeaseEvent, type Timing, type View } from '../../core/index.ts';
import { hashText, nodeId, quorumOf, type TenureError } from '../../kernel/index.ts';
import { Pacer, type KeepAlive, type Link } from '../../runtime/index.ts';
import type { Engine, RunningEngine } from '../engines/engine.ts';
import type { Refused } from '../leases/requests.ts';
import { LeaseService } from '../leases/service.ts';
import type { Observer } from '../observing/observer.ts';
import { ClockRates } from './clock-rates.ts';
import { clockTrouble, type MemberReach } from './clock-skew.ts';
import { shortTerm, TRIPS_A_TERM } from './failures.ts';
import { MemberCalls } from './member-calls.ts';
import { SUCCESSION } from './options.ts';
import type { Peers } from './peers.ts';
import { explainRefusal, keptSilent } from './refusals.ts';
import type { NodeOptions } from './surroundings.ts';

const RAN_OUT = 'ran out: no quorum renewed it in time';
const CLOCK_OFF = "may be over: this process's clock runs otherwise than the members', or stood still";

export interface RunningGround extends NodeOptions {
  readonly engine: Engine;
  readonly replication: number;
  /** Where the core sends its messages. */
  readonly link: Link;
  readonly peers: Peers;
  readonly members: () => readonly MemberReach[];
  readonly alive: KeepAlive;
  readonly observer: Observer;
  readonly heard: (event: LeaseEvent) => void;
  readonly failed: (error: TenureError) => void;
  readonly warn: (warning: TenureError) => void;
  /** Rates of clocks were compared. */
  readonly looked: () => void;
}

export class Running {
  readonly engine: Engine;
  readonly driver: RunningEngine['driver'];
  readonly core: RunningEngine['core'];
  readonly leases: LeaseService;
  readonly calls: MemberCalls;
  readonly rates: ClockRates;
  /** Null where the engine knows one view only. */
  readonly views: RunningEngine['views'];
  readonly #ground: RunningGround;
  /** As the view has it that this node is in. */
  readonly #timing: { -readonly [Field in keyof Timing]: Timing[Field] };
  readonly #pacer: Pacer;
  readonly #skew = new Onset();
  readonly #shortTerm = new Onset();

  constructor(ground: RunningGround) {
    this.#ground = ground;
    const { replication, surroundings, observer, members, alive, transport, membership } = ground;
    const { clocks, firstNumber } = surroundings;
    this.#timing = { ...ground.engine.timing };
    const engine = { ...ground.engine, timing: this.#timing };
    this.engine = engine;
    const { driver, core, views } = ground.engine.run(engineGround(ground));
    this.driver = driver;
    this.core = core;
    this.views = views;
    if (views) this.#follow(views.view);
    this.rates = new ClockRates({
      timing: engine.timing,
      members,
      lifeOf: (member) => ground.peers.lifeOf(member),
      command: (command) => driver.command(command),
      onOff: (warning) => {
        observer.clockRate(warning);
        ground.warn(warning);
      },
      onFine: () => observer.clockRateFine(),
    });
    this.leases = new LeaseService({
      engine,
      driver,
      core,
      clocks,
      alive,
      observer: observer.leases,
      firstNumber,
      explain: (name, refused) => this.#explain(name, refused),
      loss: () => (this.rates.off ? CLOCK_OFF : RAN_OUT),
    });
    this.calls = new MemberCalls({ driver, transport, membership, timing: engine.timing, paceOf: (member) => this.rates.paceOf(member) });
    this.#pacer = new Pacer({
      clocks,
      quorum: () => (views ? Math.max(...configsOf(views.view).map(nameQuorumOf)) : quorumOf(replication)),
      roundTripsUs: () => members().map(({ self, stats }) => (self ? 0 : stats?.connected ? stats.rttUs : null)),
      onRoundTrip: (rttUs) => this.#pace(rttUs),
      onLook: () => {
        this.rates.look();
        ground.looked();
      },
    });
  }

  start(): void {
    for (const one of [this.driver, this.#pacer]) one.start();
  }

  stop(): void {
    this.driver.stop();
    this.#pacer.stop();
  }

  /** Everything held or waited for is over. */
  fail(error: TenureError): void {
    this.leases.fail(error);
    this.calls.fail(error);
  }

  hear(event: LeaseEvent): void {
    if (event.kind === 'view') this.#follow(event.view);
    if (!this.calls.answered(event)) this.leases.hear(event);
  }

  /** Terms may be as long as either side of the view has them; the core asks for terms that both have. */
  #follow(view: View): void {
    this.#timing.maxTermUs = longestTermUsOf(view);
    this.#timing.rateErrorPpm = rateErrorPpmOf(view);
  }

  silentForUs(): number {
    return this.core.silentForUs(this.#ground.surroundings.clocks.mono());
  }

  get isAsked(): boolean {
    return this.leases.isAsked || this.calls.isAsked;
  }

  /** A request that ran out of time though no process is known to hold the lease may have met members that keep silent: they are asked. */
  #explain(name: string, refused: Refused): TenureError | Promise<TenureError> {
    const { engine } = this;
    const { members } = this.#ground;
    const error = explainRefusal(name, refused, members(), this.rates.off);
    const isOpen = refused.reason === 'silent' || (refused.reason === 'timeout' && refused.holder === null);
    if (!isOpen || !engine.can.status || this.rates.off || this.driver.isStopped) return error;
    return this.#ground.alive.during(this.calls.status()).then(
      (standings) =>
        keptSilent(
          name,
          refused,
          standings.map(({ silentForMs }) => silentForMs),
        ) ?? error,
      () => error,
    );
  }

  /**
   * Round trips were measured: the core's patience follows. People are warned, once, of terms that are too short for
   * them, and of clocks that are too far apart (rule 13); the core counts no votes across such a gap.
   */
  #pace(rttUs: number): void {
    const { engine } = this;
    const { members, observer, warn } = this.#ground;
    if (this.driver.isStopped) return;
    this.driver.command({ kind: 'retime', rttUs });
    const trouble = clockTrouble(members(), engine);
    if (this.#skew.begins(trouble !== null) && trouble) warn(trouble);
    const termUs = this.leases.shortestTermUs;
    if (!this.#shortTerm.begins(termUs < TRIPS_A_TERM * rttUs)) return;
    const warning = shortTerm(termUs, rttUs);
    observer.shortTerm(warning, termUs, rttUs);
    warn(warning);
  }
}

/** Whether something has just begun to be so. */
class Onset {
  #isSo = false;

  begins(isSo: boolean): boolean {
    const wasSo = this.#isSo;
    this.#isSo = isSo;
    return isSo && !wasSo;
  }
}

function engineGround(ground: RunningGround): Parameters<Engine['run']>[0] {
  const { surroundings, memberIds, self, incarnation, replication, peers, observer, start } = ground;
  const { restarted, kept, succession = SUCCESSION } = surroundings;
  return {
    ...surroundings,
    memberKeys: memberIds.map(hashText),
    replication,
    start,
    boot: { self: nodeId(self), incarnation, restarted, diskKept: kept?.isKept ?? false },
    keeps: kept?.keeps ?? 'nothing',
    succession,
    link: ground.link,
    disk: kept?.disk,
    senderOf: (peer) => peers.senderOf(peer),
    onClockNotice: (kind, us) => observer.stalled(kind, us),
    onEvent: ground.heard,
    onFailure: ground.failed,
  };
}
