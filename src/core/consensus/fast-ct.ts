/**
 * FastCT: consensus whose instances begin with a FAST round, led by the holder of the instance's lease. It is made of two cores: consensus, which asks whether this member has
 * the lease of an instance, and interval leases over the same members, whose integers are the numbers of instances. Between them stands the lease-status cache.
 */
import { invariant, NEVER, type MonoUs, type NodeId } from '../../kernel/index.ts';
import type { Boot, Completion, Core, Sender, Snapshot, Step } from '../contract.ts';
import {
  IntervalLeaseCore,
  type IntervalCommand,
  type IntervalEvent,
  type IntervalMessage,
  type IntervalRules,
} from '../intervals/index.ts';
import { earliest, NestedCore, type LaneMessage } from '../nested.ts';
import type { ConsensusConfig } from './config.ts';
import { ConsensusCore } from './core.ts';
import { lambdaMax, type LambdaChoice } from './interval-size.ts';
import { LeaseStatus } from './lease-status.ts';
import type { ConsensusCommand, ConsensusEvent, ConsensusMessage, Standing } from './messages.ts';
import type { ConsensusRules } from './rules.ts';
import { VolatileDisk } from './volatile-disk.ts';

export interface FastCtConfig {
  readonly consensus: Omit<ConsensusConfig, 'mode'>;
  readonly lambda: LambdaChoice;
  /** Figure 4 to the letter: a lease is of λ+1 instances. */
  readonly isLiteralInterval: boolean;
  /** The next lease is asked for before this one ends. */
  readonly asksAhead: boolean;
  /** How long a round trip takes, the flush included. */
  readonly rttUs: number;
}

export const LEASE_LANE = 1;
export const CONSENSUS_LANE = 2;
const LANES = 3;
const SPACE = 'instances';

export type FastCtMessage = LaneMessage<typeof LEASE_LANE, IntervalMessage> | LaneMessage<typeof CONSENSUS_LANE, ConsensusMessage>;
export type FastCtCommand = Exclude<ConsensusCommand, { readonly kind: 'leased' }>;
export type FastCtEvent =
  | Exclude<ConsensusEvent, { readonly kind: 'wantsLease' }>
  /** This member leads FAST rounds from here to there, or cannot; λ from now on. */
  | { readonly kind: 'lease'; readonly isGranted: boolean; readonly from: number; readonly to: number; readonly lambda: number };

type FastCtStep = Step<FastCtMessage, FastCtEvent>;
type Inner<Lane extends number, Message, Command, Event> = NestedCore<Lane, Message, Command, Event, FastCtMessage, FastCtEvent>;

/** What a mutant lacks. */
export interface FastCtRules {
  readonly consensus: ConsensusRules;
  readonly intervals: IntervalRules;
  /** A member without its memory takes for leased whatever it may have acknowledged. */
  readonly lostIsLeased: boolean;
}

export class FastCtCore implements Core<FastCtMessage, FastCtCommand, FastCtEvent> {
  readonly #config: FastCtConfig;
  readonly #consensus: ConsensusCore;
  readonly #rules: FastCtRules | undefined;
  readonly #intervals: IntervalLeaseCore;
  readonly #leases: Inner<typeof LEASE_LANE, IntervalMessage, IntervalCommand, IntervalEvent>;
  readonly #rounds: Inner<typeof CONSENSUS_LANE, ConsensusMessage, ConsensusCommand, ConsensusEvent>;
  readonly #status: LeaseStatus<FastCtStep>;
  /** Null where there is a disk. */
  readonly #volatile: VolatileDisk<FastCtMessage, FastCtEvent> | null;
  #claims = 0;
  #asked: readonly [from: number, to: number] = [0, 0];
  /** Up to here an earlier life may have voted. */
  #bound = 0;

  constructor(config: FastCtConfig, boot: Boot, rules?: FastCtRules) {
    const { consensus, lambda, isLiteralInterval: isLiteral, asksAhead, rttUs } = config;
    const { members, keeps } = consensus;
    this.#config = config;
    this.#rules = rules;
    this.#consensus = new ConsensusCore({ ...consensus, mode: { kind: 'fast' } }, boot, rules?.consensus);
    this.#intervals = new IntervalLeaseCore({ members, rttUs, disks: 'told' }, boot, rules?.intervals);
    this.#volatile = keeps === 'disk' ? null : new VolatileDisk();
    this.#status = new LeaseStatus(
      { lambda, isLiteral, asksAhead },
      {
        claim: (from, to, step) => this.#claim(from, to, step),
        lead: (instance, granted, step) => this.#rounds.command({ kind: 'leased', instance, granted }, step),
      },
    );
    this.#leases = new NestedCore(this.#intervals, {
      lane: LEASE_LANE,
      lanes: LANES,
      prefix: 'leases/',
      heard: (event, step) => this.#heardOfLeases(event, step),
    });
    this.#rounds = new NestedCore(this.#consensus, {
      lane: CONSENSUS_LANE,
      lanes: LANES,
      prefix: '',
      heard: (event, step) => this.#heardOfConsensus(event, step),
    });
  }

  /** A member that can give no leases, or not keep them, is down altogether: as a leader that waits for its own lease it would hold up all others. */
  get standing(): Standing {
    return this.#intervals.diskPhase === 'failed' ? 'failed' : this.#consensus.standing;
  }

  get decidedUpTo(): number {
    return this.#consensus.decidedUpTo;
  }

  get openUpTo(): number {
    return this.#consensus.openUpTo;
  }

  get highestBegun(): number {
    return this.#consensus.highestBegun;
  }

  isOpen(instance: number): boolean {
    return this.#consensus.isOpen(instance);
  }

  get suspected(): readonly number[] {
    return this.#consensus.suspected;
  }

  get isStopped(): boolean {
    return this.#consensus.isStopped;
  }

  get leader(): number {
    return this.#consensus.leader;
  }

  get wakeAt(): MonoUs {
    return this.#isUp ? earliest(this.#leases.wakeAt, this.#rounds.wakeAt) : NEVER;
  }

  start(step: FastCtStep): void {
    this.#rounds.start(step);
    this.#withLeases(step, (before) => this.#leases.start(before));
  }

  admits(sender: Sender, message: FastCtMessage): boolean {
    const { members } = this.#config.consensus;
    if (message.lane === CONSENSUS_LANE) return this.#rounds.admits(sender, message.message);
    // Members only: a client's claim would take instances from the members that decide them.
    return sender.node < members && sender.isAdmin && this.#leases.admits(sender, message.message);
  }

  receive(from: NodeId, message: FastCtMessage, step: FastCtStep): void {
    if (!this.#isUp) return;
    if (message.lane === CONSENSUS_LANE) return this.#rounds.receive(from, message.message, step);
    this.#withLeases(step, (before) => this.#leases.receive(from, message.message, before));
  }

  command(command: FastCtCommand, step: FastCtStep): void {
    if (this.#isUp) this.#rounds.command(command, step);
  }

  wake(step: FastCtStep): void {
    if (this.#isUp) this.#rounds.wake(step);
    if (this.#isUp) this.#withLeases(step, (before) => this.#leases.wake(before));
  }

  completed(completion: Completion, step: FastCtStep): void {
    if (!this.#isUp || this.#rounds.completed(completion, step)) return;
    const isOfLeases = this.#leases.completed(completion, step);
    invariant(isOfLeases, 'an access was answered that neither core has asked for');
  }

  get #isUp(): boolean {
    return this.standing !== 'silent' && this.standing !== 'failed';
  }

  /** A step of the leases; where nothing is kept, their disk answers within it. */
  #withLeases(step: FastCtStep, act: (before: FastCtStep) => void): void {
    const disk = this.#volatile;
    if (disk === null) return act(step);
    act(disk.before(step));
    for (let answer = disk.nextAnswer(); answer; answer = disk.nextAnswer()) this.#leases.completed(answer, disk.before(step));
  }

  // ── Between the two ────────────────────────────────────────────────────────────────────────────────

  #heardOfConsensus(event: ConsensusEvent, step: FastCtStep): void {
    switch (event.kind) {
      case 'wantsLease':
        return this.#status.wants(event.instance, step);
      case 'standing':
        this.#bound = event.bound;
        step.emit(event);
        return this.#mayBegin(step);
      case 'decided':
      case 'skipped':
        this.#status.forgetUpTo(this.#consensus.decidedUpTo);
        return step.emit(event);
      default:
        return step.emit(event);
    }
  }

  #heardOfLeases(event: IntervalEvent, step: FastCtStep): void {
    if (event.kind === 'disk') return this.#heardOfDisk(step);
    if (event.kind !== 'granted' && event.kind !== 'refused') return;
    const [from, to] = this.#asked;
    const isGranted = event.kind === 'granted';
    if (isGranted) this.#status.granted(from, to, step);
    else this.#status.refused(event.overlap, step);
    step.emit({ kind: 'lease', isGranted, from, to, lambda: this.#status.lambda });
  }

  #heardOfDisk(step: FastCtStep): void {
    if (this.standing === 'failed') step.emit({ kind: 'standing', standing: 'failed', bound: this.#bound });
    else this.#mayBegin(step);
  }

  #claim(from: number, to: number, step: FastCtStep): void {
    this.#asked = [from, to];
    const claim = ++this.#claims;
    this.#withLeases(step, (before) => this.#leases.command({ kind: 'claim', claim, space: SPACE, from, to }, before));
  }

  /** A blank memory of leases may be used once it is known what an earlier life may have given: nothing, or all up to a bound. */
  #mayBegin(step: FastCtStep): void {
    const knows = this.standing === 'voting' || this.standing === 'abstaining';
    if (!knows || this.#intervals.diskPhase !== 'blank') return;
    const { lambda } = this.#config;
    const isTaken = this.#bound > 0 && (this.#rules?.lostIsLeased ?? true);
    const taken = isTaken ? [{ space: SPACE, from: 0, to: this.#bound + 2 * lambdaMax(lambda) }] : [];
    this.#withLeases(step, (before) => this.#leases.command({ kind: 'begin', taken }, before));
  }

  snapshot(): Snapshot {
    return {
      consensus: this.#rounds.snapshot(),
      leases: this.#leases.snapshot(),
      status: this.#status.snapshot(),
      claims: this.#claims,
      asked: [...this.#asked],
      bound: this.#bound,
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as FastCtSnapshot;
    this.#rounds.restore(told.consensus);
    this.#leases.restore(told.leases);
    this.#status.restore(told.status);
    this.#claims = told.claims;
    this.#asked = told.asked;
    this.#bound = told.bound;
  }
}

interface FastCtSnapshot {
  readonly consensus: Snapshot;
  readonly leases: Snapshot;
  readonly status: Snapshot;
  readonly claims: number;
  readonly asked: readonly [number, number];
  readonly bound: number;
}
