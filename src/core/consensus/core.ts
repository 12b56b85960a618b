/**
 * Consensus, instance after instance: [CT96], or FastCT where an outer core sees to the leases. The core knows which instances are open, hands each message to its instance,
 * and has what all of them share: the failure detector, the leader, the decisions, the disk. The rounds are in `rounds.ts`.
 */
import { NEVER, quorumOf, TenureError, type Incarnation, type MonoUs, type NodeId } from '../../kernel/index.ts';
import type { Boot, Completion, Core, Sender, Snapshot, Step } from '../contract.ts';
import { earliest } from '../nested.ts';
import { CatchingUp } from './catching-up.ts';
import { checkConsensusConfig, type ConsensusConfig } from './config.ts';
import { isCountable } from './countable.ts';
import { Decisions, type Decision } from './decisions.ts';
import { EarlyMessages } from './early-messages.ts';
import { Instance } from './instance.ts';
import { ConsensusLedger, type LedgerAnswer, type LedgerContents } from './ledger.ts';
import { LostMemory } from './lost-memory.ts';
import { OpenInstances } from './open-instances.ts';
import { ConsensusOutbox } from './outbox.ts';
import { NEVER_VOTES, Pulse, type Heartbeat } from './pulse.ts';
import type { ConsensusCommand, ConsensusEvent, ConsensusMessage, InstanceMessage, Standing } from './messages.ts';
import { ReliableBroadcast } from './reliable-broadcast.ts';
import { Rounds } from './rounds.ts';
import { ALL_CONSENSUS_RULES, type ConsensusRules } from './rules.ts';

export type ConsensusStep = Step<ConsensusMessage, ConsensusEvent>;

export class ConsensusCore implements Core<ConsensusMessage, ConsensusCommand, ConsensusEvent> {
  readonly #config: ConsensusConfig;
  readonly #self: number;
  readonly #life: Incarnation;
  readonly #rules: ConsensusRules;
  readonly #boot: Boot;
  readonly #pulse: Pulse;
  readonly #decisions: Decisions;
  readonly #broadcast: ReliableBroadcast<Decision, ConsensusStep>;
  readonly #rounds: Rounds<ConsensusStep>;
  readonly #ledger: ConsensusLedger<ConsensusStep>;
  readonly #memory: LostMemory;
  readonly #catchingUp: CatchingUp;
  readonly #instances = new OpenInstances();
  readonly #early: EarlyMessages;
  /** So far beyond the window messages are kept and decisions believed: without end where nothing is said twice. */
  readonly #reach: number;
  readonly #outbox: ConsensusOutbox;
  /** The outer log has all up to here on the disk. */
  #logged: number;
  #standing: Standing = 'voting';
  /** It takes no part up to here: an earlier life may have voted there. */
  #bound = 0;
  /** The highest instance it has taken part in. */
  #highest = 0;

  constructor(config: ConsensusConfig, boot: Boot, rules: ConsensusRules = ALL_CONSENSUS_RULES) {
    checkConsensusConfig(config);
    const { members, window, kept, detector } = config;
    this.#config = config;
    this.#self = boot.self;
    this.#life = boot.incarnation;
    this.#rules = rules;
    this.#boot = boot;
    this.#logged = config.outerLog?.logged ?? 0;
    this.#outbox = new ConsensusOutbox(members, boot.self);
    this.#pulse = new Pulse(members, boot, detector);
    this.#decisions = new Decisions(kept);
    this.#catchingUp = new CatchingUp({ config, pulse: this.#pulse, decisions: this.#decisions, outbox: this.#outbox });
    this.#memory = new LostMemory(quorumOf(members));
    this.#reach = config.retryUs === null ? Infinity : window;
    this.#early = new EarlyMessages(this.#reach * members * 4);
    this.#ledger = new ConsensusLedger(window + kept, (answer, step) => this.#stored(answer, step));
    this.#broadcast = new ReliableBroadcast<Decision, ConsensusStep>({
      members,
      self: boot.self,
      relays: rules.relays,
      send: (to, instance, { round }, step) => this.#outbox.send(to, { kind: 'decide', instance, round, value: null }, step),
      deliver: (instance, decision, step) => this.#learn(instance, decision, step),
    });
    this.#rounds = new Rounds<ConsensusStep>({
      config,
      self: boot.self,
      isRestarted: boot.restarted,
      rules,
      send: (to, message, step) => this.#outbox.send(to, message, step),
      store: (instance, answer, step) => this.#store(instance, answer, step),
      suspects: (member) => this.#pulse.suspects(member),
      decide: ({ number, round }, value, step) => this.#broadcast.broadcast(number, { round, value }, step),
      askLease: ({ number }, step) => step.emit({ kind: 'wantsLease', instance: number }),
    });
  }

  get standing(): Standing {
    return this.#standing;
  }

  /** So many members have lost their memory that nothing can be decided. */
  get isStopped(): boolean {
    return this.#pulse.isStopped;
  }

  /** All instances up to here are decided. */
  get decidedUpTo(): number {
    return this.#decisions.upTo;
  }

  /** The highest instance that it may propose in now. */
  get openUpTo(): number {
    return this.#decisions.upTo + this.#config.window;
  }

  /** The highest instance that it has taken part in. */
  get highestBegun(): number {
    return this.#highest;
  }

  /** It takes part in this instance, and does not know the decision. */
  isOpen(instance: number): boolean {
    return this.#instances.get(instance) !== undefined;
  }

  get leader(): number {
    return this.#pulse.leader;
  }

  get suspected(): readonly number[] {
    return this.#pulse.suspected;
  }

  /** Instances that are under way here. */
  get openInstances(): number {
    return this.#instances.size;
  }

  get wakeAt(): MonoUs {
    if (!this.#isUp) return NEVER;
    return earliest(this.#pulse.wakeAt, this.#catchingUp.retryAt);
  }

  /** A member that is not up says nothing at all, and is suspected. */
  get #isUp(): boolean {
    return this.#standing !== 'silent' && this.#standing !== 'failed';
  }

  /** It knows the instances it has voted in. */
  get #isTakingPart(): boolean {
    return this.#standing === 'voting' || this.#standing === 'abstaining';
  }

  start(step: ConsensusStep): void {
    const { keeps } = this.#config;
    const { restarted, diskKept } = this.#boot;
    if (keeps === 'crash-stop' && restarted) return this.#stand('silent', step);
    this.#pulse.start(step.monoUs);
    this.#catchingUp.plan(step.monoUs);
    this.#decisions.skipTo(this.#config.outerLog?.decided ?? 0);
    this.#broadcast.forgetUpTo(this.#decisions.upTo);
    if (!restarted) {
      if (keeps === 'disk') this.#ledger.writeMember(0, step);
      return this.#stand('voting', step);
    }
    if (keeps !== 'disk' || !diskKept) return this.#forgot(step);
    this.#standing = 'reading';
    this.#ledger.read(step);
  }

  /** Members trust each other; no other process is heard. */
  admits({ node, isAdmin }: Sender, message: ConsensusMessage): boolean {
    return ((node < this.#config.members && isAdmin) || !this.#rules.membersOnly) && isCountable(message);
  }

  receive(from: NodeId, message: ConsensusMessage, step: ConsensusStep): void {
    if (!this.#isUp) return;
    this.#receive(from, message, step);
    this.#hearOwn(step);
  }

  command(command: ConsensusCommand, step: ConsensusStep): void {
    switch (command.kind) {
      case 'propose':
        this.#propose(command.instance, command.value, step);
        break;
      case 'skip':
        this.#skip(command.upTo, step);
        break;
      case 'logged':
        this.#logged = Math.max(this.#logged, command.upTo);
        this.#openWindow(step);
        break;
      default: {
        const instance = this.#instances.get(command.instance);
        if (instance) this.#rounds.leased(instance, command.granted, step);
      }
    }
    this.#hearOwn(step);
  }

  wake(step: ConsensusStep): void {
    if (!this.#isUp) return;
    const { beats, suspected } = this.#pulse.run(step.monoUs);
    if (beats) this.#beat(step);
    if (suspected.length > 0) for (const instance of this.#instances.inOrder()) this.#rounds.suspected(instance, step);
    if (step.monoUs >= this.#catchingUp.retryAt) this.#retry(step);
    this.#hearOwn(step);
  }

  completed(completion: Completion, step: ConsensusStep): void {
    if (!this.#isUp) return;
    const contents = this.#ledger.completed(completion, step);
    if (this.#ledger.hasFailed) return this.#stand('failed', step);
    if (contents) this.#recover(contents, step);
    this.#hearOwn(step);
  }

  // ── Messages ───────────────────────────────────────────────────────────────────────────────────────

  #receive(from: number, message: ConsensusMessage, step: ConsensusStep): void {
    switch (message.kind) {
      case 'heartbeat':
        return this.#heartbeat(from, message, step);
      case 'ask':
        return this.#answerAsk(from, message.life, step);
      case 'told':
        return this.#recollect(from, message, step);
      case 'gone':
        return this.#skip(message.instance - 1, step);
      case 'decide':
        return this.#decided(from, message, step);
      default:
        return this.#ofInstance(from, message, step);
    }
  }

  #heartbeat(from: number, message: Heartbeat, step: ConsensusStep): void {
    if (this.#pulse.hear(from, message, step.monoUs)) this.#beat(step);
    this.#judge(step);
  }

  #judge(step: ConsensusStep): void {
    const without = this.#pulse.judge(this.#decisions.upTo);
    if (without) step.emit({ kind: 'stopped', without });
  }

  #beat(step: ConsensusStep): void {
    const votesFrom = this.#standing === 'asking' ? NEVER_VOTES : this.#bound + 1;
    this.#outbox.sendOthers(this.#pulse.heartbeat(this.#decisions.upTo, votesFrom), step);
    this.#judge(step);
  }

  #ofInstance(from: number, message: InstanceMessage, step: ConsensusStep): void {
    const { instance: number, kind } = message;
    if (this.#decisions.isDecided(number)) {
      if (from !== this.#self) for (const answer of this.#decisions.answersTo(message)) this.#outbox.send(from, answer, step);
      return;
    }
    const isBeyond = this.#isBeyond(number, 0);
    if (isBeyond && !this.#isBeyond(number, this.#reach)) return this.#early.keep(from, message);
    if (isBeyond || !this.#takesPartIn(number)) {
      // A member that waits for this one as its coordinator would wait in vain, or until it has caught up.
      const waits = kind === 'estimate' || kind === 'ack' || (kind === 'begin' && message.round % this.#config.members === this.#self);
      if (waits) this.#outbox.send(from, { kind: 'abort', instance: number, round: message.round }, step);
      return;
    }
    const instance = this.#instances.get(number) ?? this.#open(number, kind === 'newestimate' ? message.round : -1, step);
    this.#rounds.hear(instance, from, message, step);
  }

  // ── Instances ──────────────────────────────────────────────────────────────────────────────────────

  /** Beyond the window and so many more. Open instances go on wherever they are: an earlier life of a recovered member knew more decisions. */
  #isBeyond(number: number, reach: number): boolean {
    return number > this.openUpTo + reach && !this.#instances.get(number);
  }

  #propose(number: number, value: Uint8Array, step: ConsensusStep): void {
    if (this.#decisions.isDecided(number) || !this.#isUp) return;
    if (!Number.isSafeInteger(number) || number < 1 || number > this.openUpTo + this.#config.window)
      throw new TenureError('TENURE_LIMIT', `instance ${number} is beyond the window: ${this.openUpTo} is the last that is open`);
    const instance = this.#instances.get(number);
    if (instance) {
      if (instance.hasValue) return;
      instance.estimate = value;
      instance.hasValue = true;
      return this.#rounds.valueCame(instance, step);
    }
    this.#instances.propose(number, value);
    this.#openWindow(step);
  }

  /** Not where this member may have voted before, nor where its vote would overwrite the vote of an instance that is not in the log yet. */
  #takesPartIn(number: number): boolean {
    const { window, kept, outerLog, keeps } = this.#config;
    const hasPlace = !outerLog || keeps !== 'disk' || !this.#rules.votesStayUntilLogged || number <= this.#logged + window + kept;
    return this.#isTakingPart && number > this.#bound && hasPlace;
  }

  /** `proposedIn` is the round of a proposal that makes it take part, or -1. */
  #open(number: number, proposedIn: number, step: ConsensusStep): Instance {
    const value = this.#instances.takeProposal(number);
    const instance = new Instance(number, -1, this.#rules.tsBelowRounds ? -1 : 0, value);
    this.#instances.add(instance);
    this.#highest = Math.max(this.#highest, number);
    this.#rounds.begin(instance, this.#pulse.leader, proposedIn, step);
    return instance;
  }

  /** Opens proposed instances that are in the window now, and hears messages that came early. */
  #openWindow(step: ConsensusStep): void {
    const last = this.openUpTo;
    for (const number of this.#instances.proposedFor) {
      if (number <= last && this.#takesPartIn(number) && !this.#decisions.isDecided(number) && !this.#instances.get(number))
        this.#open(number, -1, step);
    }
    for (const { from, message } of this.#early.take(last)) this.#ofInstance(from, message, step);
  }

  // ── Decisions ──────────────────────────────────────────────────────────────────────────────────────

  #decided(from: number, { instance, round, value: told }: Extract<ConsensusMessage, { kind: 'decide' }>, step: ConsensusStep): void {
    if (!this.#isTakingPart || this.#isBeyond(instance, this.#reach) || this.#broadcast.hasDelivered(instance)) return;
    const value = told === null ? this.#instances.adoptedIn(instance, round) : told.slice();
    if (value === null) return this.#outbox.send(from, { kind: 'begin', instance, round: -1 }, step);
    this.#broadcast.receive(from, instance, { round, value }, step);
    this.#catchingUp.decisionCame(from, instance, step);
  }

  #learn(number: number, decision: Decision, step: ConsensusStep): void {
    const { round, value } = decision;
    const instance = this.#instances.close(number);
    const isFast = this.#rounds.isFast(round);
    this.#decisions.add(number, decision);
    this.#broadcast.forgetUpTo(this.#decisions.upTo);
    if (this.#config.keeps === 'disk' && !this.#config.outerLog) {
      const ts = instance?.ts ?? -1;
      this.#ledger.write({ instance: number, round: Math.max(round, instance?.round ?? -1), ts, isDecided: true, value }, null, step);
    }
    step.emit({ kind: 'decided', instance: number, value, round, isFast, afterFast: !isFast && (instance?.hasAckedFast ?? false) });
    this.#moved(step);
  }

  /** Instances up to here are decided, and their decisions are gone where they were asked for. */
  #skip(upTo: number, step: ConsensusStep): void {
    if (upTo <= this.#decisions.upTo || !this.#isTakingPart) return;
    this.#instances.closeUpTo(upTo);
    this.#decisions.skipTo(upTo);
    this.#broadcast.forgetUpTo(this.#decisions.upTo);
    step.emit({ kind: 'skipped', upTo });
    this.#moved(step);
  }

  /** More is decided than before. */
  #moved(step: ConsensusStep): void {
    if (this.#standing === 'abstaining' && this.#decisions.upTo >= this.#bound) this.#stand('voting', step);
    this.#openWindow(step);
  }

  // ── Disk and memory ────────────────────────────────────────────────────────────────────────────────

  #store(instance: Instance, answer: LedgerAnswer & { kind: 'estimate' | 'ack' }, step: ConsensusStep): void {
    const { number, round, ts, estimate } = instance;
    const waits = answer.kind === 'ack' ? this.#rules.storesBeforeAck : this.#rules.storesBeforeEstimate;
    const isKept = this.#config.keeps === 'disk';
    if (isKept) {
      const record = { instance: number, round, ts, isDecided: false, value: estimate };
      instance.estimate = this.#ledger.write(record, waits ? answer : null, step);
    }
    if (!isKept || !waits) this.#rounds.stored(instance, answer, step);
  }

  #stored(answer: LedgerAnswer, step: ConsensusStep): void {
    if (answer.kind === 'member') {
      if (this.#standing === 'asking') this.#remember(step);
      return;
    }
    const instance = this.#instances.get(answer.instance);
    if (instance) this.#rounds.stored(instance, answer, step);
  }

  /** The disk was read: instances that are not decided go on, in rounds above the stored rounds. */
  #recover({ bound, records }: LedgerContents, step: ConsensusStep): void {
    if (bound === null) return this.#forgot(step);
    this.#bound = bound;
    const { window, kept, outerLog } = this.#config;
    this.#highest = records.at(-1)?.instance ?? 0;
    // The instance that had the highest one's place is decided, and all up to a window before the highest; but a decision that missed the disk or the outer log may be lost: its voters decide it again.
    const upTo = outerLog?.decided ?? Math.max(0, this.#highest - window - kept);
    this.#decisions.skipTo(upTo);
    if (upTo > 0 && !outerLog) step.emit({ kind: 'skipped', upTo });
    for (const { instance, isDecided, round, value } of records) {
      if (!isDecided) continue;
      this.#decisions.recall(instance, { round, value });
      this.#broadcast.note(instance);
      if (instance > upTo) step.emit({ kind: 'decided', instance, value, round, isFast: this.#rounds.isFast(round), afterFast: false });
    }
    this.#broadcast.forgetUpTo(this.#decisions.upTo);
    this.#stand(this.#decisions.upTo >= bound ? 'voting' : 'abstaining', step);
    for (const { instance: number, round, ts, value } of records) {
      if (this.#decisions.isDecided(number) || !this.#takesPartIn(number)) continue;
      const instance = new Instance(number, round, ts, value);
      this.#instances.add(instance);
      this.#rounds.recover(instance, step);
    }
    this.#openWindow(step);
  }

  /** Nothing is known of earlier lives. */
  #forgot(step: ConsensusStep): void {
    this.#stand('asking', step);
    if (this.#rules.abstains) return this.#outbox.sendOthers({ kind: 'ask', life: this.#life }, step);
    this.#stand('voting', step);
  }

  #answerAsk(from: number, life: Incarnation, step: ConsensusStep): void {
    // A brand-new member may be gone before it is stored that it was there: then too few may be left that remember.
    if (this.#standing === 'reading' || this.#standing === 'asking' || !this.#ledger.isMemberStored) return;
    const bound = this.#rules.tellsOwnBound ? Math.max(this.#highest, this.#bound, this.#decisions.upTo) : this.#highest;
    this.#outbox.send(from, { kind: 'told', life, bound }, step);
  }

  #recollect(from: number, { life, bound }: Extract<ConsensusMessage, { kind: 'told' }>, step: ConsensusStep): void {
    if (this.#standing !== 'asking' || life !== this.#life || this.#bound > 0) return;
    this.#memory.hear(from, bound);
    const { highest } = this.#memory;
    if (highest === null) return;
    this.#bound = highest + this.#config.window;
    // The next life must know that it has forgotten as well.
    if (this.#config.keeps === 'disk') this.#ledger.writeMember(this.#bound, step);
    else this.#remember(step);
  }

  /** From here on it answers for instances it may have voted in: it knows the bound. */
  #remember(step: ConsensusStep): void {
    this.#stand('abstaining', step);
    this.#openWindow(step);
    this.#catchingUp.beginEmpty(this.#bound, step);
  }

  // ── Retransmission ────────────────────────────────────────────────────────────────────────────────

  #retry(step: ConsensusStep): void {
    this.#catchingUp.plan(step.monoUs);
    for (const instance of this.#instances.inOrder()) {
      if (instance.isStale) this.#rounds.repeat(instance, step);
      instance.isStale = true;
    }
    if (this.#standing === 'asking') this.#outbox.sendOthers({ kind: 'ask', life: this.#life }, step);
    if (this.#standing === 'abstaining') this.#catchingUp.beginEmpty(this.#bound, step);
    if (this.#isTakingPart) this.#catchingUp.ask(step);
    else this.#catchingUp.look();
  }

  /** What this member says to itself costs no message. */
  #hearOwn(step: ConsensusStep): void {
    for (let message = this.#outbox.nextOwn(); message; message = this.#outbox.nextOwn()) this.#ofInstance(this.#self, message, step);
  }

  #stand(standing: Standing, step: ConsensusStep): void {
    this.#standing = standing;
    step.emit({ kind: 'standing', standing, bound: this.#bound });
  }

  snapshot(): Snapshot {
    return {
      pulse: this.#pulse.snapshot(),
      decisions: this.#decisions.snapshot(),
      broadcast: this.#broadcast.snapshot(),
      ledger: this.#ledger.snapshot(),
      memory: this.#memory.snapshot(),
      instances: this.#instances.snapshot(),
      early: this.#early.snapshot(),
      standing: this.#standing,
      logged: this.#logged,
      bound: this.#bound,
      highest: this.#highest,
      catchingUp: this.#catchingUp.snapshot(),
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as CoreSnapshot;
    this.#pulse.restore(told.pulse);
    this.#decisions.restore(told.decisions);
    this.#broadcast.restore(told.broadcast);
    this.#ledger.restore(told.ledger);
    this.#memory.restore(told.memory);
    this.#early.restore(told.early);
    this.#instances.restore(told.instances);
    this.#standing = told.standing;
    this.#logged = told.logged;
    this.#bound = told.bound;
    this.#highest = told.highest;
    this.#catchingUp.restore(told.catchingUp);
  }
}

type CoreParts = 'pulse' | 'decisions' | 'broadcast' | 'ledger' | 'memory' | 'instances' | 'early';

type CoreSnapshot = { readonly [Part in CoreParts]: Snapshot } & {
  readonly standing: Standing;
  readonly logged: number;
  readonly bound: number;
  readonly highest: number;
  readonly catchingUp: Snapshot;
};
