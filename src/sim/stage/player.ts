/**
 * One process on a stage: a core and its actor, stepped by one input at a time, with everything that
 * comes of a step collected instead of carried out. The stage and the explorer both play with it.
 */
import { nodeId, TenureError, type Chooser, type Incarnation, type MonoUs, type NodeId, type WallUs } from '../../kernel/index.ts';
import type { Boot, Completion, Core, Snapshot, Step, UnitId, Version } from '../../core/index.ts';
import { ByteReader, ByteWriter } from '../../wire/index.ts';
import { Teller, type ApplicationReport } from '../chronicle.ts';
import { brokenInvariant } from '../broken-core.ts';
import type { Desk, Scenario } from '../protocol.ts';
import type { AccessRequest } from '../registers.ts';
import type { Actor, StagedProtocol } from './staging.ts';

export interface Sent {
  readonly to: number;
  readonly bytes: Uint8Array;
}

export type Input =
  | { readonly kind: 'start' }
  | { readonly kind: 'act'; readonly verb: string; readonly words: readonly string[] }
  | { readonly kind: 'receive'; readonly from: number; readonly life: Incarnation; readonly bytes: Uint8Array }
  | { readonly kind: 'wake' }
  /** The application does something of itself. */
  | { readonly kind: 'user' }
  | { readonly kind: 'completed'; readonly completion: Completion };

/** No message is half written or read between two steps, so players share these: a search builds players all the time. */
const writer = new ByteWriter();
const reader = new ByteReader();

export class Player<Message, Command, Event, Config> extends Teller implements Step<Message, Event>, Desk<Command> {
  readonly core: Core<Message, Command, Event>;
  readonly actor: Actor<Event>;
  readonly boot: Boot;
  // Step and desk: the clocks of the step, told before each.
  monoUs: MonoUs = 0 as MonoUs;
  wallUs: WallUs = 0 as WallUs;
  /** All goes well from here on: progress is owed. */
  healed = false;
  /** What the core draws, where nothing was said about it. */
  dice: Chooser | null = null;
  // What came of the last step.
  readonly sent: Sent[] = [];
  readonly asked: AccessRequest[] = [];
  readonly told: ApplicationReport[] = [];
  readonly events: Event[] = [];
  readonly commands: Command[] = [];
  readonly #staging: StagedProtocol<Message, Command, Event, Config>;
  readonly #inbox: Event[] = [];
  readonly #outbox: Command[] = [];
  #choices: readonly number[] = [];
  #chosen = 0;
  #effectsLeft = Infinity;

  constructor(staging: StagedProtocol<Message, Command, Event, Config>, scenario: Scenario<Config>, boot: Boot, mutant: string | null) {
    super();
    this.#staging = staging;
    this.boot = boot;
    this.core = staging.protocol.core(scenario, boot, mutant);
    this.actor = staging.actor(scenario, this.core, this);
  }

  get node(): number {
    return this.boot.self;
  }

  get incarnation(): number {
    return this.boot.incarnation;
  }

  /** One input at one instant. The process is about to crash if its effects are limited: no more of them get out. */
  play(input: Input, mono: MonoUs, wall: WallUs, choices: readonly number[] = [], effectsMax: number = Infinity): void {
    this.#effectsLeft = effectsMax;
    this.monoUs = mono;
    this.wallUs = wall;
    this.#choices = choices;
    this.#chosen = 0;
    for (const list of [this.sent, this.asked, this.told, this.events, this.commands]) list.length = 0;
    try {
      this.#step(input);
    } catch (error) {
      this.told.push({ kind: 'broke', message: brokenInvariant(error) });
    }
  }

  #step(input: Input): void {
    switch (input.kind) {
      case 'start':
        this.core.start(this);
        break;
      case 'act':
        this.actor.act(input.verb, input.words);
        break;
      case 'receive': {
        reader.reset(input.bytes, 0, input.bytes.length);
        const message = this.#staging.protocol.codec.decode(reader);
        if (message === null) throw new TenureError('TENURE_INTERNAL', 'a message of the stage does not survive its own codec');
        const node = nodeId(input.from);
        if (this.core.admits({ node, incarnation: input.life, isAdmin: true }, message)) this.core.receive(node, message, this);
        break;
      }
      case 'wake':
        this.core.wake(this);
        break;
      case 'user':
        this.actor.wake?.();
        break;
      case 'completed':
        this.core.completed(input.completion, this);
        break;
    }
    this.#drain();
  }

  /** Events reach the actor, whose commands reach the core, until all is said. */
  #drain(): void {
    while (this.#effectsLeft > 0) {
      const event = this.#inbox.shift();
      if (event !== undefined) {
        this.actor.event(event);
        continue;
      }
      const command = this.#outbox.shift();
      if (command === undefined) return;
      this.commands.push(command);
      this.core.command(command, this);
    }
  }

  /** False once the crash that ends this step has come. */
  #takeEffect(): boolean {
    return this.#effectsLeft-- > 0;
  }

  /** Core and actor. */
  snapshot(): Snapshot {
    return [this.core.snapshot(), this.actor.snapshot()];
  }

  /** Of a player that was just built with the same arguments. */
  restore(snapshot: Snapshot): void {
    const [core, actor] = snapshot as readonly [Snapshot, Snapshot];
    this.core.restore(core);
    this.actor.restore(actor);
  }

  // ── Step ───────────────────────────────────────────────────────────────────────────────────────────

  choose(bound: number): number {
    return Math.min(this.#choices[this.#chosen++] ?? this.dice?.below(bound) ?? 0, bound - 1);
  }

  send(to: NodeId, message: Message): void {
    if (!this.#takeEffect()) return;
    writer.reset();
    this.#staging.protocol.codec.encode(message, writer);
    this.sent.push({ to, bytes: writer.bytes.slice(0, writer.length) });
  }

  read(unit: UnitId, key: string, op: number): void {
    if (this.#takeEffect()) this.asked.push({ action: 'read', unit, key, op });
  }

  write(unit: UnitId, key: string, value: Uint8Array, op: number): void {
    if (this.#takeEffect()) this.asked.push({ action: 'write', unit, key, op, value: value.slice() });
  }

  swap(unit: UnitId, key: string, seen: Version | null, value: Uint8Array | null, op: number): void {
    if (!this.#takeEffect()) return;
    this.asked.push({ action: 'swap', unit, key, op, seen: seen?.slice() ?? null, value: value?.slice() ?? null });
  }

  erase(unit: UnitId, key: string, op: number): void {
    if (this.#takeEffect()) this.asked.push({ action: 'erase', unit, key, op });
  }

  list(unit: UnitId, prefix: string, op: number): void {
    if (this.#takeEffect()) this.asked.push({ action: 'list', unit, key: prefix, op });
  }

  emit(event: Event): void {
    if (!this.#takeEffect()) return;
    this.events.push(event);
    this.#inbox.push(event);
  }

  // ── Desk ───────────────────────────────────────────────────────────────────────────────────────────

  command(command: Command): void {
    this.#outbox.push(command);
  }

  /** Actors have no timers: a script says when. */
  after(): void {
    throw new TenureError('TENURE_INTERNAL', 'an actor on a stage sets no timers');
  }

  /** A script says itself when a process is started anew. */
  quit(): void {}

  protected report(told: ApplicationReport): void {
    this.told.push(told);
  }

  sometimes(): void {}

  done(): void {}
}
