/**
 * Interval leases: ranges of integers that are given once and for ever, with no clock (I1–I3, I11). Nodes below the number of members accept and may claim; all others
 * claim. What members keep is on their own disks before they say so; a member whose disk was lost joins anew (rule 26).
 */
import { NEVER, nodeId, TenureError, type Incarnation, type MonoUs, type NodeId } from '../../kernel/index.ts';
import type { Boot, Completion, Core, Sender, Snapshot } from '../contract.ts';
import { earliest } from '../nested.ts';
import { IntervalAcceptor } from './acceptor.ts';
import { IntervalClaimant } from './claimant.ts';
import type { IntervalLeaseConfig, IntervalStep } from './config.ts';
import { checkInterval, checkSpace, type IntervalCommand, type IntervalEvent } from './contract.ts';
import { DiskLife } from './disk-life.ts';
import { Foundation } from './foundation.ts';
import type { WaitingAnswer } from './ledger.ts';
import type { DiskPhase, IntervalMessage } from './messages.ts';
import { ALL_INTERVAL_RULES, type IntervalRules } from './rules.ts';

export class IntervalLeaseCore implements Core<IntervalMessage, IntervalCommand, IntervalEvent> {
  readonly #config: IntervalLeaseConfig;
  readonly #claimant: IntervalClaimant<IntervalStep>;
  /** Of a member. */
  readonly #acceptor: IntervalAcceptor<IntervalStep> | null;
  readonly #disk: DiskLife | null;
  /** Of a client: a bootstrap that it asks for. */
  readonly #foundation: Foundation | null;
  #rttUs: number;

  constructor(config: IntervalLeaseConfig, { self, incarnation }: Boot, rules: IntervalRules = ALL_INTERVAL_RULES) {
    const { members, rttUs, limits, placesMin, piecesPerPage } = config;
    const isLiteral = config.variant === 'literal';
    this.#config = config;
    this.#rttUs = rttUs;
    this.#claimant = new IntervalClaimant({ incarnation, members, rttUs, isLiteral }, rules, {
      ask: (member, request, step) => step.send(member, request),
      emit: (event, step) => step.emit(event),
    });
    const isMember = self < members;
    this.#acceptor = isMember
      ? new IntervalAcceptor({ members, isLiteral, limits, placesMin }, rules, (answer, step) => this.#leave(answer, step))
      : null;
    const { lostIsNotBlank, copiedIsTaken } = rules;
    const isTold = config.disks === 'told';
    const options = { self, members, rttUs, incarnation, piecesPerPage, lostIsNotBlank, copiedIsTaken, isTold };
    this.#disk = this.#acceptor && new DiskLife(options, this.#acceptor);
    this.#foundation = isMember ? null : new Foundation(members, incarnation);
  }

  /** How far this member's disk is; null for a client. */
  get diskPhase(): DiskPhase | null {
    return this.#disk?.phase ?? null;
  }

  /** Of a member: its disk is in use, and all others have noted it if it took the place of a lost one. */
  get isDiskKnown(): boolean {
    return this.#disk?.isKnown ?? false;
  }

  /** Open claims, and intervals that are taken. */
  get entries(): number {
    return this.#acceptor?.entries ?? 0;
  }

  get open(): number {
    return this.#acceptor?.open ?? 0;
  }

  /** The generation of this member's disk. */
  get generation(): number {
    return this.#disk?.generation ?? 0;
  }

  /** Claims of this process that are not cleared yet. */
  get underWay(): number {
    return this.#claimant.underWay;
  }

  get wakeAt(): MonoUs {
    return earliest(this.#claimant.wakeAt, (this.#disk ?? this.#foundation)?.wakeAt ?? NEVER);
  }

  start(step: IntervalStep): void {
    this.#acceptor?.load(step);
  }

  // ── Commands ───────────────────────────────────────────────────────────────────────────────────────

  command(command: IntervalCommand, step: IntervalStep): void {
    switch (command.kind) {
      case 'claim':
        return this.#claimant.claim(command.claim, command.space, command.from, command.to, step);
      case 'next':
        return this.#claimant.next(command.claim, command.space, command.size, step);
      case 'call-off':
        return this.#claimant.callOff(command.claim, step);
      case 'bootstrap':
        if (this.#disk) this.#disk.bootstrap(command.waitUs, step);
        else this.#foundation?.begin(command.waitUs, this.#rttUs, step);
        return;
      case 'reached':
        this.#disk?.reached(command.member, step);
        return this.#claimant.reached(command.member, step);
      case 'look':
        for (let member = 0; member < this.#config.members; member++) step.send(nodeId(member), { kind: 'look' });
        return;
      case 'begin':
        return this.#begin(command, step);
      case 'retime':
        this.#rttUs = command.rttUs;
        this.#claimant.retime(command.rttUs);
        return this.#disk?.retime(command.rttUs);
    }
  }

  #begin(command: Extract<IntervalCommand, { kind: 'begin' }>, step: IntervalStep): void {
    const disk = this.#diskOf(command);
    for (const { space, from, to } of command.taken) {
      checkSpace(space);
      checkInterval(from, to);
    }
    if (this.#config.disks !== 'told') throw new TenureError('TENURE_UNSUPPORTED', 'a disk of this cell begins by bootstrap');
    if (disk.phase !== 'blank') return;
    for (const piece of command.taken) this.#acceptor?.adopt({ ...piece, incarnation: 0 as Incarnation, counter: 0 }, true, step);
    disk.permitUse(step);
  }

  #diskOf({ kind }: IntervalCommand): DiskLife {
    if (this.#disk) return this.#disk;
    throw new TenureError('TENURE_UNSUPPORTED', `only a member can do that: ${kind}`);
  }

  // ── Messages ───────────────────────────────────────────────────────────────────────────────────────

  /** Claimants speak for themselves, and any process may look; a bootstrap needs the members' secret. Of disks, and as acceptors, only members speak. */
  admits({ node, incarnation, isAdmin }: Sender, message: IntervalMessage): boolean {
    const isMember = node < this.#config.members;
    switch (message.kind) {
      case 'lease':
      case 'withdraw':
        return message.incarnation === incarnation;
      case 'look':
        return true;
      case 'found':
      case 'begin':
        return isMember || isAdmin;
      default:
        return isMember;
    }
  }

  receive(from: NodeId, message: IntervalMessage, step: IntervalStep): void {
    switch (message.kind) {
      case 'lease':
        if (this.#disk?.isReady) this.#acceptor?.lease(from, message, step);
        return;
      case 'withdraw':
        if (this.#disk?.isReady) this.#acceptor?.withdraw(from, message, step);
        return;
      case 'ack':
      case 'nack':
      case 'withdrawn':
        return this.#claimant.answered(from, message, step);
      case 'standing':
        return step.emit({ ...message, member: from });
      case 'founded':
      case 'begun':
        if (this.#foundation) return this.#foundation.heard(from, message, this.#rttUs, step);
        return this.#disk?.receive(from, message, step);
      default:
        return this.#disk?.receive(from, message, step);
    }
  }

  /** The records behind an answer are stored: it leaves with the disk generations known now. */
  #leave({ to, message }: WaitingAnswer, step: IntervalStep): void {
    const generations = this.#disk?.generations ?? [];
    switch (message.kind) {
      case 'founded':
      case 'begun':
        return step.send(to, message);
      default:
        return step.send(to, { ...message, generations });
    }
  }

  // ── The disk, and time ─────────────────────────────────────────────────────────────────────────────

  completed(completion: Completion, step: IntervalStep): void {
    const disk = this.#disk;
    if (!disk || disk.phase === 'failed') return;
    const news = this.#acceptor?.completed(completion, step);
    if (news === 'failed') disk.failed(step);
    else if (news === 'loaded') disk.loaded(step);
    else if (news === 'written') disk.written(step);
    disk.wrote(step);
  }

  wake(step: IntervalStep): void {
    this.#claimant.wake(step);
    this.#disk?.wake(step);
    this.#foundation?.wake(this.#rttUs, step);
  }

  // ── Snapshots ──────────────────────────────────────────────────────────────────────────────────────

  snapshot(): Snapshot {
    return {
      claimant: this.#claimant.snapshot(),
      acceptor: this.#acceptor?.snapshot() ?? null,
      disk: this.#disk?.snapshot() ?? null,
      foundation: this.#foundation?.snapshot() ?? null,
      rttUs: this.#rttUs,
    };
  }

  restore(snapshot: Snapshot): void {
    const { claimant, acceptor, disk, foundation, rttUs } = snapshot as unknown as CoreSnapshot;
    this.#rttUs = rttUs;
    this.#claimant.restore(claimant);
    if (acceptor !== null) this.#acceptor?.restore(acceptor);
    if (disk !== null) this.#disk?.restore(disk);
    if (foundation !== null) this.#foundation?.restore(foundation);
  }
}

interface CoreSnapshot {
  readonly claimant: Snapshot;
  readonly acceptor: Snapshot;
  readonly disk: Snapshot;
  readonly foundation: Snapshot;
  readonly rttUs: number;
}
