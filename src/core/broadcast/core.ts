/**
 * Atomic broadcast, on a member: consensus decides batch after batch, and every member appends them to its log in the order of their instances. The core has the parts together: the epoch and its consensus, the
 * log and its disk, publishing, readers. A batch travels in the proposal itself, so a member that acknowledges it has every message of it.
 */
import { invariant, monoAfter, NEVER, nodeId, type MonoUs, type NodeId } from '../../kernel/index.ts';
import type { ConsensusEvent, FastCtEvent } from '../consensus/index.ts';
import { NEVER_VOTES } from '../consensus/pulse.ts';
import type { Boot, Completion, Core, Sender, Snapshot } from '../contract.ts';
import { earliest } from '../nested.ts';
import { mayTell } from './admission.ts';
import { BROADCAST_LIMITS, checkBroadcastConfig, type BroadcastConfig } from './config.ts';
import type { BroadcastCommand, BroadcastEvent, BroadcastStanding } from './contract.ts';
import { Copying } from './copying.ts';
import { DecidedBatches } from './decided-batches.ts';
import { EpochActs, type Remembered } from './epoch-acts.ts';
import { BROADCAST_LANES, type BroadcastStep, type EpochConsensus, type InnerRules } from './epoch-consensus.ts';
import { EpochLife } from './epoch-life.ts';
import { LogLedger, type LogAnswer, type LogContents } from './log-ledger.ts';
import { MessageLog } from './log.ts';
import { BROADCAST_OWN_LANE, type BroadcastMessage, type BroadcastOwnMessage } from './messages.ts';
import { OwnDisk } from './own-disk.ts';
import { Publishing } from './publishing.ts';
import { ALL_BROADCAST_RULES, type BroadcastRules } from './rules.ts';
import { Serving } from './serving.ts';

export class BroadcastCore implements Core<BroadcastMessage, BroadcastCommand, BroadcastEvent> {
  readonly #config: BroadcastConfig;
  readonly #boot: Boot;
  readonly #rules: BroadcastRules;
  readonly #log: MessageLog;
  /** Null where nothing is kept. */
  readonly #ledger: LogLedger<OwnDisk> | null;
  readonly #disk = new OwnDisk();
  readonly #publishing: Publishing;
  readonly #serving: Serving;
  readonly #acts: EpochActs<BroadcastStep>;
  readonly #life: EpochLife;
  readonly #copying: Copying;
  /** Decisions after the log's end. */
  readonly #decided = new DecidedBatches();
  readonly #envelope: { readonly lane: typeof BROADCAST_OWN_LANE; message: BroadcastOwnMessage };
  /** Null before it begins. */
  #standing: BroadcastStanding | null = null;
  #isReading = false;
  #isFailed = false;
  /** Up to there its consensus abstains. */
  #bound = 0;
  /** What the caller was told of the log. */
  #toldFirst = 1;
  #toldLast = 0;
  #toldLogged = 0;
  #retryAt: MonoUs = NEVER;
  /** Where the log ended when it was last looked whether anything moves. */
  #instanceThen = -1;
  /** Clients that wait for the end of an act. */
  #renewers: NodeId[] = [];

  constructor(config: BroadcastConfig, boot: Boot, rules: BroadcastRules = ALL_BROADCAST_RULES, innerRules?: InnerRules) {
    checkBroadcastConfig(config);
    const { members, keeps, window, kept, limits = BROADCAST_LIMITS, retryUs } = config;
    this.#config = config;
    this.#boot = boot;
    this.#rules = rules;
    this.#envelope = { lane: BROADCAST_OWN_LANE, message: { kind: 'look' } };
    this.#log = new MessageLog(limits, rules);
    this.#ledger =
      keeps === 'disk' ? new LogLedger<OwnDisk>(limits.retainInstances, window + kept, (answer, disk) => this.#stored(answer, disk)) : null;
    const send = (to: number, message: BroadcastOwnMessage, step: BroadcastStep): void => this.#send(nodeId(to), message, step);
    this.#publishing = new Publishing({
      config,
      self: boot.self,
      life: boot.incarnation,
      log: this.#log,
      epoch: () => this.epoch,
      deciding: () => this.#deciding,
      send,
      proposed: (instance, batch) => {
        if (!rules.deliversDecided) this.#decided.add(instance, batch, this.#log.instance);
      },
    });
    this.#serving = new Serving({ config, limits, self: boot.self, log: this.#log, member: this, send });
    this.#acts = new EpochActs<BroadcastStep>({
      members,
      self: boot.self,
      life: boot.incarnation,
      retryUs,
      beginsOnce: rules.beginsOnce,
      send,
      remembered: () => this.#remembered,
      begin: (beginning, act, step) => this.#life.begin(beginning, act, step),
      renewed: (answer, step) => {
        step.emit(answer);
        for (const node of this.#renewers) this.#send(node, answer, step);
        this.#renewers = [];
      },
    });
    this.#life = new EpochLife({
      config,
      boot,
      rules: innerRules,
      log: this.#log,
      ledger: this.#ledger,
      disk: this.#disk,
      heard: (event, step) => this.#heard(event, step),
      ended: () => {
        this.#decided.clear();
        this.#publishing.withdraw();
        this.#bound = 0;
      },
      begun: (epoch, position, act, step) => {
        step.emit({ kind: 'epoch', epoch, position });
        this.#acts.hasBegun(epoch, act, step);
      },
    });
    this.#copying = new Copying({
      members,
      self: boot.self,
      log: this.#log,
      suspected: () => this.suspected,
      send,
      forget: (instance, position) => this.#forgetLog(instance, position),
      adopt: (piece, step) => {
        this.#log.adopt(piece);
        this.#decided.take(piece.instance);
        this.#ledger?.write(piece, this.#log.firstInstance - 1, this.#disk.of(step));
      },
    });
  }

  // ── What a caller may look at ──────────────────────────────────────────────────────────────────────

  get standing(): BroadcastStanding {
    return this.#standing ?? 'reading';
  }

  /** How many bytes may be published now. */
  get room(): number {
    return this.#publishing.room;
  }

  /** The position of the last message of the log. */
  get position(): number {
    return this.#log.position;
  }

  /** The first position that is kept. */
  get firstPosition(): number {
    return this.#log.firstPosition;
  }

  /** The member that this one takes for the leader; -1 if it is in no epoch. */
  get leader(): number {
    return this.#life.consensus?.leader ?? -1;
  }

  /** So many members have lost their memory that nothing can be decided. */
  get isStopped(): boolean {
    return this.#life.consensus?.isStopped ?? false;
  }

  /** 0 is none. */
  get epoch(): number {
    return this.#life.epoch;
  }

  get suspected(): readonly number[] {
    return this.#life.consensus?.suspected ?? [];
  }

  // ── Steps ──────────────────────────────────────────────────────────────────────────────────────────

  get wakeAt(): MonoUs {
    if (!this.#isUp) return NEVER;
    const inner = this.#life.consensus && !this.#acts.isFrozen ? this.#life.consensus.wakeAt : NEVER;
    return earliest(earliest(inner, this.#retryAt), earliest(this.#acts.wakeAt, this.#serving.wakeAt));
  }

  get #isUp(): boolean {
    return this.#standing !== 'silent' && this.#standing !== 'failed';
  }

  start(step: BroadcastStep): void {
    const { keeps } = this.#config;
    const { restarted, diskKept } = this.#boot;
    if (keeps === 'crash-stop' && restarted) return this.#stand('silent', step);
    this.#retryAt = monoAfter(step.monoUs, this.#config.retryUs);
    if (!restarted) {
      this.#life.found(step);
    } else if (this.#ledger && diskKept) {
      this.#isReading = true;
      this.#ledger.read(this.#disk.of(step));
    } else {
      this.#greet(step);
    }
    this.#followUp(step);
  }

  admits(sender: Sender, message: BroadcastMessage): boolean {
    const isMember = sender.node < this.#config.members && sender.isAdmin;
    if (message.lane === BROADCAST_OWN_LANE) return mayTell(sender, isMember, message.message, this.#rules.clientsAreThemselves);
    return isMember && (this.#life.consensus?.admits(sender, message) ?? true);
  }

  receive(from: NodeId, message: BroadcastMessage, step: BroadcastStep): void {
    if (!this.#isUp) return;
    if (message.lane === BROADCAST_OWN_LANE) this.#receive(from, message.message, step);
    else if (this.#isOfEpoch(from, message.epoch, step)) this.#life.consensus?.receive(from, message, step);
    this.#followUp(step);
  }

  command(command: BroadcastCommand, step: BroadcastStep): void {
    switch (command.kind) {
      case 'publish':
        this.#publishing.publish(command.messages, step);
        break;
      case 'reached':
        this.#reached(command.member, step);
        break;
      case 'renew':
        this.#acts.renew(command.waitUs, step);
        break;
      default:
        this.#serving.command(command, step);
    }
    this.#followUp(step);
  }

  wake(step: BroadcastStep): void {
    if (!this.#isUp) return;
    this.#acts.wake(step);
    this.#serving.wake(step);
    if (!this.#acts.isFrozen) this.#life.consensus?.wake(step);
    if (step.monoUs >= this.#retryAt) this.#retry(step);
    this.#followUp(step);
  }

  completed(completion: Completion, step: BroadcastStep): void {
    if (!this.#isUp) return;
    if (completion.op % BROADCAST_LANES === 0) this.#ownCompleted(completion, step);
    else this.#life.completed(completion, step);
    this.#followUp(step);
  }

  #ownCompleted(completion: Completion, step: BroadcastStep): void {
    const ledger = this.#ledger;
    invariant(ledger !== null, 'a member without a disk has asked it nothing');
    const contents = ledger.completed({ ...completion, op: completion.op / BROADCAST_LANES }, this.#disk.of(step));
    if (ledger.hasFailed) this.#isFailed = true;
    if (contents) this.#recover(contents, step);
  }

  // ── Messages ───────────────────────────────────────────────────────────────────────────────────────

  #send(to: NodeId, message: BroadcastOwnMessage, step: BroadcastStep): void {
    this.#envelope.message = message;
    step.send(to, this.#envelope);
  }

  #receive(from: NodeId, message: BroadcastOwnMessage, step: BroadcastStep): void {
    switch (message.kind) {
      case 'publish':
        return this.#publishing.receive(from, message.group, step);
      case 'look':
      case 'survey':
      case 'surveyed':
      case 'read':
      case 'forget':
      case 'fetch':
      case 'part':
        return this.#serving.receive(from, message, step);
      case 'copy':
        return this.#copying.answer(from, message.after, step);
      case 'copied':
        return this.#copied(message, step);
      case 'epoch':
        return void this.#isOfEpoch(from, message.epoch, step);
      case 'renew':
        this.#renewers = [...this.#renewers.filter((node) => node !== from), from];
        return this.#acts.renew(message.waitUs, step);
      case 'found':
      case 'founded':
      case 'begin':
      case 'begun':
        return this.#acts.receive(from, message, step);
      default:
    }
  }

  #reached(member: number, step: BroadcastStep): void {
    if (this.epoch === 0 && member < this.#config.members) this.#send(nodeId(member), { kind: 'epoch', epoch: 0 }, step);
    this.#publishing.reached(member, step);
  }

  // ── EpochActs ─────────────────────────────────────────────────────────────────────────────────────────

  /** Whether it is of this member's own epoch. A sender in a lower epoch is told; a member that is itself in a lower epoch joins. */
  #isOfEpoch(from: NodeId, epoch: number, step: BroadcastStep): boolean {
    if (this.#isReading || this.#acts.isFrozen) return false;
    const own = this.#life.next;
    // The next epoch may be about to begin: its messages are not for the consensus of the last one.
    if (epoch === own || !this.#rules.hearsOwnEpoch) return epoch === this.epoch || !this.#rules.hearsOwnEpoch;
    if (epoch < own) this.#send(from, { kind: 'epoch', epoch: own }, step);
    else this.#join(epoch, step);
    return false;
  }

  get #remembered(): Remembered {
    const consensus = this.#life.consensus;
    const votes = consensus?.standing === 'voting' || consensus?.standing === 'abstaining';
    return {
      epoch: this.epoch,
      logged: this.#log.instance,
      position: this.#log.position,
      decided: consensus?.decidedUpTo ?? 0,
      votesFrom: votes ? this.#bound + 1 : NEVER_VOTES,
    };
  }

  /** Others are in a higher epoch: this member has no memory of it. Its log may be of an epoch that was given up. */
  #join(epoch: number, step: BroadcastStep): void {
    this.#forgetLog(0, 0);
    this.#publishing.giveUp(step);
    this.#life.join(epoch, step);
  }

  #recover({ epoch, pieces }: LogContents, step: BroadcastStep): void {
    this.#isReading = false;
    if (epoch === null) return this.#greet(step);
    const first = pieces[0];
    if (first) this.#log.reset(first.instance - 1, first.position - 1);
    for (const piece of pieces) this.#log.adopt(piece);
    this.#life.recover(epoch, step);
  }

  /** This member is in no epoch: members that are in one say so. */
  #greet(step: BroadcastStep): void {
    for (let to = 0; to < this.#config.members; to++) if (to !== this.#boot.self) this.#send(nodeId(to), { kind: 'epoch', epoch: 0 }, step);
  }

  // ── Decisions ──────────────────────────────────────────────────────────────────────────────────────

  /** Where it may propose: it takes part, and has all of the log. */
  get #deciding(): EpochConsensus | null {
    const consensus = this.#life.consensus;
    if (!consensus || this.#acts.isFrozen || this.#life.isBeginning) return null;
    const takesPart = consensus.standing === 'voting' || consensus.standing === 'abstaining';
    return takesPart && !this.#isBehind ? consensus : null;
  }

  #heard(event: ConsensusEvent | FastCtEvent, step: BroadcastStep): void {
    if (event.kind === 'stopped') step.emit({ kind: 'stopped', without: (this.#serving.without = event.without) });
    else if (event.kind === 'standing') this.#bound = event.bound;
    else if (event.kind === 'decided') this.#decided.add(event.instance, event.value, this.#log.instance);
  }

  /** It lacks decisions that consensus will not tell it any more. */
  get #isBehind(): boolean {
    const next = this.#log.instance + 1;
    return this.#life.consensus !== null && next <= this.#life.consensus.decidedUpTo && !this.#decided.has(next);
  }

  /** Everything that follows from a step. */
  #followUp(step: BroadcastStep): void {
    if (this.#standing === 'silent') return;
    if (this.#isFailed || this.#life.consensus?.standing === 'failed') return this.#stand('failed', step);
    do this.#deliver(step);
    while (this.#publishing.advance(step));
    if (this.#ledger && this.#ledger.upTo > this.#toldLogged) {
      this.#toldLogged = this.#ledger.upTo;
      this.#life.consensus?.command({ kind: 'logged', upTo: this.#toldLogged }, step);
    }
    this.#publishing.reportRoom(step);
    this.#tellLog(step);
    this.#copying.advance(this.#isBehind, step);
    this.#stand(this.#standingNow, step);
  }

  #deliver(step: BroadcastStep): void {
    for (let batch = this.#decided.take(this.#log.instance + 1); batch; batch = this.#decided.take(this.#log.instance + 1)) {
      const piece = this.#log.append(batch, (placement) => this.#publishing.placed(placement, step));
      this.#ledger?.write(piece, this.#log.firstInstance - 1, this.#disk.of(step));
      this.#publishing.delivered(piece.instance);
    }
  }

  #tellLog(step: BroadcastStep): void {
    const { firstPosition: first, position: last } = this.#log;
    if (first === this.#toldFirst && last === this.#toldLast) return;
    this.#toldFirst = first;
    this.#toldLast = last;
    step.emit({ kind: 'delivered', first, last });
    this.#serving.advance(step);
  }

  get #standingNow(): BroadcastStanding {
    if (this.#isReading) return 'reading';
    const standing = this.#life.consensus?.standing;
    if (standing === undefined) return 'blank';
    if (standing !== 'voting') return standing;
    return this.#isBehind ? 'behind' : 'ready';
  }

  #stand(standing: BroadcastStanding, step: BroadcastStep): void {
    if (standing === this.#standing) return;
    this.#standing = standing;
    step.emit({ kind: 'standing', standing });
  }

  #stored(answer: LogAnswer, disk: OwnDisk): void {
    if (answer.kind === 'epoch') this.#life.stored(answer.epoch, disk.step);
  }

  // ── What a member lacks ────────────────────────────────────────────────────────────────────────────

  #copied(message: Extract<BroadcastOwnMessage, { kind: 'copied' }>, step: BroadcastStep): void {
    if (!this.#isBehind || this.#acts.isFrozen || !this.#copying.take(message, step)) return;
    this.#publishing.copiedUpTo(this.#log.instance, step);
    this.#life.consensus?.command({ kind: 'skip', upTo: this.#log.instance }, step);
  }

  #forgetLog(instance: number, position: number): void {
    this.#log.reset(instance, position);
    this.#ledger?.reset(instance);
  }

  // ── Retransmission ────────────────────────────────────────────────────────────────────────────────

  #retry(step: BroadcastStep): void {
    this.#retryAt = monoAfter(step.monoUs, this.#config.retryUs);
    if (this.#isReading) return;
    if (this.#life.next === 0) this.#greet(step);
    const { instance } = this.#log;
    const hasMoved = instance !== this.#instanceThen;
    this.#instanceThen = instance;
    if (!hasMoved) this.#copying.giveUp();
    this.#publishing.retry(step);
    if (!hasMoved) this.#publishing.fillGaps(Math.max(this.#life.consensus?.highestBegun ?? 0, this.#decided.highest), step);
  }

  snapshot(): Snapshot {
    return {
      log: this.#log.snapshot(),
      ledger: this.#ledger?.snapshot() ?? null,
      publishing: this.#publishing.snapshot(),
      serving: this.#serving.snapshot(),
      acts: this.#acts.snapshot(),
      life: this.#life.snapshot(),
      copying: this.#copying.snapshot(),
      decided: this.#decided.snapshot(),
      standing: this.#standing,
      isReading: this.#isReading,
      isFailed: this.#isFailed,
      bound: this.#bound,
      told: [this.#toldFirst, this.#toldLast, this.#toldLogged],
      retryAt: this.#retryAt,
      instanceThen: this.#instanceThen,
      renewers: [...this.#renewers],
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as BroadcastSnapshot;
    this.#log.restore(told.log);
    if (told.ledger !== null) this.#ledger?.restore(told.ledger);
    this.#life.restore(told.life);
    this.#publishing.restore(told.publishing);
    this.#serving.restore(told.serving);
    this.#acts.restore(told.acts);
    this.#copying.restore(told.copying);
    this.#decided.restore(told.decided);
    this.#standing = told.standing;
    this.#isReading = told.isReading;
    this.#isFailed = told.isFailed;
    this.#bound = told.bound;
    [this.#toldFirst, this.#toldLast, this.#toldLogged] = told.told;
    this.#retryAt = told.retryAt;
    this.#instanceThen = told.instanceThen;
    this.#renewers = [...told.renewers];
  }
}

interface BroadcastSnapshot {
  readonly log: Snapshot;
  readonly ledger: Snapshot | null;
  readonly publishing: Snapshot;
  readonly serving: Snapshot;
  readonly acts: Snapshot;
  readonly life: Snapshot;
  readonly copying: Snapshot;
  readonly decided: Snapshot;
  readonly standing: BroadcastStanding | null;
  readonly isReading: boolean;
  readonly isFailed: boolean;
  readonly bound: number;
  readonly told: readonly [number, number, number];
  readonly retryAt: MonoUs;
  readonly instanceThen: number;
  readonly renewers: readonly NodeId[];
}
