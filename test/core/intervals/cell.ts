/** A cell of interval-lease cores stepped by hand: messages are a list, disks are maps, time stands still unless a test moves it. */
import { incarnation, monoUs, nodeId, wallUs, type NodeId } from '../../../src/kernel/index.ts';
import {
  IntervalLeaseCore,
  type Completion,
  type IntervalCommand,
  type IntervalEvent,
  type IntervalLeaseConfig,
  type IntervalMessage,
  type Step,
} from '../../../src/core/index.ts';

export interface Flight {
  readonly from: NodeId;
  readonly life: number;
  readonly to: NodeId;
  readonly message: IntervalMessage;
}

/** Of one call: what tests send comes to rest long before. */
const DELIVERIES_MAX = 100_000;

export class IntervalCell {
  readonly config: IntervalLeaseConfig;
  readonly cores: IntervalLeaseCore[] = [];
  readonly lives: number[] = [];
  readonly disks: Map<string, Uint8Array>[] = [];
  readonly events: IntervalEvent[][] = [];
  readonly flights: Flight[] = [];
  /** How many times a disk was written. */
  writes = 0;
  nowUs = 0;
  isFailing = false;
  /** Writes that do not get done: a crash comes first. */
  isHeld: (node: number, key: string) => boolean = () => false;
  #lives = 0;

  constructor(config: IntervalLeaseConfig, nodes: number) {
    this.config = config;
    for (let node = 0; node < nodes; node++) {
      this.disks.push(new Map());
      this.events.push([]);
      this.start(node);
    }
  }

  start(node: number, keepsDisk = true): void {
    if (!keepsDisk) this.disks[node] = new Map();
    this.lives[node] = ++this.#lives;
    const boot = { self: nodeId(node), incarnation: incarnation(this.#lives), restarted: true, diskKept: keepsDisk };
    this.cores[node] = new IntervalLeaseCore(this.config, boot);
    this.#step(node, (core, step) => core.start(step));
  }

  command(node: number, command: IntervalCommand): void {
    this.#step(node, (core, step) => core.command(command, step));
  }

  /** Delivers everything that is under way, and what comes of it. */
  deliver(isLost: (flight: Flight) => boolean = () => false): void {
    let left = DELIVERIES_MAX;
    for (let flight = this.flights.shift(); flight; flight = this.flights.shift()) {
      if (left-- === 0) throw new Error('every answer is answered: this never ends');
      const { from, life, to, message } = flight;
      if (isLost(flight)) continue;
      const sender = { node: from, incarnation: incarnation(life), isAdmin: true };
      if (this.cores[to]?.admits(sender, message)) this.#step(to, (core, step) => core.receive(from, message, step));
    }
  }

  /** Hands over a copy of what was sent earlier. */
  again({ from, life, to, message }: Flight): void {
    this.flights.push({ from, life, to, message });
    this.deliver();
  }

  /** Time goes by; whoever wants to be woken is. */
  pass(us: number, isLost: (flight: Flight) => boolean = () => false): void {
    const endUs = this.nowUs + us;
    while (this.nowUs < endUs) {
      this.nowUs = Math.min(endUs, ...this.cores.map(({ wakeAt }) => Math.max(wakeAt, this.nowUs + 1)));
      for (const [node, core] of this.cores.entries()) if (core.wakeAt <= this.nowUs) this.#step(node, (one, step) => one.wake(step));
      this.deliver(isLost);
    }
  }

  bootstrap(): void {
    this.command(0, { kind: 'bootstrap', waitUs: 1_000_000 });
    this.deliver();
  }

  last<Kind extends IntervalEvent['kind']>(node: number, kind: Kind): Extract<IntervalEvent, { kind: Kind }> | undefined {
    return this.events[node]?.findLast((event): event is Extract<IntervalEvent, { kind: Kind }> => event.kind === kind);
  }

  #step(node: number, act: (core: IntervalLeaseCore, step: Step<IntervalMessage, IntervalEvent>) => void): void {
    const core = this.cores[node] as IntervalLeaseCore;
    const done: Completion[] = [];
    const disk = this.disks[node] as Map<string, Uint8Array>;
    const complete = (op: number, value: Uint8Array | null): void => {
      done.push({ op, ok: !this.isFailing, isLost: false, value, version: null, keys: null });
    };
    act(core, {
      monoUs: monoUs(this.nowUs),
      wallUs: wallUs(0),
      choose: (bound) => Math.floor(bound / 3),
      send: (to, message) =>
        void this.flights.push({ from: nodeId(node), life: this.lives[node] ?? 0, to, message: structuredClone(message) }),
      read: (_unit, key, op) => complete(op, disk.get(key) ?? null),
      write: (_unit, key, value, op) => {
        this.writes++;
        if (this.isHeld(node, key)) return;
        if (!this.isFailing) disk.set(key, value.slice());
        complete(op, null);
      },
      swap: () => undefined,
      erase: () => undefined,
      list: () => undefined,
      emit: (event) => void this.events[node]?.push(event),
    });
    for (const completion of done) this.#step(node, (one, step) => one.completed(completion, step));
  }
}
