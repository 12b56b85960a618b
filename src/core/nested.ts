/**
 * One core inside another: broadcast steps consensus, which steps leases. The outer core owns the inner one and hands it a part of its own step. What
 * the inner core does goes through here: its messages travel in a lane of the outer core's messages, its accesses have keys with a prefix and op
 * numbers of the same lane, its events go to the outer core, after the inner step is over. Nothing is allocated for a message.
 *
 * The outer core takes lane 0 for itself and gives each inner core another below `lanes`. It asks each inner core to `admit`, `receive`, `wake` and
 * `complete` messages and answers of its lane, takes the earliest of all `wakeAt` for its own, and puts the inner snapshots into its own.
 */
import { invariant, type MonoUs, type NodeId, type WallUs } from '../kernel/index.ts';
import type { Completion, Core, Sender, Snapshot, Step, UnitId, Version } from './contract.ts';

/** A message of one of the cores that make up another. The record is used again: as with any message, no receiver keeps it. */
export interface LaneMessage<Lane extends number, Message> {
  readonly lane: Lane;
  readonly message: Message;
}

export interface NestingOptions<Lane extends number, InnerEvent, OuterStep> {
  readonly lane: Lane;
  /** How many lanes there are, the outer core's own included. */
  readonly lanes: number;
  /** Keys of the inner core begin with this, and no others of the outer core do. */
  readonly prefix: string;
  /** What its messages carry besides: the same for all of them. */
  readonly stamp?: { readonly [field: string]: number } | undefined;
  /** The inner core says something. It may be given commands at once: those are steps of their own. */
  readonly heard: (event: InnerEvent, step: OuterStep) => void;
}

/** `OuterMessage` has the lane's messages among its own. */
export class NestedCore<Lane extends number, Message, Command, Event, OuterMessage, OuterEvent> implements Step<Message, Event> {
  monoUs: MonoUs = 0 as MonoUs;
  wallUs: WallUs = 0 as WallUs;
  readonly core: Core<Message, Command, Event>;
  readonly #options: NestingOptions<Lane, Event, Step<OuterMessage, OuterEvent>>;
  readonly #envelope: { readonly lane: Lane; message: Message };
  readonly #events: Event[] = [];
  #step: Step<OuterMessage, OuterEvent> | null = null;
  #isStepping = false;
  #isTelling = false;
  #underWay = 0;

  constructor(core: Core<Message, Command, Event>, options: NestingOptions<Lane, Event, Step<OuterMessage, OuterEvent>>) {
    const { lane, lanes } = options;
    invariant(lane > 0 && lane < lanes, 'lane 0 is the outer core itself, and lanes are counted from there');
    this.core = core;
    this.#options = options;
    this.#envelope = { ...options.stamp, lane, message: undefined as Message };
  }

  get wakeAt(): MonoUs {
    return this.core.wakeAt;
  }

  start(step: Step<OuterMessage, OuterEvent>): void {
    this.#enter(step);
    this.core.start(this);
    this.#leave(step);
  }

  admits(sender: Sender, message: Message): boolean {
    return this.core.admits(sender, message);
  }

  receive(from: NodeId, message: Message, step: Step<OuterMessage, OuterEvent>): void {
    this.#enter(step);
    this.core.receive(from, message, this);
    this.#leave(step);
  }

  /** Throws what the inner core says of a bad argument. */
  command(command: Command, step: Step<OuterMessage, OuterEvent>): void {
    this.#enter(step);
    try {
      this.core.command(command, this);
    } finally {
      this.#exit();
    }
    this.#leave(step);
  }

  /** Only if the inner core wants it: the outer one is woken for others as well. */
  wake(step: Step<OuterMessage, OuterEvent>): void {
    if (step.monoUs < this.core.wakeAt) return;
    this.#enter(step);
    this.core.wake(this);
    this.#leave(step);
  }

  /** Accesses that are not answered yet. */
  get underWay(): number {
    return this.#underWay;
  }

  /** False if this is not an access of this core. The answer is dropped: the core is used no more, and its accesses only waited for. */
  discard({ op }: Completion): boolean {
    const { lane, lanes } = this.#options;
    if ((op - lane) % lanes !== 0) return false;
    this.#underWay--;
    return true;
  }

  /** False if this is not an access of this core. */
  completed(completion: Completion, step: Step<OuterMessage, OuterEvent>): boolean {
    const { prefix, lane, lanes } = this.#options;
    const { op, keys } = completion;
    // Op numbers may be negative.
    if (!this.discard(completion)) return false;
    this.#enter(step);
    const own = keys && keys.map((key) => key.slice(prefix.length));
    this.core.completed({ ...completion, op: (op - lane) / lanes, keys: own }, this);
    this.#leave(step);
    return true;
  }

  snapshot(): Snapshot {
    return this.core.snapshot();
  }

  restore(snapshot: Snapshot): void {
    this.core.restore(snapshot);
  }

  // ── Step, of the inner core ────────────────────────────────────────────────────────────────────────

  choose(bound: number): number {
    return this.#outer.choose(bound);
  }

  send(to: NodeId, message: Message): void {
    this.#envelope.message = message;
    this.#outer.send(to, this.#envelope as OuterMessage);
  }

  read(unit: UnitId, key: string, op: number): void {
    this.#outer.read(unit, this.#options.prefix + key, this.#opOf(op));
  }

  write(unit: UnitId, key: string, value: Uint8Array, op: number): void {
    this.#outer.write(unit, this.#options.prefix + key, value, this.#opOf(op));
  }

  swap(unit: UnitId, key: string, seen: Version | null, value: Uint8Array | null, op: number): void {
    this.#outer.swap(unit, this.#options.prefix + key, seen, value, this.#opOf(op));
  }

  erase(unit: UnitId, key: string, op: number): void {
    this.#outer.erase(unit, this.#options.prefix + key, this.#opOf(op));
  }

  list(unit: UnitId, prefix: string, op: number): void {
    this.#outer.list(unit, this.#options.prefix + prefix, this.#opOf(op));
  }

  emit(event: Event): void {
    this.#events.push(event);
  }

  get #outer(): Step<OuterMessage, OuterEvent> {
    invariant(this.#step !== null, 'a nested core keeps no step');
    return this.#step;
  }

  #opOf(op: number): number {
    const { lane, lanes } = this.#options;
    this.#underWay++;
    return op * lanes + lane;
  }

  #enter(step: Step<OuterMessage, OuterEvent>): void {
    invariant(!this.#isStepping, 'a nested core is stepped within its own step');
    this.#isStepping = true;
    this.#step = step;
    this.monoUs = step.monoUs;
    this.wallUs = step.wallUs;
  }

  #exit(): void {
    this.#isStepping = false;
    this.#step = null;
  }

  /** The inner step is over: the outer core hears the inner core's events, and the events that its own commands cause, in order. */
  #leave(step: Step<OuterMessage, OuterEvent>): void {
    this.#exit();
    if (this.#isTelling || this.#events.length === 0) return;
    this.#isTelling = true;
    const events = this.#events;
    // There may be more of them while they are told.
    for (let told = 0; told < events.length; told++) this.#options.heard(events[told] as Event, step);
    events.length = 0;
    this.#isTelling = false;
  }
}

/** The number of an access of the outer core itself. */
export function ownOp(op: number, lanes: number): number {
  return op * lanes;
}

/** The earliest of what a core and those inside it want to be woken for. */
export function earliest(first: MonoUs, second: MonoUs): MonoUs {
  return first < second ? first : second;
}
