/**
 * The contract between a protocol core and whatever drives it: the simulator, the explorer or the
 * runtime on a real machine. A core is a state machine. It touches no clock, no random source, no
 * socket and no disk: all it may touch besides itself is the `Step` it is handed.
 *
 * The life of a core:
 * 1. The driver constructs it, for a fresh node or a restarted one (`Boot`), and calls `start` once.
 * 2. Every input is one call: `receive`, `command`, `wake` or `completed`. The core mutates itself and
 *    emits effects into the step. Effects take place in the order emitted, but a crash may cut the
 *    sequence anywhere: no reply may rely on a write emitted earlier in the same step. A reply that
 *    depends on a write is emitted in the step that learns the write is done.
 * 3. Before each `receive` the driver asks `admits`. It knows the sender from the connection; a message
 *    the sender may not send is dropped, and never reaches `receive`.
 * 4. After each call the driver reads `wakeAt` and calls `wake` at or after that instant, perhaps
 *    much later. Being late is normal; a core judges time by `step.monoUs`, never by having been woken.
 *
 * Same construction, same inputs, same choices: same effects and same snapshot.
 */
import type { Incarnation, MonoUs, NodeId, WallUs } from '../kernel/index.ts';

/** How a core came to life. */
export interface Boot {
  readonly self: NodeId;
  /** Fresh at every start (rule 3). */
  readonly incarnation: Incarnation;
  /** False only at the very first start of a brand-new node: nothing of it can be out there. */
  readonly restarted: boolean;
  /** Whether what this node wrote to its own disk before is still there to be read. */
  readonly diskKept: boolean;
}

/** The sender of a message, as the driver knows it from the connection. Nothing of this is taken from the message. */
export interface Sender {
  readonly node: NodeId;
  /** The incarnation that the sender has proved to be. */
  readonly incarnation: Incarnation;
  /** It has proved the members' secret, or there is none: it may ask for what only members may. */
  readonly isAdmin: boolean;
}

/** A place that stores: `OWN_DISK`, or the number of a shared unit. */
export type UnitId = number;
export const OWN_DISK: UnitId = -1;

/**
 * Which record a read found. A conditional change names the version it has seen; null stands for "nothing there". Versions mean nothing to a core but
 * that equal versions are equal. A unit that compares bytes gives equal records equal versions: a record that was changed and changed back has its
 * old version, so a core that must know that nothing happened in between never writes the same bytes twice.
 */
export type Version = Uint8Array;

/** The answer to an access: `read`, `write`, `swap`, `erase` or `list`. It may come late, or never. */
export interface Completion {
  /** The number the core gave when it asked. */
  readonly op: number;
  /** False when the unit says it failed, or its outcome is unknown. The access may have taken effect all the same, and may do so later. */
  readonly ok: boolean;
  /** True for a `swap` that found another version than it named: it has changed nothing, and never will. A swap that is `ok` and not lost is won. */
  readonly isLost: boolean;
  /** What a read found; null when nothing is there, and for everything else. */
  readonly value: Uint8Array | null;
  /** Of what a read found, or a change left behind; null when nothing is there, for a swap that was lost, and on own disks, which have one user. */
  readonly version: Version | null;
  /** The keys that a `list` found, in the order of their bytes; null for everything else. */
  readonly keys: readonly string[] | null;
}

/** One step: the instant, the choices, and the outbox. Valid only during the call it is handed to. */
export interface Step<Message, Event> {
  /** Read once per step by the driver; does not move during the step. */
  readonly monoUs: MonoUs;
  readonly wallUs: WallUs;

  /** An integer in [0, bound), from the driver's chooser. */
  choose(bound: number): number;

  /** The outbox has encoded or copied `message` when this returns: the core may reuse the record at once. */
  send(to: NodeId, message: Message): void;

  read(unit: UnitId, key: string, op: number): void;
  /** `value` is copied when this returns, but for the own disk: the core does not change those bytes before the write is answered. */
  write(unit: UnitId, key: string, value: Uint8Array, op: number): void;
  /**
   * Of a shared unit: takes effect only if the record has this version at that instant. On null it creates, to null it erases. Both are copied when
   * this returns. Of three outcomes the completion tells one: won, lost, or unknown (`ok` is false).
   */
  swap(unit: UnitId, key: string, seen: Version | null, value: Uint8Array | null, op: number): void;
  erase(unit: UnitId, key: string, op: number): void;
  /** Of a shared unit: the keys that begin with `prefix`. Keys that are there from the call to the answer are among them. */
  list(unit: UnitId, prefix: string, op: number): void;

  /** Tells the caller of this node. The core does not touch the event again. */
  emit(event: Event): void;
}

export interface Core<Message, Command, Event> {
  start(step: Step<Message, Event>): void;
  /** Whether this sender may say this. Depends on nothing but the sender, the message and what the core was built with. */
  admits(sender: Sender, message: Message): boolean;
  /** `message` belongs to the driver: the core keeps no reference to it after the call. */
  receive(from: NodeId, message: Message, step: Step<Message, Event>): void;
  command(command: Command, step: Step<Message, Event>): void;
  wake(step: Step<Message, Event>): void;
  completed(completion: Completion, step: Step<Message, Event>): void;

  /** The next instant at which this core wants `wake`; NEVER when idle. */
  readonly wakeAt: MonoUs;

  /**
   * The whole state, canonical: equal states give equal snapshots, however they came about.
   * Plain data (numbers may be Infinity), independent of table layout and of the core's later changes.
   */
  snapshot(): Snapshot;
  /** Takes over a state that `snapshot` of a core built with the same arguments returned. Stale wake-ups are forgotten. */
  restore(snapshot: Snapshot): void;
}

export type Snapshot = null | boolean | number | string | readonly Snapshot[] | { readonly [key: string]: Snapshot };
