/**
 * Liars: processes that know the secret of clients and keep no rule. A liar sends well-formed messages of any kind to
 * any node, made up or copied from the wire, whose every word it has heard. It cannot be another process:
 * a receiver of its messages knows the number and the incarnation of the connection they came by. It stops when the
 * world heals; from then on progress is owed.
 */
import { monoAfter, NEVER, nodeId, spanUs, type MonoUs } from '../kernel/index.ts';
import type { Boot, Core, Snapshot, Step } from '../core/index.ts';
import { ByteReader, ByteWriter, type Codec } from '../wire/index.ts';
import type { Desk, Forger, User } from './protocol.ts';

/** So many messages are remembered: older messages are of no use to a liar. */
const REMEMBERED = 48;
const LAST = 8;
/** Messages of one burst, at most. */
const BURST_MAX = 4;

/** What honest nodes have sent lately. */
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

  /** The last one is 1 back. Good until the next is asked for; null if there is none. */
  recall(back: number): Message | null {
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
  readonly #forger: Forger<Message>;

  constructor(boot: Boot, nodes: number, everyUs: number, overheard: Overheard<Message>, forger: Forger<Message>) {
    this.#boot = boot;
    this.#nodes = nodes;
    this.#everyUs = everyUs;
    this.#overheard = overheard;
    this.#forger = forger;
  }

  start(step: Step<Message, Event>): void {
    this.#plan(step);
  }

  wake(step: Step<Message, Event>): void {
    if (step.choose(3) === 0) this.#please(step);
    else this.#lie(step);
    this.#plan(step);
  }

  #lie(step: Step<Message, Event>): void {
    const ground = { boot: this.#boot, nodes: this.#nodes, wallUs: step.wallUs, choose: (bound: number): number => step.choose(bound) };
    for (let left = 1 + step.choose(BURST_MAX); left > 0; left--) {
      // Mostly one of the last: its sender still waits for the answer.
      const back = 1 + step.choose(step.choose(2) === 0 ? LAST : REMEMBERED);
      const lie = this.#forger.lie(step.choose(4) === 0 ? null : this.#overheard.recall(back), ground);
      // To one node, or to all.
      const first = step.choose(this.#nodes);
      const to = step.choose(2) === 0 ? 1 : this.#nodes;
      for (let i = 0; i < to; i++) step.send(nodeId((first + i) % this.#nodes), lie);
    }
  }

  /** Answers the last questions to any node, as the askers hope. */
  #please(step: Step<Message, Event>): void {
    for (let back = 1; back <= LAST; back++) {
      const asked = this.#overheard.recall(back);
      const answer = asked === null ? null : this.#forger.pleasing(asked);
      if (answer !== null) for (let node = 0; node < this.#nodes; node++) step.send(nodeId(node), answer);
    }
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

/** The application of a liar asks for nothing, and is owed nothing. */
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
