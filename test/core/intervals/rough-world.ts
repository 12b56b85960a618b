/**
 * A world of interval-lease cores that is rougher than the simulator's, and knows nothing of it: messages come in any order, get lost, come again much later;
 * writes take effect in any order, and a crash loses any of those under way; disks are lost; anybody bootstraps at any time. One thing is judged:
 * no integer is granted twice.
 */
import { incarnation, monoUs, nodeId, SeededChooser, wallUs, type Incarnation } from '../../../src/kernel/index.ts';
import { IntervalLeaseCore, type IntervalCommand, type IntervalEvent, type IntervalMessage, type Step } from '../../../src/core/index.ts';

export interface RoughHabits {
  /** Of a thousand steps. */
  readonly crashes: number;
  readonly bootstraps: number;
  /** Of a hundred crashes of a member. */
  readonly losses: number;
}

interface Letter {
  readonly from: number;
  readonly incarnation: Incarnation;
  readonly to: number;
  readonly message: IntervalMessage;
}

interface Access {
  readonly key: string;
  readonly op: number;
  /** Null for a read. */
  readonly value: Uint8Array | null;
}

interface RoughNode {
  core: IntervalLeaseCore;
  incarnation: Incarnation;
  disk: Map<string, Uint8Array>;
  accesses: Access[];
  asked: number;
}

const MEMBERS = 3;
const NODES = 5;
const NEEDED = 2;
const COPIES_MAX = 3000;

export class RoughWorld {
  readonly #chooser: SeededChooser;
  readonly #habits: RoughHabits;
  readonly #nodes: RoughNode[] = [];
  #letters: Letter[] = [];
  readonly #copies: Letter[] = [];
  readonly granted: { readonly from: number; readonly to: number }[] = [];
  readonly twice: string[] = [];
  #nowUs = 1000;
  #lives = 0;
  #claims = 0;
  #front = 0;

  constructor(seed: number, habits: RoughHabits) {
    this.#chooser = new SeededChooser(seed);
    this.#habits = habits;
    for (let node = 0; node < NODES; node++) this.#start(node, new Map());
    this.#command(0, { kind: 'bootstrap', waitUs: 500_000 });
  }

  run(steps: number): this {
    for (let i = 0; i < steps && this.twice.length === 0; i++) this.#go();
    return this;
  }

  /** All is well from here on; whether everybody gets a block. */
  heals(): boolean {
    // Whoever was to begin the disks may have crashed.
    this.#command(0, { kind: 'bootstrap', waitUs: 500_000 });
    for (let i = 0; i < 60_000 && this.#nodes.some(({ core }) => core.diskPhase !== null && core.diskPhase !== 'ready'); i++) this.#goOn();
    const before = this.granted.length;
    for (let node = 0; node < NODES; node++) this.#command(node, { kind: 'next', claim: ++this.#claims, space: 's', size: 2 });
    for (let i = 0; i < 60_000 && this.granted.length < before + NODES; i++) this.#goOn();
    return this.granted.length >= before + NODES;
  }

  #below(bound: number): number {
    return this.#chooser.below(bound);
  }

  #go(): void {
    const { crashes, bootstraps, losses } = this.#habits;
    const drawn = this.#below(1000);
    if (drawn < crashes) {
      const node = this.#below(NODES);
      this.#crash(node, node < MEMBERS && this.#below(100) < losses && this.#maySpare(node));
    } else if (drawn < crashes + bootstraps) {
      this.#command(this.#below(MEMBERS), { kind: 'bootstrap', waitUs: 20_000 + this.#below(50_000) });
    } else if (drawn < crashes + bootstraps + 30) {
      this.#ask(this.#below(NODES));
    } else if (this.#copies.length > 0 && this.#below(60) === 0) {
      this.#hand(this.#copies[this.#below(this.#copies.length)] as Letter);
    } else {
      this.#goOn(5);
    }
  }

  /** Time passes, a letter arrives, an access is done. */
  #goOn(lossPercent = 0): void {
    this.#nowUs += this.#below(30);
    for (const [node, { core }] of this.#nodes.entries())
      if (core.wakeAt <= this.#nowUs && this.#below(2) === 0) this.#step(node, (step) => core.wake(step));
    if (this.#letters.length > 0 && this.#below(2) === 0) {
      const [letter] = this.#letters.splice(this.#below(3) > 0 ? 0 : this.#below(this.#letters.length), 1);
      if (letter === undefined) return;
      if (this.#below(4) === 0 && this.#copies.length < COPIES_MAX) this.#copies.push(letter);
      if (this.#below(100) >= lossPercent) this.#hand(letter);
    } else {
      this.#access(this.#below(NODES));
    }
  }

  #ask(node: number): void {
    const one = this.#nodes[node] as RoughNode;
    const claim = ++this.#claims;
    const kind = this.#below(10);
    if (kind < 3 && one.asked > 0) this.#command(node, { kind: 'call-off', claim: one.asked });
    else if (kind < 5) this.#command(node, { kind: 'next', claim, space: 's', size: 1 + this.#below(3) });
    else {
      const from = Math.max(0, this.#front - 2 + this.#below(8));
      this.#command(node, { kind: 'claim', claim, space: 's', from, to: from + this.#below(4) });
    }
    one.asked = claim;
  }

  /** A majority of the disks is never lost. */
  #maySpare(node: number): boolean {
    return this.#nodes.filter(({ core }, other) => other !== node && core.diskPhase === 'ready').length >= NEEDED;
  }

  #start(node: number, disk: Map<string, Uint8Array>): void {
    const born = incarnation(++this.#lives);
    const boot = { self: nodeId(node), incarnation: born, restarted: true, diskKept: disk.size > 0 };
    const core = new IntervalLeaseCore({ members: MEMBERS, rttUs: 1000, placesMin: 1, piecesPerPage: 1 }, boot);
    this.#nodes[node] = { core, incarnation: born, disk, accesses: [], asked: 0 };
    this.#step(node, (step) => core.start(step));
  }

  #crash(node: number, isLost: boolean): void {
    const { disk, accesses } = this.#nodes[node] as RoughNode;
    for (const { key, value } of accesses) if (value !== null && this.#below(2) === 0) disk.set(key, value);
    this.#start(node, isLost ? new Map() : disk);
  }

  #command(node: number, command: IntervalCommand): void {
    this.#step(node, (step) => this.#nodes[node]?.core.command(command, step));
  }

  #hand({ from, incarnation: who, to, message }: Letter): void {
    const { core } = this.#nodes[to] as RoughNode;
    if (core.admits({ node: nodeId(from), incarnation: who, isAdmin: true }, message))
      this.#step(to, (step) => core.receive(nodeId(from), message, step));
  }

  #access(node: number): void {
    const { core, disk, accesses } = this.#nodes[node] as RoughNode;
    const [access] = accesses.splice(this.#below(Math.max(1, accesses.length)), 1);
    if (access === undefined) return;
    const { key, op, value } = access;
    const found = value === null ? (disk.get(key) ?? null) : null;
    if (value !== null) disk.set(key, value);
    this.#step(node, (step) => core.completed({ op, ok: true, isLost: false, value: found, version: null, keys: null }, step));
  }

  #step(node: number, act: (step: Step<IntervalMessage, IntervalEvent>) => void): void {
    const { accesses, incarnation: born } = this.#nodes[node] as RoughNode;
    act({
      monoUs: monoUs(this.#nowUs),
      wallUs: wallUs(0),
      choose: (bound) => this.#below(bound),
      send: (to, message) => void this.#letters.push({ from: node, incarnation: born, to, message: structuredClone(message) }),
      read: (_unit, key, op) => void accesses.push({ key, op, value: null }),
      write: (_unit, key, value, op) => void accesses.push({ key, op, value: value.slice() }),
      swap: () => undefined,
      erase: () => undefined,
      list: () => undefined,
      emit: (event) => this.#judge(node, event),
    });
  }

  #judge(node: number, event: IntervalEvent): void {
    if (event.kind !== 'granted') return;
    const { from, to } = event;
    const other = this.granted.find((one) => one.from <= to && from <= one.to);
    if (other) this.twice.push(`node ${node} has [${from}, ${to}], and [${other.from}, ${other.to}] was granted before`);
    this.granted.push({ from, to });
    this.#front = Math.max(this.#front, to);
  }
}
