/**
 * Liars: processes that know the secret of clients and keep no rule. A liar sends well-formed messages of any kind to
 * anyone, made up or copied from what went over the wire, whose every word it has heard. It cannot be another process:
 * whoever gets its messages knows the number and the incarnation of the connection they came by. It stops when the
 * world heals; from then on progress is owed.
 */
import { monoAfter, NEVER, nodeId, spanUs, type MonoUs } from '../kernel/index.ts';
import type { Boot, Core, Snapshot, Step } from '../core/index.ts';
import { ByteReader, ByteWriter, type Codec } from '../wire/index.ts';
import type { Desk, User } from './protocol.ts';

/** So many messages are remembered: what is older is of no use to a liar. */
const REMEMBERED = 48;
const LAST = 8;
/** Messages of one burst, at most. */
const BURST_MAX = 4;

/** Where a forger finds itself. */
export interface LiarGround {
  readonly boot: Boot;
  readonly nodes: number;
  readonly wallUs: number;
  choose(bound: number): number;
}

/** Makes up a message, or changes one that was overheard; `overheard` is the forger's to change. */
export type Forge<Message> = (overheard: Message | null, ground: LiarGround) => Message;

/** What was sent lately, by anyone. */
export class Overheard<Message> {
  readonly #codec: Codec<Message>;
  readonly #writer = new ByteWriter();
  readonly #reader = new ByteReader();
  readonly #ring: Uint8Array[] = [];
  #next = 0;

  constructor(codec: Codec<Message>) {
    this.#codec = codec;
  }

  note(message: Message): void {
    this.#writer.reset();
    this.#codec.encode(message, this.#writer);
    this.#ring[this.#next] = this.#writer.bytes.slice(0, this.#writer.length);
    this.#next = (this.#next + 1) % REMEMBERED;
  }

  /** One of them; good until the next is asked for. Null if nothing was sent yet. */
  recall(choose: (bound: number) => number): Message | null {
    // Mostly one of the last: those who sent it still wait for the answer.
    const back = 1 + choose(choose(2) === 0 ? LAST : REMEMBERED);
    const bytes = this.#ring[(this.#next + REMEMBERED - back) % REMEMBERED];
    if (bytes === undefined) return null;
    this.#reader.reset(bytes, 0, bytes.length);
    return this.#codec.decode(this.#reader);
  }
}

export class LyingCore<Message, Command, Event> implements Core<Message, Command, Event> {
  wakeAt: MonoUs = NEVER;
  readonly #boot: Boot;
  readonly #nodes: number;
  readonly #everyUs: number;
  readonly #overheard: Overheard<Message>;
  readonly #forge: Forge<Message>;

  constructor(boot: Boot, nodes: number, everyUs: number, overheard: Overheard<Message>, forge: Forge<Message>) {
    this.#boot = boot;
    this.#nodes = nodes;
    this.#everyUs = everyUs;
    this.#overheard = overheard;
    this.#forge = forge;
  }

  start(step: Step<Message, Event>): void {
    this.#plan(step);
  }

  wake(step: Step<Message, Event>): void {
    const ground = { boot: this.#boot, nodes: this.#nodes, wallUs: step.wallUs, choose: (bound: number): number => step.choose(bound) };
    for (let left = 1 + step.choose(BURST_MAX); left > 0; left--) {
      const overheard = step.choose(4) === 0 ? null : this.#overheard.recall(ground.choose);
      const lie = this.#forge(overheard, ground);
      // To one node, or to all.
      const first = step.choose(this.#nodes);
      const to = step.choose(2) === 0 ? 1 : this.#nodes;
      for (let i = 0; i < to; i++) step.send(nodeId((first + i) % this.#nodes), lie);
    }
    this.#plan(step);
  }

  #plan(step: Step<Message, Event>): void {
    this.wakeAt = monoAfter(step.monoUs, spanUs(1 + step.choose(2 * this.#everyUs)));
  }

  stop(): void {
    this.wakeAt = NEVER;
  }

  admits(): boolean {
    return true;
  }

  receive(): void {}
  command(): void {}
  completed(): void {}

  snapshot(): Snapshot {
    return this.wakeAt;
  }

  restore(snapshot: Snapshot): void {
    this.wakeAt = snapshot as MonoUs;
  }
}

/** Whoever runs a liar asks for nothing, and owes nothing. */
export class LyingUser<Message, Command, Event> implements User<Event> {
  readonly #core: LyingCore<Message, Command, Event>;
  readonly #desk: Desk<Command>;

  constructor(core: LyingCore<Message, Command, Event>, desk: Desk<Command>) {
    this.#core = core;
    this.#desk = desk;
  }

  start(): void {}
  event(): void {}
  timer(): void {}

  healed(): void {
    this.#core.stop();
    this.#desk.done();
  }

  waitingFor(): string {
    return 'nothing';
  }
}
