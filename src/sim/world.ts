/**
 * The world: virtual time, nodes with clocks, a network, storage, and the order in which everything
 * happens. It runs one drawn scenario, first under faults, then healed, and shows every record of the
 * history to the referees. Nothing here sleeps, and everything follows from the seed.
 */
import { NEVER, type Chooser, type MonoUs, type NodeId, type WallUs } from '../kernel/index.ts';
import type { UnitId, Version } from '../core/index.ts';
import { Sometimes, type HistoryRecord, type Panel } from '../check/index.ts';
import { invariantViolation } from './broken-core.ts';
import { Chronicle, type ChronicleClocks, type ApplicationReport } from './chronicle.ts';
import type { MachineClock } from './clock.ts';
import { SimDesk } from './desk.ts';
import { COMPLETE, DELIVER, EventQueue, FAULT, USER_TIMER, WAKE, type EventKind } from './event-queue.ts';
import { healedFaults, type FaultPlan } from './faults.ts';
import { noCounts, type WorldCounts } from './interest.ts';
import { Overheard } from './liar.ts';
import { MessageSlab } from './message-slab.ts';
import { Network } from './network.ts';
import { Parked } from './parked.ts';
import { Population } from './population.ts';
import type { SimProcess } from './process.ts';
import type { Scenario, SimProtocol } from './protocol.ts';
import type { AccessRequest } from './registers.ts';
import { Storage, type ScheduledAccess } from './storage.ts';
import { scheduleStrikes } from './strikes.ts';
import type { WorldSurroundings } from './surroundings.ts';
import { labelOf } from './stage/actions.ts';
import type { Tape } from './tape.ts';
import type { Trace } from './trace.ts';

const MILLION = 1_000_000;
/** A run with more steps than this is reported: some core or user acts without letting time pass. */
const EVENTS_MAX = 10 * MILLION;
const EVENTS_BETWEEN_LOOKS = 1024;

export class World<Message, Command, Event, Config> implements ChronicleClocks, WorldSurroundings<Message, Command, Event, Config> {
  // The step under way. One object serves all steps: a core may not keep it.
  monoUs: MonoUs = 0 as MonoUs;
  wallUs: WallUs = 0 as WallUs;

  nowUs = 0;
  healed = false;
  events = 0;
  grants = 0;
  faults: FaultPlan;
  readonly protocol: SimProtocol<Message, Command, Event, Config>;
  readonly scenario: Scenario<Config>;
  readonly mutant: string | null;
  readonly chooser: Chooser;
  readonly trace: Trace | null;
  /** Set by callers that want the run's inputs one by one. */
  tape: Tape<Command> | null = null;
  /** Set by callers with little time: the number of steps after which a run counts as endless, and a function that is asked now and then whether to stop. */
  eventsMax: number = EVENTS_MAX;
  outOfTime: (() => boolean) | null = null;
  readonly chronicle: Chronicle;
  readonly sometimes: Sometimes;
  readonly counts: WorldCounts = noCounts();
  readonly network: Network;
  readonly storage: Storage;
  /** What liars hear; null where there are none. */
  readonly overheard: Overheard<Message> | null;
  readonly population: Population<Message, Command, Event, Config>;

  readonly #queue = new EventQueue();
  readonly #slab: MessageSlab<Message>;
  // The population's own lists, at hand for every message.
  readonly #clocks: readonly MachineClock[];
  readonly #processes: readonly SimProcess<Message, Command, Event>[];
  readonly #actions = new Parked<() => void>();
  readonly #accesses = new Parked<ScheduledAccess>();
  readonly #inbox: Event[] = [];
  readonly #outbox: Command[] = [];
  #running: SimProcess<Message, Command, Event> | null = null;
  readonly #termUs: number;
  #effectsLeft = Infinity;
  #hasVoted = false;
  #isCutShort = false;

  constructor(
    protocol: SimProtocol<Message, Command, Event, Config>,
    scenario: Scenario<Config>,
    chooser: Chooser,
    mutant: string | null,
    trace: Trace | null,
  ) {
    const { faults, termUs } = scenario;
    this.protocol = protocol;
    this.scenario = scenario;
    this.mutant = mutant;
    this.faults = faults;
    this.chooser = chooser;
    this.trace = trace;
    this.#termUs = termUs;
    this.sometimes = new Sometimes(protocol.sometimes);
    this.chronicle = new Chronicle(
      protocol.referees(scenario, (name) => this.sometimes.bump(name)),
      this,
      (record) => this.#written(record),
    );
    this.network = new Network(chooser, faults, termUs);
    this.storage = new Storage(chooser, faults, termUs, this.counts);
    this.storage.effected = (access, isAgain): void => this.tape?.effected(access, isAgain);
    this.storage.damaged = (damage): void => {
      this.trace?.damaged(damage);
      this.tape?.damaged(damage);
    };
    this.overheard = (scenario.liars ?? 0) > 0 ? new Overheard(protocol.codec) : null;
    this.population = new Population(this);
    this.#slab = new MessageSlab(protocol.codec);
    this.#clocks = this.population.clocks;
    this.#processes = this.population.processes;
  }

  /** Runs the scenario to its end, or to the first violation. A core whose own invariant does not hold is a violation. */
  run(): void {
    try {
      this.#play();
    } catch (error) {
      const who = this.#running && `${this.nameOf(this.#running.node)}#${this.#running.incarnation}`;
      this.panel.report(invariantViolation(error, who, this.nowUs));
    }
  }

  #play(): void {
    const { nodes, safetyUs, livenessUs } = this.scenario;
    const { panel, population } = this;
    for (const record of this.protocol.furnish?.(this.scenario) ?? []) this.storage.furnish(record);
    population.startAll(nodes);
    scheduleStrikes(this, population, this.network);
    this.#runUntil(safetyUs, () => panel.violationCount > 0);
    if (panel.violationCount > 0 || livenessUs === 0 || this.#isCutShort) return;
    this.#heal();
    this.#runUntil(safetyUs + livenessUs, () => panel.violationCount > 0 || population.allDone);
    if (panel.violationCount > 0 || this.#isCutShort) return;
    population.askWaiting();
    population.audit();
    panel.finish(this.nowUs);
  }

  /** How often each event happened that the protocol declares: events that users and observers count, and events of the world itself. */
  sometimesCounts(): Record<string, number> {
    const counts = this.sometimes.toJSON();
    for (const [name, count] of Object.entries(this.counts)) if (name in counts) counts[name] = (counts[name] ?? 0) + count;
    return counts;
  }

  get panel(): Panel {
    return this.chronicle.panel;
  }

  #written(record: HistoryRecord): void {
    this.trace?.recorded(record);
    if (record.kind === 'granted' || record.kind === 'allotted') this.grants++;
  }

  // ── Step: what a core may do ───────────────────────────────────────────────────────────────────────

  choose(bound: number): number {
    const choice = this.chooser.below(bound);
    this.tape?.chose(choice);
    return choice;
  }

  send(to: NodeId, message: Message): void {
    if (!this.#takeEffect()) return;
    const { node, isAdmin } = this.#running as SimProcess<Message, Command, Event>;
    if (isAdmin) this.overheard?.note(message);
    const copies = to === node ? 1 : this.network.copies();
    this.trace?.sent(this.#running as SimProcess<Message, Command, Event>, to, copies, () => this.protocol.describeMessage(message));
    const { afterVotePpm, lastWordsLatePpm } = this.faults;
    const isLast = afterVotePpm > 0 && this.protocol.isVote(message) && this.chooser.below(MILLION) < afterVotePpm;
    if (copies === 0) {
      this.counts.loss++;
      this.tape?.sent(null, this.#label(to, message));
    } else {
      if (copies > 1) this.counts.duplicate++;
      const index = this.#slab.put((this.#running as SimProcess<Message, Command, Event>).index, this.nowUs, message, copies);
      this.tape?.sent(index, this.#label(to, message));
      for (let copy = 0; copy < copies; copy++) {
        let latencyUs = to === node ? 0 : this.network.latencyUs();
        if (isLast && this.chooser.below(MILLION) < lastWordsLatePpm) latencyUs += this.scenario.termUs + this.network.latenessUs();
        this.#queue.schedule(this.nowUs + latencyUs, DELIVER, to, index);
      }
    }
    if (isLast) {
      this.#effectsLeft = 0;
      this.#hasVoted = true;
    }
  }

  #label(to: number, message: Message): { readonly to: number; readonly label: string; readonly topic: string } {
    const { protocol } = this;
    return { to, label: labelOf(protocol.describeMessage(message)), topic: protocol.topicOf?.(message) ?? '' };
  }

  read(unit: UnitId, key: string, op: number): void {
    if (this.#takeEffect()) this.#begin({ action: 'read', unit, key, op });
  }

  write(unit: UnitId, key: string, value: Uint8Array, op: number): void {
    if (this.#takeEffect()) this.#begin({ action: 'write', unit, key, op, value: value.slice() });
  }

  swap(unit: UnitId, key: string, seen: Version | null, value: Uint8Array | null, op: number): void {
    if (!this.#takeEffect()) return;
    this.#begin({ action: 'swap', unit, key, op, seen: seen?.slice() ?? null, value: value?.slice() ?? null });
  }

  erase(unit: UnitId, key: string, op: number): void {
    if (this.#takeEffect()) this.#begin({ action: 'erase', unit, key, op });
  }

  list(unit: UnitId, prefix: string, op: number): void {
    if (this.#takeEffect()) this.#begin({ action: 'list', unit, key: prefix, op });
  }

  emit(event: Event): void {
    if (this.#takeEffect()) this.#inbox.push(event);
  }

  // ── For the chronicle and for desks ──────────────────────────────────────────────────────────────────────────────────────

  now(): number {
    return this.nowUs;
  }

  /** Wall clocks are set back only in worlds in which no machine sleeps, and only until the world heals. */
  get wallsGoBack(): boolean {
    return this.scenario.faults.wallStepsBack && !this.healed;
  }

  nameOf(node: number): string {
    return this.protocol.nodeName(this.scenario, node);
  }

  monoOf(node: number): MonoUs {
    return (this.#clocks[node] as MachineClock).monoAt(this.nowUs);
  }

  wallOf(node: number): WallUs {
    return (this.#clocks[node] as MachineClock).wallAt(this.nowUs);
  }

  deskOf(process: SimProcess<Message, Command, Event>): SimDesk<Message, Command, Event, Config> {
    return new SimDesk(this, this.population, process);
  }

  queueCommand(command: Command): void {
    this.#outbox.push(command);
  }

  setTimer(process: SimProcess<Message, Command, Event>, spanUs: number, tag: number): void {
    const clock = this.#clocks[process.node] as MachineClock;
    const due = (clock.monoAt(this.nowUs) + spanUs) as MonoUs;
    this.#queue.schedule(clock.trueWhenMono(due, this.nowUs) + this.#timerLatenessUs(), USER_TIMER, process.index, tag);
  }

  /** Writes a report of the application of a process into the history. */
  report(process: SimProcess<Message, Command, Event>, told: ApplicationReport): void {
    this.tape?.reported(process, told);
    if (told.kind === 'missed') this.chronicle.missed(`${this.nameOf(process.node)}: ${told.message}`);
    else this.chronicle.report(process.node, process.incarnation, told);
  }

  /** Does something at a true instant. */
  at(atUs: number, action: () => void): void {
    this.#queue.schedule(atUs, FAULT, 0, this.#actions.park(action));
  }

  // ── Time goes by ───────────────────────────────────────────────────────────────────────────────────

  #runUntil(endUs: number, finished: () => boolean): void {
    const queue = this.#queue;
    while (!finished() && queue.take()) {
      if (queue.at > endUs) {
        queue.schedule(queue.at, queue.kind, queue.target, queue.ref);
        break;
      }
      this.nowUs = queue.at;
      if (this.outOfTime && this.events % EVENTS_BETWEEN_LOOKS === 0 && this.outOfTime()) {
        this.#isCutShort = true;
        return;
      }
      if (this.events > this.eventsMax) {
        this.chronicle.missed(
          `after ${this.events} steps the run has not come to its end: some core or user acts without letting time pass`,
        );
        return;
      }
      switch (queue.kind) {
        case DELIVER:
          this.#deliver(queue.target, queue.ref);
          break;
        case WAKE:
          this.#wake(this.#processes[queue.target] as SimProcess<Message, Command, Event>, queue.ref);
          break;
        case USER_TIMER:
          this.#userTimer(this.#processes[queue.target] as SimProcess<Message, Command, Event>, queue.ref);
          break;
        case COMPLETE:
          this.#storageEvent(queue.ref);
          break;
        case FAULT:
          this.#actions.take(queue.ref)();
          break;
      }
    }
    if (!finished()) this.nowUs = endUs;
  }

  #deliver(to: number, index: number): void {
    const slab = this.#slab;
    const sender = this.#processes[slab.senderOf(index)] as SimProcess<Message, Command, Event>;
    const process = this.population.hearerOf(sender, to);
    const from = sender.node;
    const isCut = this.network.isCut(from, to, this.nowUs);
    if (!process || isCut) {
      if (isCut) this.counts.cut++;
      this.trace?.lost(from, to, () => this.protocol.describeMessage(slab.read(index)));
      slab.drop(index);
      return;
    }
    if (process.blockedUntilUs > this.nowUs) {
      this.#defer(process, DELIVER, to, index);
      return;
    }
    if (this.nowUs - slab.sentAt(index) > this.#termUs) this.counts['late-message']++;
    const message = slab.read(index);
    if (!process.core.admits(sender, message)) {
      this.trace?.lost(from, to, () => this.protocol.describeMessage(message));
      slab.drop(index);
      return;
    }
    this.trace?.received(process, from, () => this.protocol.describeMessage(message));
    this.tape?.delivered(process, index);
    this.enter(process);
    process.core.receive(from, message, this);
    this.leave(process);
    slab.drop(index);
  }

  #wake(process: SimProcess<Message, Command, Event>, plan: number): void {
    if (!process.alive || plan !== process.wakePlan) return;
    if (process.blockedUntilUs > this.nowUs) {
      this.#defer(process, WAKE, process.index, plan);
      return;
    }
    process.wakeDueUs = Infinity;
    if (this.monoOf(process.node) >= process.core.wakeAt) {
      this.trace?.woken(process);
      this.tape?.did(process, { kind: 'wake', node: process.node });
      this.enter(process);
      process.core.wake(this);
      this.leave(process);
    } else {
      this.#scheduleWake(process);
    }
  }

  #userTimer(process: SimProcess<Message, Command, Event>, tag: number): void {
    if (!process.alive) return;
    if (process.blockedUntilUs > this.nowUs) {
      this.#defer(process, USER_TIMER, process.index, tag);
      return;
    }
    this.enter(process);
    process.user.timer(tag);
    this.leave(process);
  }

  #storageEvent(ref: number): void {
    const access = this.#accesses.get(ref);
    const process = this.#processes[access.process] as SimProcess<Message, Command, Event>;
    if (access.phase === 'under way') {
      if (access.againUs !== Infinity) this.at(access.againUs, () => this.storage.takeEffectAgain(access));
      if (this.storage.takeEffect(access, process.alive)) this.#queue.schedule(access.answerUs, COMPLETE, access.process, ref);
      else this.#accesses.take(ref);
      return;
    }
    if (process.alive && process.blockedUntilUs > this.nowUs) {
      this.#defer(process, COMPLETE, access.process, ref);
      return;
    }
    this.#accesses.take(ref);
    if (access.phase === 'gone') return;
    const completion = this.storage.answer(access);
    if (!process.alive) return;
    this.trace?.completed(process, access);
    this.tape?.completed(process, access);
    this.enter(process);
    process.core.completed(completion, this);
    const { unit } = access.request;
    if (access.isVoid && this.storage.epochs.refuses(process.index, unit)) process.user.unitRestored?.(unit);
    this.leave(process);
  }

  /** Whatever piled up during a stall comes in any order after it. */
  #defer(process: SimProcess<Message, Command, Event>, kind: EventKind, target: number, ref: number): void {
    this.#queue.schedule(process.blockedUntilUs + this.chooser.below(50), kind, target, ref);
  }

  // ── A step of a process ────────────────────────────────────────────────────────────────────────────

  enter(process: SimProcess<Message, Command, Event>): void {
    this.events++;
    this.#running = process;
    this.monoUs = this.monoOf(process.node);
    this.wallUs = this.wallOf(process.node);
    const { midStepPpm } = this.faults;
    this.#effectsLeft = midStepPpm > 0 && this.chooser.below(MILLION) < midStepPpm ? this.chooser.below(4) : Infinity;
  }

  /** The core's step is over: its events reach the user, whose commands reach the core, until all is said. */
  leave(process: SimProcess<Message, Command, Event>): void {
    const inbox = this.#inbox;
    const outbox = this.#outbox;
    while (this.#effectsLeft > 0 && (inbox.length > 0 || outbox.length > 0)) {
      const event = inbox.shift();
      if (event !== undefined) {
        this.trace?.emitted(process, () => this.protocol.describeEvent(event));
        process.user.event(event);
        continue;
      }
      const command = outbox.shift() as Command;
      this.trace?.commanded(process, () => this.protocol.describeCommand(command));
      this.tape?.commanded(process, command);
      this.events++;
      process.core.command(command, this);
    }
    this.#running = null;
    if (this.#effectsLeft <= 0) {
      if (inbox.length > 0) this.tape?.cut();
      inbox.length = 0;
      outbox.length = 0;
      this.#effectsLeft = Infinity;
      this.counts[this.#hasVoted ? 'crash-after-vote' : 'crash-mid-step']++;
      this.#hasVoted = false;
      this.population.crash(process, true);
    } else {
      this.#scheduleWake(process);
    }
  }

  /** False once the crash that ends this step has come. */
  #takeEffect(): boolean {
    if (this.#effectsLeft <= 0) {
      this.tape?.cut();
      return false;
    }
    this.#effectsLeft--;
    this.tape?.tookEffect();
    return true;
  }

  /** The clock that the planned wake was reckoned by has changed. */
  planWakeAnew(process: SimProcess<Message, Command, Event>): void {
    process.wakeDueUs = Infinity;
    this.#scheduleWake(process);
  }

  #scheduleWake(process: SimProcess<Message, Command, Event>): void {
    const { wakeAt } = process.core;
    if (wakeAt === NEVER) return;
    const dueUs = (this.#clocks[process.node] as MachineClock).trueWhenMono(wakeAt, this.nowUs);
    // A wake planned earlier than needed does no harm: it plans the next.
    if (dueUs >= process.wakeDueUs) return;
    process.wakeDueUs = dueUs;
    this.#queue.schedule(dueUs + this.#timerLatenessUs(), WAKE, process.index, ++process.wakePlan);
  }

  #timerLatenessUs(): number {
    const { timerLateUsMax } = this.faults;
    return timerLateUsMax > 0 ? this.chooser.below(timerLateUsMax + 1) : 0;
  }

  #begin(request: AccessRequest): void {
    const { index, node } = this.#running as SimProcess<Message, Command, Event>;
    const access = this.storage.begin(index, node, request, this.nowUs);
    this.tape?.asked(node, access);
    if (access) this.#queue.schedule(access.effectUs, COMPLETE, index, this.#accesses.park(access));
  }

  #heal(): void {
    this.healed = true;
    this.trace?.healed();
    this.tape?.heal();
    this.faults = healedFaults(this.faults);
    this.network.faults = this.faults;
    this.storage.faults = this.faults;
    this.network.mendAll();
    this.storage.repairAll();
    this.population.heal();
  }
}
