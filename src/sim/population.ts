/**
 * Births and deaths: the machines with their clocks, the processes on them, how these crash, come back,
 * stall and sleep, and how all are well again when the world heals. What a process does while it runs is
 * the world's.
 */
import { incarnation, invariant, nodeId } from '../kernel/index.ts';
import type { Boot } from '../core/index.ts';
import { MachineClock } from './clock.ts';
import { LyingCore, LyingUser } from './liar.ts';
import type { SimProcess } from './process.ts';
import type { WorldSurroundings } from './surroundings.ts';

const MILLION = 1_000_000;
/** How often a liar says something, on average. */
const LIES_PER_TERM = 60;

export class Population<Message, Command, Event, Config> {
  /** Every process that ever was, by its index. */
  readonly processes: SimProcess<Message, Command, Event>[] = [];
  /** The process that gets the messages of each node, if it is up. */
  readonly current: (SimProcess<Message, Command, Event> | null)[] = [];
  readonly clocks: MachineClock[] = [];
  readonly #world: WorldSurroundings<Message, Command, Event, Config>;
  readonly #asleepUntilUs: number[] = [];
  readonly #disksKept: boolean[] = [];
  #outliving: { readonly old: SimProcess<Message, Command, Event>; readonly keepsTo: readonly boolean[] } | null = null;
  #someDone = false;
  /** The node whose clocks are beyond the bound, if any. */
  #slewed: number | null = null;

  constructor(world: WorldSurroundings<Message, Command, Event, Config>) {
    this.#world = world;
  }

  /** The beginning of the world: every machine is set up, then every node starts. */
  startAll(nodes: number): void {
    const { chooser } = this.#world;
    for (let node = 0; node < nodes; node++) {
      const { offsetUsMax, uptimeUsMax } = this.#world.faults;
      const offsetUs = chooser.below(2 * offsetUsMax + 1) - offsetUsMax;
      const monoUs = uptimeUsMax > 0 ? chooser.below(uptimeUsMax) : 0;
      const ratePpm = this.#drawRatePpm();
      this.clocks.push(new MachineClock(monoUs, offsetUs, ratePpm));
      this.#world.tape?.clocks.push({ monoUs, wallOffsetUs: offsetUs, ratePpm });
      this.current.push(null);
      this.#asleepUntilUs.push(0);
      this.#disksKept.push(false);
    }
    for (let node = 0; node < nodes; node++) this.#start(node, false, false);
  }

  /** Every process that is up has said that it is done. */
  get allDone(): boolean {
    if (!this.#someDone) return false;
    for (const process of this.current) if (process && !process.done) return false;
    return true;
  }

  done(process: SimProcess<Message, Command, Event>): void {
    process.done = true;
    this.#someDone = true;
  }

  crash(process: SimProcess<Message, Command, Event>, comesBackSoon: boolean): void {
    const world = this.#world;
    const { node } = process;
    world.counts.crash++;
    world.trace?.crashed(process);
    this.#end(process);
    world.tape?.did(process, { kind: 'crash', node });
    if (this.current[node] !== process) return;
    this.current[node] = null;
    const { downUsMax, keepDiskPpm, losableDisks } = world.faults;
    const downUs = world.chooser.below((comesBackSoon ? Math.ceil(downUsMax / 20) : downUsMax) + 1);
    this.#disksKept[node] = world.chooser.below(MILLION) < keepDiskPpm || node >= losableDisks;
    world.at(world.nowUs + downUs, () => this.#restart(node));
  }

  /** The old process is taken for dead, but only stalls; a new one is started beside it on the same machine. */
  twin(process: SimProcess<Message, Command, Event>): void {
    const world = this.#world;
    if (this.#isAsleep(process.node)) return;
    world.counts.twin++;
    process.blockedUntilUs = world.nowUs + world.chooser.below(world.scenario.termUs * 2);
    world.trace?.replaced(process, process.blockedUntilUs);
    this.#start(process.node, true, true);
  }

  /** The old process lives on, and some nodes go on talking to it; all others talk to the process that is started in its place. */
  outlive(process: SimProcess<Message, Command, Event>): void {
    const world = this.#world;
    const { node } = process;
    const { outlivedNodes, outlivedAmongMembers } = world.faults;
    if (this.#outliving?.old.alive || this.#isAsleep(node)) return;
    world.counts.outlived++;
    const keepsTo = Array.from({ length: this.current.length }, (_, other) => {
      const mayStay = other !== node && (outlivedAmongMembers || other >= outlivedNodes);
      return mayStay && world.chooser.below(2) === 0;
    });
    this.#outliving = { old: process, keepsTo };
    world.trace?.replaced(process, world.nowUs);
    this.#start(node, true, false);
    const lastsUs = world.chooser.below(world.scenario.termUs * 8);
    world.at(world.nowUs + lastsUs, () => {
      if (process.alive && !world.healed) this.crash(process, true);
    });
  }

  /** Which process of a node hears this sender; null if there is none, or the sender talks to another one. */
  hearerOf(sender: SimProcess<Message, Command, Event>, to: number): SimProcess<Message, Command, Event> | null {
    const current = this.current[to] ?? null;
    const outliving = this.#outliving;
    if (outliving === null) return current;
    const { old, keepsTo } = outliving;
    if (!old.alive) return sender === old ? null : current;
    if (sender.node === old.node) {
      if (to === old.node) return sender === old ? old : current;
      return keepsTo[to] === (sender === old) ? current : null;
    }
    return to === old.node && keepsTo[sender.node] ? old : current;
  }

  stall(process: SimProcess<Message, Command, Event>, spanUs: number): void {
    const world = this.#world;
    world.counts.stall++;
    process.blockedUntilUs = Math.max(process.blockedUntilUs, world.nowUs + spanUs);
    world.trace?.stalled(process, process.blockedUntilUs);
  }

  /** Monotonic time stands still for every process of the machine, and none of them runs. */
  sleep(node: number, spanUs: number): void {
    const world = this.#world;
    const clock = this.clocks[node] as MachineClock;
    const untilUs = Math.max(world.nowUs + spanUs, this.#asleepUntilUs[node] as number);
    world.counts.sleep++;
    world.trace?.slept(node, untilUs);
    this.#asleepUntilUs[node] = untilUs;
    clock.sleep(world.nowUs);
    world.tape?.befell({ kind: 'sleep', node });
    for (const process of this.processes) {
      if (process.node === node && process.alive) process.blockedUntilUs = Math.max(process.blockedUntilUs, untilUs);
    }
    world.at(untilUs, () => {
      if (this.#isAsleep(node)) return;
      clock.awake(world.nowUs);
      world.tape?.befell({ kind: 'awake', node });
    });
  }

  stepWall(node: number, byUs: number): void {
    const world = this.#world;
    world.counts['wall-step']++;
    world.trace?.wallStepped(node, byUs);
    world.tape?.befell({ kind: 'set', node, byUs });
    (this.clocks[node] as MachineClock).stepWall(world.nowUs, byUs);
  }

  /** The machine's quartz gets warmer or colder: its clocks run at another rate, within the same bound. */
  changeRate(node: number): void {
    if (node !== this.#slewed) this.#setRate(node, this.#drawRatePpm());
  }

  /** Its clocks run far too fast, or too slow, until then. One machine's at a time. */
  slew(node: number, untilUs: number): void {
    const world = this.#world;
    if (this.#slewed !== null) return;
    this.#slewed = node;
    world.counts.slew++;
    const isFast = world.chooser.below(2) === 0;
    this.#setRate(node, isFast ? 300_000 + world.chooser.below(2 * MILLION) : world.chooser.below(450_000) - 800_000);
    world.at(untilUs, () => {
      this.#slewed = null;
      this.#setRate(node, this.#drawRatePpm());
    });
  }

  #setRate(node: number, ppm: number): void {
    const world = this.#world;
    const clock = this.clocks[node] as MachineClock;
    clock.setRate(world.nowUs, ppm);
    world.tape?.befell({ kind: 'rate', node, ppm });
    for (const process of this.processes) if (process.node === node && process.alive) world.planWakeAnew(process);
  }

  /** From here on no machine is asleep and no process stalled or down. Twins are ended, and processes that wait for a lost answer of their own disk are restarted. */
  heal(): void {
    const world = this.#world;
    for (const process of this.processes) {
      const { index, node, alive } = process;
      if (alive && world.storage.isStranded(index)) {
        if (this.current[node] === process) this.current[node] = null;
        this.#disksKept[node] = true;
      }
      if (alive && this.current[node] !== process) {
        this.#end(process);
        world.tape?.did(process, { kind: 'crash', node });
      }
      process.blockedUntilUs = 0;
    }
    for (let node = 0; node < this.current.length; node++) {
      this.#asleepUntilUs[node] = 0;
      (this.clocks[node] as MachineClock).awake(world.nowUs);
      world.tape?.befell({ kind: 'awake', node });
      const process = this.current[node];
      if (!process) {
        this.#restart(node);
        continue;
      }
      // Its wake-up may have been put off to the end of a stall that is over now.
      process.wakeDueUs = Infinity;
      world.enter(process);
      process.user.healed();
      world.leave(process);
    }
  }

  #start(node: number, restarted: boolean, diskKept: boolean): void {
    const world = this.#world;
    const { protocol, scenario, mutant } = world;
    const index = this.processes.length;
    const number = index + 1;
    const boot = { self: nodeId(node), incarnation: incarnation(number), restarted, diskKept };
    const liar = this.#liar(boot);
    const core = liar ?? protocol.core(scenario, boot, mutant);
    const process: SimProcess<Message, Command, Event> = {
      index,
      node: boot.self,
      incarnation: boot.incarnation,
      isAdmin: liar === null,
      core,
      user: undefined as never,
      alive: true,
      blockedUntilUs: 0,
      wakeDueUs: Infinity,
      wakePlan: 0,
      done: false,
    };
    const desk = world.deskOf(process);
    process.user = liar === null ? protocol.user(scenario, core, desk) : new LyingUser(liar, desk);
    const how = !restarted ? 'start' : this.current[node] === null ? 'restart' : 'twin';
    this.processes.push(process);
    this.current[node] = process;
    world.trace?.started(process, boot);
    world.tape?.started(process, diskKept, how);
    world.enter(process);
    core.start(world);
    process.user.start();
    if (world.healed) process.user.healed();
    world.leave(process);
  }

  /** The last nodes of the world may be liars. */
  #liar(boot: Boot): LyingCore<Message, Command, Event> | null {
    const { protocol, scenario, overheard } = this.#world;
    if (overheard === null || boot.self < scenario.nodes - (scenario.liars ?? 0)) return null;
    const forger = protocol.forger?.(scenario);
    invariant(forger !== undefined, 'a world has liars, but its protocol does not say what they send');
    return new LyingCore(boot, scenario.nodes, Math.floor(scenario.termUs / LIES_PER_TERM), overheard, forger);
  }

  /** Reports each process that was owed progress and did not get it. */
  askWaiting(): void {
    const world = this.#world;
    for (const process of this.current) {
      if (process && !process.done) world.chronicle.missed(`${world.nameOf(process.node)} still waits for ${process.user.waitingFor()}`);
    }
  }

  /** Reports faults of nodes at the end that no referee sees. */
  audit(): void {
    const { protocol, scenario, chronicle, nowUs } = this.#world;
    for (const process of this.current) {
      if (process === null || process.core instanceof LyingCore) continue;
      const fault = protocol.audit?.(scenario, process.core, this.#world.wallOf(process.node)) ?? null;
      if (fault !== null) chronicle.panel.report({ property: 'audit', at: nowUs, message: `${this.#world.nameOf(process.node)} ${fault}` });
    }
  }

  #restart(node: number): void {
    const world = this.#world;
    if (this.current[node]) return;
    // While a twin still runs, only the process can have died: the machine was not rebooted and its disk is in use.
    const isUp = this.processes.some((other) => other.alive && other.node === node);
    if (isUp && this.#isAsleep(node)) {
      world.at(this.#asleepUntilUs[node] as number, () => this.#restart(node));
      return;
    }
    const diskKept = isUp || (this.#disksKept[node] as boolean);
    if (!diskKept) world.storage.wipeDisk(node);
    if (!isUp) {
      this.#asleepUntilUs[node] = 0;
      const clock = this.clocks[node] as MachineClock;
      const { uptimeUsMax } = world.faults;
      const uptimeUs = uptimeUsMax > 0 ? world.chooser.below(uptimeUsMax) : null;
      if (uptimeUs === null) clock.awake(world.nowUs);
      else clock.restartMono(world.nowUs, uptimeUs);
      world.tape?.befell(uptimeUs === null ? { kind: 'awake', node } : { kind: 'boot', node, uptimeUs });
    }
    const { wallSetAtBootPpm, wallStepUsMax } = world.faults;
    if (wallSetAtBootPpm > 0 && world.chooser.below(MILLION) < wallSetAtBootPpm) {
      world.at(world.nowUs + world.chooser.below(world.scenario.termUs), () => {
        if (!world.healed) this.stepWall(node, 1 + world.chooser.below(wallStepUsMax + 1));
      });
    }
    world.counts[diskKept ? 'restart-with-disk' : 'restart-without-disk']++;
    this.#start(node, true, diskKept);
  }

  #end(process: SimProcess<Message, Command, Event>): void {
    const world = this.#world;
    process.alive = false;
    world.storage.crash(process.index);
    world.chronicle.crashed(process.node, process.incarnation);
  }

  #isAsleep(node: number): boolean {
    return (this.#asleepUntilUs[node] as number) > this.#world.nowUs;
  }

  /** As often as not as far from the truth as the bound allows. */
  #drawRatePpm(): number {
    const { chooser, faults } = this.#world;
    const { ratePpmMax } = faults;
    switch (chooser.below(4)) {
      case 0:
        return ratePpmMax;
      case 1:
        return -ratePpmMax;
      default:
        return chooser.below(2 * ratePpmMax + 1) - ratePpmMax;
    }
  }
}
