/**
 * The world: virtual time, nodes with clocks, a network, storage, and the order in which everything
 * happens. It runs one drawn scenario, first under faults, then healed, and shows every record of the
 * history to the referees. Nothing here sleeps, and everything follows from the seed.
 */
import { incarnation, nodeId, NEVER, type Chooser, type MonoUs, type NodeId, type WallUs } from '../kernel/index.ts';
import type { Step, UnitId } from '../core/index.ts';
import { Panel, Sometimes, type HistoryRecord } from '../check/index.ts';
import { MachineClock } from './clock.ts';
import { SimDesk } from './desk.ts';
import { COMPLETE, DELIVER, EventQueue, FAULT, USER_TIMER, WAKE } from './event-queue.ts';
import { healedFaults, type FaultPlan } from './faults.ts';
import { HoldLedger } from './holds.ts';
import { MessageSlab } from './message-slab.ts';
import { Network } from './network.ts';
import type { SimProcess } from './process.ts';
import type { HoldDeadline, Scenario, SimProtocol } from './protocol.ts';
import { Storage, type Access } from './storage.ts';
import type { Trace } from './trace.ts';

const MILLION = 1_000_000;

export class World<Message, Command, Event, Config> implements Step<Message, Event> {
  // The step under way. One object serves all steps: a core may not keep it.
  monoUs: MonoUs = 0 as MonoUs;
  wallUs: WallUs = 0 as WallUs;

  nowUs = 0;
  healed = false;
  events = 0;
  grants = 0;
  readonly panel: Panel;
  readonly sometimes: Sometimes;
  readonly holds: HoldLedger = new HoldLedger();
  readonly trace: Trace | null;
  readonly chooser: Chooser;

  readonly #protocol: SimProtocol<Message, Command, Event, Config>;
  readonly #scenario: Scenario<Config>;
  readonly #mutant: string | null;
  readonly #queue = new EventQueue();
  readonly #slab: MessageSlab<Message>;
  readonly #network: Network;
  readonly #storage: Storage;
  readonly #clocks: MachineClock[] = [];
  readonly #processes: SimProcess<Message, Command, Event>[] = [];
  readonly #current: (SimProcess<Message, Command, Event> | null)[] = [];
  readonly #actions: ((() => void) | null)[] = [];
  readonly #accesses: (Access | null)[] = [];
  readonly #inbox: Event[] = [];
  readonly #outbox: Command[] = [];
  #faults: FaultPlan;
  #running: SimProcess<Message, Command, Event> | null = null;
  #effectsLeft = Infinity;
  #settling = false;

  constructor(
    protocol: SimProtocol<Message, Command, Event, Config>,
    scenario: Scenario<Config>,
    chooser: Chooser,
    mutant: string | null,
    trace: Trace | null,
  ) {
    this.#protocol = protocol;
    this.#scenario = scenario;
    this.#mutant = mutant;
    this.#faults = scenario.faults;
    this.chooser = chooser;
    this.trace = trace;
    this.sometimes = new Sometimes(protocol.sometimes);
    this.panel = new Panel(protocol.referees(scenario, (name) => this.sometimes.bump(name)));
    this.#slab = new MessageSlab(protocol.codec);
    this.#network = new Network(chooser, scenario.faults, scenario.termUs);
    this.#storage = new Storage(chooser, scenario.faults, scenario.termUs);
  }

  /** Runs the scenario to its end, or to the first violation. */
  run(): void {
    const { nodes, safetyUs, livenessUs } = this.#scenario;
    for (let node = 0; node < nodes; node++) {
      const { ratePpmMax, offsetUsMax } = this.#faults;
      const ratePpm = this.chooser.below(2 * ratePpmMax + 1) - ratePpmMax;
      const offsetUs = this.chooser.below(2 * offsetUsMax + 1) - offsetUsMax;
      this.#clocks.push(new MachineClock(this.chooser.below(MILLION * 1000), offsetUs, ratePpm));
      this.#current.push(null);
    }
    for (let node = 0; node < nodes; node++) this.#startProcess(node, false, false);
    this.#scheduleFaults();
    this.#runUntil(safetyUs, () => this.panel.violations.length > 0);
    if (this.panel.violations.length > 0 || livenessUs === 0) return;
    this.#heal();
    this.#runUntil(safetyUs + livenessUs, () => this.panel.violations.length > 0 || this.#allDone());
    if (this.panel.violations.length > 0) return;
    for (const process of this.#current) {
      if (process && !process.done) this.failLiveness(`${this.nameOf(process.node)} still waits for ${process.user.waitingFor()}`);
    }
    this.panel.finish(this.nowUs);
  }

  /** Progress that was owed did not come. */
  failLiveness(message: string): void {
    this.panel.report({ property: 'liveness', at: this.nowUs, message });
  }

  // ── Step: what a core may do ───────────────────────────────────────────────────────────────────────

  choose(bound: number): number {
    return this.chooser.below(bound);
  }

  send(to: NodeId, message: Message): void {
    if (!this.#takeEffect()) return;
    const running = this.#running as SimProcess<Message, Command, Event>;
    const copies = to === running.node ? 1 : this.#network.copies();
    this.trace?.sent(running, to, copies, () => this.#protocol.describeMessage(message));
    const { afterVotePpm, lastWordsLatePpm } = this.#faults;
    const isLast = afterVotePpm > 0 && this.#protocol.isVote(message) && this.chooser.below(MILLION) < afterVotePpm;
    if (copies > 0) {
      const index = this.#slab.put(running.node, message, copies);
      for (let copy = 0; copy < copies; copy++) {
        let latencyUs = to === running.node ? 0 : this.#network.latencyUs();
        if (isLast && this.chooser.below(MILLION) < lastWordsLatePpm) latencyUs += this.#scenario.termUs + this.#network.latenessUs();
        this.#queue.schedule(this.nowUs + latencyUs, DELIVER, to, index);
      }
    }
    if (isLast) this.#effectsLeft = 0;
  }

  read(unit: UnitId, key: string, op: number): void {
    if (this.#takeEffect()) this.#begin(unit, key, op, 'read', null);
  }

  write(unit: UnitId, key: string, value: Uint8Array, op: number): void {
    if (this.#takeEffect()) this.#begin(unit, key, op, 'write', value.slice());
  }

  emit(event: Event): void {
    if (this.#takeEffect()) this.#inbox.push(event);
  }

  // ── For desks ──────────────────────────────────────────────────────────────────────────────────────

  nameOf(node: number): string {
    return this.#protocol.nodeName(this.#scenario, node);
  }

  monoOf(node: number): MonoUs {
    return (this.#clocks[node] as MachineClock).monoAt(this.nowUs);
  }

  wallOf(node: number): WallUs {
    return (this.#clocks[node] as MachineClock).wallAt(this.nowUs);
  }

  queueCommand(command: Command): void {
    this.#outbox.push(command);
  }

  setTimer(process: SimProcess<Message, Command, Event>, spanUs: number, tag: number): void {
    const clock = this.#clocks[process.node] as MachineClock;
    const due = (clock.monoAt(this.nowUs) + spanUs) as MonoUs;
    this.#queue.schedule(clock.trueWhenMono(due, this.nowUs) + this.#timerLatenessUs(), USER_TIMER, process.index, tag);
  }

  record(record: HistoryRecord): void {
    this.trace?.recorded(record);
    this.panel.observe(record);
    if (record.kind === 'granted') this.grants++;
  }

  /** How long a holder may still act, by its own clocks. */
  remainingUs(process: number, deadline: HoldDeadline): number {
    const { node } = this.#processes[process] as SimProcess<Message, Command, Event>;
    return Math.min(deadline.monoUs - this.monoOf(node), deadline.wallUs - this.wallOf(node));
  }

  /** Writes down the holds of a resource that ended by themselves. */
  settleHolds(resource: string): void {
    this.holds.settle(
      resource,
      (process, deadline) => this.remainingUs(process, deadline),
      (index, token) => {
        const process = this.#processes[index] as SimProcess<Message, Command, Event>;
        this.record({ at: this.nowUs, node: process.node, incarnation: process.incarnation, kind: 'ended', resource, token, reason: 'deadline' });
      },
    );
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
        case FAULT: {
          const action = this.#actions[queue.ref];
          this.#actions[queue.ref] = null;
          action?.();
          break;
        }
      }
    }
    if (!finished()) this.nowUs = endUs;
  }

  #deliver(to: number, index: number): void {
    const process = this.#current[to];
    const from = this.#slab.senderOf(index);
    if (!process || this.#network.isCut(from, to, this.nowUs)) {
      this.trace?.lost(from, to, () => this.#protocol.describeMessage(this.#slab.read(index)));
      this.#slab.drop(index);
      return;
    }
    if (process.blockedUntilUs > this.nowUs) {
      this.#defer(process, DELIVER, to, index);
      return;
    }
    const message = this.#slab.read(index);
    this.trace?.received(process, from, () => this.#protocol.describeMessage(message));
    this.#enter(process);
    process.core.receive(nodeId(from), message, this);
    this.#leave(process);
    this.#slab.drop(index);
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
      this.#enter(process);
      process.core.wake(this);
      this.#leave(process);
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
    this.#enter(process);
    process.user.timer(tag);
    this.#leave(process);
  }

  #storageEvent(ref: number): void {
    const access = this.#accesses[ref] as Access;
    const process = this.#processes[access.process] as SimProcess<Message, Command, Event>;
    if (access.phase === 'under way') {
      if (!process.alive && !this.#storage.survivesCrash(access)) {
        this.#accesses[ref] = null;
        return;
      }
      this.#storage.takeEffect(access);
      if (access.answerUs !== Infinity) this.#queue.schedule(Math.max(access.answerUs, this.nowUs), COMPLETE, access.process, ref);
      else this.#accesses[ref] = null;
      return;
    }
    if (process.alive && process.blockedUntilUs > this.nowUs) {
      this.#defer(process, COMPLETE, access.process, ref);
      return;
    }
    this.#accesses[ref] = null;
    this.#storage.answer(access, this.nowUs);
    if (!process.alive) return;
    const found = access.action === 'read' && access.ok ? access.value : null;
    this.trace?.completed(process, access);
    this.#enter(process);
    process.core.completed({ op: access.op, ok: access.ok, value: found }, this);
    this.#leave(process);
  }

  /** Whatever piled up during a stall comes in any order after it. */
  #defer(process: SimProcess<Message, Command, Event>, kind: typeof DELIVER | typeof WAKE | typeof USER_TIMER | typeof COMPLETE, target: number, ref: number): void {
    this.#queue.schedule(process.blockedUntilUs + this.chooser.below(50), kind, target, ref);
  }

  // ── A step of a process ────────────────────────────────────────────────────────────────────────────

  #enter(process: SimProcess<Message, Command, Event>): void {
    this.events++;
    this.#running = process;
    this.monoUs = this.monoOf(process.node);
    this.wallUs = this.wallOf(process.node);
    const { midStepPpm } = this.#faults;
    this.#effectsLeft = midStepPpm > 0 && this.chooser.below(MILLION) < midStepPpm ? this.chooser.below(4) : Infinity;
  }

  /** The core's step is over: its events reach the user, whose commands reach the core, until all is said. */
  #leave(process: SimProcess<Message, Command, Event>): void {
    const inbox = this.#inbox;
    const outbox = this.#outbox;
    while (process.alive && this.#effectsLeft > 0 && (inbox.length > 0 || outbox.length > 0)) {
      const event = inbox.shift();
      if (event !== undefined) {
        this.trace?.told(process, () => this.#protocol.describeEvent(event));
        process.user.event(event);
        continue;
      }
      const command = outbox.shift() as Command;
      this.trace?.commanded(process, () => this.#protocol.describeCommand(command));
      this.events++;
      process.core.command(command, this);
    }
    inbox.length = 0;
    outbox.length = 0;
    this.#running = null;
    if (this.#effectsLeft <= 0) {
      this.#effectsLeft = Infinity;
      this.#crash(process, true);
    } else if (process.alive) {
      this.#scheduleWake(process);
    }
  }

  /** False once the crash that ends this step has come. */
  #takeEffect(): boolean {
    if (this.#effectsLeft <= 0) return false;
    this.#effectsLeft--;
    return true;
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
    const { timerLateUsMax } = this.#faults;
    return timerLateUsMax > 0 ? this.chooser.below(timerLateUsMax + 1) : 0;
  }

  #begin(unit: UnitId, key: string, op: number, action: 'read' | 'write', value: Uint8Array | null): void {
    const { index, node } = this.#running as SimProcess<Message, Command, Event>;
    const access: Access = { process: index, node, unit, key, op, action, invokedUs: this.nowUs, value, ok: true, phase: 'under way', answerUs: Infinity };
    const effectUs = this.#storage.begin(access, this.nowUs);
    if (effectUs === null) return;
    this.#queue.schedule(effectUs, COMPLETE, index, this.#accesses.push(access) - 1);
  }

  // ── Births and deaths ──────────────────────────────────────────────────────────────────────────────

  #startProcess(node: number, restarted: boolean, diskKept: boolean): void {
    const number = this.#processes.length + 1;
    const boot = { self: nodeId(node), incarnation: incarnation(number), restarted, diskKept };
    const core = this.#protocol.core(this.#scenario, boot, this.#mutant);
    const process: SimProcess<Message, Command, Event> = {
      index: this.#processes.length,
      node,
      incarnation: number,
      core,
      user: undefined as never,
      alive: true,
      blockedUntilUs: 0,
      wakeDueUs: Infinity,
      wakePlan: 0,
      done: false,
    };
    process.user = this.#protocol.user(this.#scenario, core, new SimDesk(this, process));
    this.#processes.push(process);
    this.#current[node] = process;
    this.trace?.started(process, boot);
    this.#enter(process);
    core.start(this);
    process.user.start();
    if (this.healed) process.user.healed();
    this.#leave(process);
  }

  #crash(process: SimProcess<Message, Command, Event>, comesBackSoon: boolean): void {
    this.trace?.crashed(process);
    this.#end(process);
    const { downUsMax, keepDiskPpm } = this.#faults;
    if (this.#current[process.node] !== process) return;
    this.#current[process.node] = null;
    const downUs = this.chooser.below((comesBackSoon ? Math.ceil(downUsMax / 20) : downUsMax) + 1);
    const keeps = this.chooser.below(MILLION) < keepDiskPpm;
    this.#at(this.nowUs + downUs, () => {
      if (this.#current[process.node]) return;
      if (!keeps) this.#storage.wipeDisk(process.node);
      // A reboot starts the monotonic clock anew; while a twin still runs, only the process can have died.
      const machineWentDown = !this.#processes.some((other) => other.alive && other.node === process.node);
      if (machineWentDown) (this.#clocks[process.node] as MachineClock).restartMono(this.nowUs, this.chooser.below(MILLION * 1000));
      const { wallSetAtBootPpm, wallStepUsMax } = this.#faults;
      if (this.chooser.below(MILLION) < wallSetAtBootPpm) {
        this.#at(this.nowUs + this.chooser.below(this.#scenario.termUs), () => {
          if (!this.healed) this.#stepWall(process.node, 1 + this.chooser.below(wallStepUsMax));
        });
      }
      this.#startProcess(process.node, true, keeps);
    });
  }

  #end(process: SimProcess<Message, Command, Event>): void {
    process.alive = false;
    this.holds.closeAllOf(process.index);
    this.record({ at: this.nowUs, node: process.node, incarnation: process.incarnation, kind: 'crashed' });
  }

  /** The old process is taken for dead, but only stalls; a new one is started beside it on the same machine. */
  #twin(process: SimProcess<Message, Command, Event>): void {
    process.blockedUntilUs = this.nowUs + this.chooser.below(this.#scenario.termUs * 2);
    this.trace?.replaced(process, process.blockedUntilUs);
    this.#startProcess(process.node, true, false);
  }

  // ── Faults ─────────────────────────────────────────────────────────────────────────────────────────

  #at(atUs: number, action: () => void): void {
    this.#queue.schedule(atUs, FAULT, 0, this.#actions.push(action) - 1);
  }

  /** Runs `strike` about every so often, until the world heals. */
  #every(everyUs: number, strike: () => void): void {
    if (everyUs <= 0) return;
    this.#at(this.nowUs + this.chooser.below(2 * everyUs) + 1, () => {
      if (this.healed) return;
      strike();
      this.#every(everyUs, strike);
    });
  }

  #anyProcess(): SimProcess<Message, Command, Event> | null {
    return this.#current[this.chooser.below(this.#current.length)] ?? null;
  }

  #scheduleFaults(): void {
    const faults = this.#faults;
    const { nodes, units } = this.#scenario;
    this.#every(faults.cutEveryUs, () => {
      const cut = this.#network.cut(nodes, this.nowUs);
      this.trace?.note(`the network is cut around ${[...cut.onSide.keys()].filter((n) => cut.onSide[n]).map((n) => this.nameOf(n)).join(', ')}${cut.oneWay ? ', one way' : ''}${cut.flapUs > 0 ? ', flapping' : ''}`);
      this.#at(this.nowUs + this.chooser.below(faults.cutUsMax + 1), () => this.#network.mend(cut));
    });
    this.#every(faults.crashEveryUs, () => {
      const process = this.#anyProcess();
      if (!process) return;
      if (this.chooser.below(MILLION) < faults.twinPpm) this.#twin(process);
      else this.#crash(process, false);
    });
    this.#every(faults.stallEveryUs, () => {
      const process = this.#anyProcess();
      if (!process) return;
      process.blockedUntilUs = Math.max(process.blockedUntilUs, this.nowUs + this.chooser.below(faults.stallUsMax + 1));
      this.trace?.note(`${this.nameOf(process.node)} stalls until ${process.blockedUntilUs}`);
    });
    this.#every(faults.sleepEveryUs, () => this.#sleep(this.chooser.below(nodes), this.chooser.below(faults.sleepUsMax + 1)));
    this.#every(faults.wallStepEveryUs, () => {
      const node = this.chooser.below(nodes);
      const forward = !faults.wallStepsBack || this.chooser.below(2) === 0;
      const byUs = (1 + this.chooser.below(faults.wallStepUsMax)) * (forward ? 1 : -1);
      this.#stepWall(node, byUs);
    });
    if (units > 0) {
      this.#every(faults.unitFailEveryUs, () => {
        this.#storage.fail(this.chooser.below(units), this.nowUs + this.chooser.below(faults.unitFailUsMax + 1));
      });
    }
  }

  #stepWall(node: number, byUs: number): void {
    (this.#clocks[node] as MachineClock).stepWall(this.nowUs, byUs);
    this.trace?.note(`the wall clock of ${this.nameOf(node)} jumps by ${byUs}`);
  }

  /** Monotonic time stands still for every process of the machine, and none of them runs. */
  #sleep(node: number, spanUs: number): void {
    const clock = this.#clocks[node] as MachineClock;
    const untilUs = this.nowUs + spanUs;
    clock.sleep(this.nowUs);
    this.trace?.note(`the machine of ${this.nameOf(node)} sleeps until ${untilUs}`);
    for (const process of this.#processes) {
      if (process.node === node && process.alive) process.blockedUntilUs = Math.max(process.blockedUntilUs, untilUs);
    }
    this.#at(untilUs, () => clock.awake(this.nowUs));
  }

  #heal(): void {
    this.healed = true;
    this.trace?.note('the world heals');
    this.#faults = healedFaults(this.#faults);
    this.#network.faults = this.#faults;
    this.#storage.faults = this.#faults;
    this.#network.mendAll();
    this.#storage.repairAll();
    for (const process of this.#processes) {
      if (process.alive && this.#current[process.node] !== process) this.#end(process);
      process.blockedUntilUs = 0;
    }
    for (let node = 0; node < this.#current.length; node++) {
      (this.#clocks[node] as MachineClock).awake(this.nowUs);
      const process = this.#current[node];
      if (!process) {
        this.#startProcess(node, true, false);
        continue;
      }
      this.#enter(process);
      process.user.healed();
      this.#leave(process);
    }
  }

  #allDone(): boolean {
    if (!this.#settling) return false;
    for (const process of this.#current) if (process && !process.done) return false;
    return true;
  }

  /** A user said it is done: only then is it worth asking whether all are. */
  checkDone(): void {
    this.#settling = true;
  }
}
