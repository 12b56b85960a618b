/**
 * Runs a core on real clocks over a real link. It is the simulator's counterpart: the same core, the same
 * contract. One step at a time; what a step says reaches the caller after the step, never within it; a
 * core that breaks one of its own rules falls silent and says so, and takes nothing else with it.
 */
import { NEVER, TenureError, type Chooser, type MonoUs, type NodeId, type WallUs } from '../kernel/index.ts';
import { OWN_DISK, type Completion, type Core, type Sender, type Step, type UnitId, type Version } from '../core/index.ts';
import { ByteReader, ByteWriter, type Codec } from '../wire/index.ts';
import { ClockWatch, type ClockNotice, type ClockWatchCounts, type Clocks } from './clocks.ts';
import type { Disk } from './disk.ts';
import type { Link } from './link.ts';
import type { SharedUnit } from './shared-unit.ts';

export interface DriverOptions<Message, Command, Event> {
  readonly core: Core<Message, Command, Event>;
  /** For messages to and from others. */
  readonly codec: Codec<Message>;
  /** For messages to oneself, which are decoded while others may be in use. */
  readonly ownCodec: Codec<Message>;
  readonly self: NodeId;
  readonly link: Link;
  readonly clocks: Clocks;
  readonly chooser: Chooser;
  /** The node's own disk, if it has one. */
  readonly disk?: Disk | undefined;
  /** The shared units, by their numbers, if there are any. */
  readonly units?: ReadonlyMap<UnitId, SharedUnit> | undefined;
  /** The identity that a peer has proved; undefined for a peer that is not connected. */
  readonly senderOf: (peer: NodeId) => Sender | undefined;
  readonly onEvent: (event: Event) => void;
  readonly onClockNotice?: ClockNotice;
  /** The core failed an assertion: this node is silent from here on. */
  readonly onFailure: (error: TenureError) => void;
}

export class Driver<Message, Command, Event> implements Step<Message, Event> {
  monoUs: MonoUs = 0 as MonoUs;
  wallUs: WallUs = 0 as WallUs;

  readonly #core: Core<Message, Command, Event>;
  readonly #options: DriverOptions<Message, Command, Event>;
  readonly #watch: ClockWatch;
  readonly #reader = new ByteReader();
  readonly #ownReader = new ByteReader();
  /** Messages to oneself, encoded: each is its length in four bytes, then itself. */
  #own = new ByteWriter(1024);
  #ownSpare = new ByteWriter(1024);
  readonly #events: Event[] = [];
  #isStepping = false;
  /** Messages that came together are taken at one instant: no other code of the process runs between them. */
  #isBurst = false;
  #isTelling = false;
  #isStopped = false;
  #dueAt: MonoUs = NEVER;

  constructor(options: DriverOptions<Message, Command, Event>) {
    this.#options = options;
    this.#core = options.core;
    this.#watch = new ClockWatch(options.clocks.mono(), options.clocks.wall(), options.onClockNotice);
  }

  get clockCounts(): Readonly<ClockWatchCounts> {
    return this.#watch.counts;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  start(): void {
    if (!this.#begin()) return;
    try {
      this.#core.start(this);
      this.#deliverOwn();
    } catch (error) {
      this.#fail(error);
    }
    this.#finish();
    this.#options.clocks.asked?.();
  }

  /** Throws what the core says of a bad argument. */
  command(command: Command): void {
    if (!this.#begin()) return;
    let refusal: TenureError | null = null;
    try {
      this.#core.command(command, this);
      this.#deliverOwn();
    } catch (error) {
      if (error instanceof TenureError && error.code !== 'TENURE_INTERNAL') refusal = error;
      else this.#fail(error);
    }
    this.#finish();
    if (refusal !== null) throw refusal;
    this.#options.clocks.asked?.();
  }

  /** One message of a peer; false if the bytes are none, or the peer may not send it. */
  receive(from: NodeId, bytes: Uint8Array, start: number, end: number): boolean {
    this.#reader.reset(bytes, start, end);
    const message = this.#options.codec.decode(this.#reader);
    const sender = this.#options.senderOf(from);
    if (message === null || sender === undefined || !this.#core.admits(sender, message)) return false;
    if (!this.#begin(this.#isBurst)) return true;
    if (!this.#isBurst) {
      this.#isBurst = true;
      queueMicrotask(this.#endBurst);
    }
    try {
      this.#core.receive(from, message, this);
      this.#deliverOwn();
    } catch (error) {
      this.#fail(error);
    }
    this.#finish();
    return true;
  }

  stop(): void {
    this.#isStopped = true;
    this.#options.clocks.cancel();
  }

  // ── Step ───────────────────────────────────────────────────────────────────────────────────────────

  choose(bound: number): number {
    return this.#options.chooser.below(bound);
  }

  send(to: NodeId, message: Message): void {
    const { self, codec, link } = this.#options;
    if (to === self) {
      const own = this.#own;
      const at = own.length;
      own.u32(0);
      codec.encode(message, own);
      own.patchU32(at, own.length - at - 4);
      return;
    }
    const out = link.begin(to);
    if (out === null) return;
    codec.encode(message, out);
    link.end(to);
  }

  read(unit: UnitId, key: string, op: number): void {
    if (unit === OWN_DISK) this.#disk.read(key, (ok, value) => this.#completed(diskCompletion(op, ok, value)));
    else this.#unit(unit).read(key, (answer) => this.#completed({ op, ...answer }));
  }

  write(unit: UnitId, key: string, value: Uint8Array, op: number): void {
    if (unit === OWN_DISK) this.#disk.write(key, value, (ok) => this.#completed(diskCompletion(op, ok, null)));
    else this.#unit(unit).write(key, value, (answer) => this.#completed({ op, ...answer }));
  }

  swap(unit: UnitId, key: string, seen: Version | null, value: Uint8Array | null, op: number): void {
    this.#unit(unit).swap(key, seen, value, (answer) => this.#completed({ op, ...answer }));
  }

  erase(unit: UnitId, key: string, op: number): void {
    if (unit === OWN_DISK) this.#disk.erase(key, (ok) => this.#completed(diskCompletion(op, ok, null)));
    else this.#unit(unit).erase(key, (answer) => this.#completed({ op, ...answer }));
  }

  list(unit: UnitId, prefix: string, op: number): void {
    this.#unit(unit).list(prefix, (answer) => this.#completed({ op, ...answer }));
  }

  get #disk(): Disk {
    const { disk } = this.#options;
    if (disk === undefined) throw new TenureError('TENURE_INTERNAL', 'this node has no disk');
    return disk;
  }

  #unit(unit: UnitId): SharedUnit {
    const shared = this.#options.units?.get(unit);
    if (shared === undefined) throw new TenureError('TENURE_INTERNAL', `this node has no shared unit ${unit}`);
    return shared;
  }

  #completed(completion: Completion): void {
    if (!this.#begin()) return;
    try {
      this.#core.completed(completion, this);
      this.#deliverOwn();
    } catch (error) {
      this.#fail(error);
    }
    this.#finish();
  }

  emit(event: Event): void {
    this.#events.push(event);
  }

  // ── Turning the crank ──────────────────────────────────────────────────────────────────────────────

  // A step is `#begin`, what the core does, messages to oneself, `#finish`. It is written out where it happens: a
  // function that takes the middle as an argument would make a closure for every message.

  /** False if this node has fallen silent. `sameInstant`: as the step before. */
  #begin(sameInstant = false): boolean {
    if (this.#isStopped) return false;
    if (this.#isStepping) throw new TenureError('TENURE_INTERNAL', 'a step within a step');
    this.#isStepping = true;
    if (!sameInstant) this.#readClocks(null);
    return true;
  }

  /** No timer fires between two messages of a burst, so it is enough to look at its end when the core wants to be woken. */
  readonly #endBurst = (): void => {
    this.#isBurst = false;
    this.#plan();
  };

  #finish(): void {
    this.#isStepping = false;
    if (!this.#isBurst) this.#plan();
    this.#deliverEvents();
  }

  #readClocks(dueAt: MonoUs | null): void {
    const { clocks } = this.#options;
    this.monoUs = clocks.mono();
    this.wallUs = clocks.wall();
    this.#watch.look(this.monoUs, this.wallUs, dueAt);
  }

  /** Messages to oneself are steps of their own, in order, after the step that sent them. */
  #deliverOwn(): void {
    const { self, ownCodec } = this.#options;
    while (this.#own.length > 0) {
      const batch = this.#own;
      this.#own = this.#ownSpare;
      this.#own.reset();
      this.#ownSpare = batch;
      for (let at = 0; at < batch.length;) {
        const length = batch.readU32(at);
        this.#ownReader.reset(batch.bytes, at + 4, at + 4 + length);
        const message = ownCodec.decode(this.#ownReader);
        if (message === null) throw new TenureError('TENURE_INTERNAL', 'a message to oneself does not survive its codec');
        this.#core.receive(self, message, this);
        at += 4 + length;
      }
    }
  }

  /** The caller is told after the step. It may give commands at once: those are steps of their own, and their events come after. */
  #deliverEvents(): void {
    if (this.#isTelling || this.#events.length === 0) return;
    this.#isTelling = true;
    const { onEvent } = this.#options;
    const events = this.#events;
    let told = 0;
    try {
      // There may be more of them while they are told.
      while (told < events.length) onEvent(events[told++] as Event);
    } finally {
      // A listener that throws here harms no event but its own: the rest is told with the next step.
      if (told === events.length) events.length = 0;
      else events.splice(0, told);
      this.#isTelling = false;
    }
  }

  #plan(): void {
    if (this.#isStopped) return;
    this.#dueAt = this.#core.wakeAt;
    this.#options.clocks.wakeAt(this.#dueAt, this.#wake);
  }

  readonly #wake = (): void => {
    const dueAt = this.#dueAt;
    if (!this.#begin()) return;
    try {
      this.#watch.look(this.monoUs, this.wallUs, dueAt);
      if (this.monoUs >= this.#core.wakeAt) this.#core.wake(this);
      this.#deliverOwn();
    } catch (error) {
      this.#fail(error);
    }
    this.#finish();
  };

  #fail(error: unknown): void {
    this.stop();
    this.#own.reset();
    const failure =
      error instanceof TenureError
        ? error
        : new TenureError('TENURE_INTERNAL', error instanceof Error ? (error.stack ?? error.message) : String(error));
    this.#options.onFailure(failure);
  }
}

function diskCompletion(op: number, ok: boolean, value: Uint8Array | null): Completion {
  return { op, ok, isLost: false, value, version: null, keys: null };
}
