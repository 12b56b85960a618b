/** The consensus of one epoch, inside a member of a broadcast: FastCT or [CT96], in a lane and under keys of its own. */
import { invariant, type MonoUs, type NodeId } from '../../kernel/index.ts';
import {
  ConsensusCore,
  FastCtCore,
  type ConsensusCommand,
  type ConsensusConfig,
  type ConsensusEvent,
  type ConsensusMessage,
  type ConsensusRules,
  type FastCtCommand,
  type FastCtEvent,
  type FastCtMessage,
  type FastCtRules,
  type Standing,
} from '../consensus/index.ts';
import type { Boot, Completion, Sender, Snapshot, Step } from '../contract.ts';
import { NestedCore } from '../nested.ts';
import type { BroadcastConfig } from './config.ts';
import type { BroadcastEvent } from './contract.ts';
import { epochName } from './epoch-acts.ts';
import { BROADCAST_CONSENSUS_LANE, BROADCAST_FAST_LANE, type BroadcastMessage } from './messages.ts';

export const BROADCAST_LANES = 3;

export type BroadcastStep = Step<BroadcastMessage, BroadcastEvent>;
type FastNested = NestedCore<typeof BROADCAST_FAST_LANE, FastCtMessage, FastCtCommand, FastCtEvent, BroadcastMessage, BroadcastEvent>;
type PlainNested = NestedCore<
  typeof BROADCAST_CONSENSUS_LANE,
  ConsensusMessage,
  ConsensusCommand,
  ConsensusEvent,
  BroadcastMessage,
  BroadcastEvent
>;

/** What a mutant lacks of the consensus inside. */
export interface InnerRules {
  readonly consensus: ConsensusRules;
  readonly fast: FastCtRules;
}

export interface EpochConsensusOptions {
  readonly config: BroadcastConfig;
  readonly epoch: number;
  /** When it begins, all up to `decided` are decided, and all up to `logged` are in the log on the disk. */
  readonly decided: number;
  readonly logged: number;
  readonly boot: Boot;
  readonly rules: InnerRules | undefined;
  readonly heard: (event: ConsensusEvent | FastCtEvent, step: BroadcastStep) => void;
}

export class EpochConsensus {
  readonly epoch: number;
  readonly #core: ConsensusCore | FastCtCore;
  readonly #fast: FastNested | null;
  readonly #plain: PlainNested | null;

  constructor({ config, epoch, decided, logged, boot, rules, heard }: EpochConsensusOptions) {
    const { members, keeps, window, kept, detector, retryUs, lambda, rttUs } = config;
    const consensus: Omit<ConsensusConfig, 'mode'> = { members, keeps, window, kept, detector, retryUs, outerLog: { decided, logged } };
    const nesting = { lanes: BROADCAST_LANES, prefix: `${epochName(epoch)}/`, stamp: { epoch }, heard };
    this.epoch = epoch;
    if (config.consensus === 'fast-ct') {
      const core = new FastCtCore({ consensus, lambda, isLiteralInterval: false, asksAhead: true, rttUs }, boot, rules?.fast);
      this.#core = core;
      this.#fast = new NestedCore(core, { ...nesting, lane: BROADCAST_FAST_LANE });
      this.#plain = null;
    } else {
      const core = new ConsensusCore({ ...consensus, mode: { kind: 'chandra-toueg', shortcut: true } }, boot, rules?.consensus);
      this.#core = core;
      this.#fast = null;
      this.#plain = new NestedCore(core, { ...nesting, lane: BROADCAST_CONSENSUS_LANE });
    }
  }

  get standing(): Standing {
    return this.#core.standing;
  }

  get decidedUpTo(): number {
    return this.#core.decidedUpTo;
  }

  get openUpTo(): number {
    return this.#core.openUpTo;
  }

  get highestBegun(): number {
    return this.#core.highestBegun;
  }

  get leader(): number {
    return this.#core.leader;
  }

  get suspected(): readonly number[] {
    return this.#core.suspected;
  }

  get isStopped(): boolean {
    return this.#core.isStopped;
  }

  isOpen(instance: number): boolean {
    return this.#core.isOpen(instance);
  }

  get wakeAt(): MonoUs {
    return this.#nested.wakeAt;
  }

  get underWay(): number {
    return this.#nested.underWay;
  }

  start(step: BroadcastStep): void {
    this.#nested.start(step);
  }

  admits(sender: Sender, message: BroadcastMessage): boolean {
    if (message.lane === BROADCAST_FAST_LANE) return this.#fast?.admits(sender, message.message) ?? false;
    return message.lane === BROADCAST_CONSENSUS_LANE && (this.#plain?.admits(sender, message.message) ?? false);
  }

  receive(from: NodeId, message: BroadcastMessage, step: BroadcastStep): void {
    if (message.lane === BROADCAST_FAST_LANE) this.#fast?.receive(from, message.message, step);
    else if (message.lane === BROADCAST_CONSENSUS_LANE) this.#plain?.receive(from, message.message, step);
  }

  command(command: Exclude<ConsensusCommand, { readonly kind: 'leased' }>, step: BroadcastStep): void {
    this.#nested.command(command, step);
  }

  wake(step: BroadcastStep): void {
    this.#nested.wake(step);
  }

  completed(completion: Completion, step: BroadcastStep): boolean {
    return this.#nested.completed(completion, step);
  }

  discard(completion: Completion): boolean {
    return this.#nested.discard(completion);
  }

  snapshot(): Snapshot {
    return this.#nested.snapshot();
  }

  restore(snapshot: Snapshot): void {
    this.#nested.restore(snapshot);
  }

  get #nested(): FastNested | PlainNested {
    const nested = this.#fast ?? this.#plain;
    invariant(nested !== null, 'an epoch has one consensus');
    return nested;
  }
}
