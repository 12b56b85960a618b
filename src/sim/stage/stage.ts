/**
 * A small world that does only what it is told: nodes, messages under way, clocks and disks stand still
 * until an action moves one of them. The same actions give the same outcome; referees judge after each.
 */
import { incarnation, nodeId, type Incarnation, type MonoUs, type TenureError, type WallUs } from '../../kernel/index.ts';
import { OWN_DISK, type Core } from '../../core/index.ts';
import { ByteReader } from '../../wire/index.ts';
import { formatRecord, type HistoryRecord, type Violation } from '../../check/index.ts';
import { MachineClock } from '../clock.ts';
import type { Scenario } from '../protocol.ts';
import { bad, formatAction, formatMessageRef, formatSpan, parseAction, type MessageRef, type StageAction } from './actions.ts';
import { labelOf } from '../tape.ts';
import { Chronicle } from './chronicle.ts';
import { Player, type Asked, type Input } from './player.ts';
import type { Settings, Staging } from './staging.ts';

interface Flight extends MessageRef {
  readonly bytes: Uint8Array;
  copies: number;
}

interface Access extends Asked {
  readonly node: number;
  readonly incarnation: number;
  readonly number: number;
}

/** What came of an action, for people, in the order in which it came. */
export interface StageNote {
  readonly kind: 'sent' | 'told' | 'asked' | 'recorded' | 'violation';
  readonly text: string;
  readonly record?: HistoryRecord;
}

/** A stage with its protocol's types closed over. */
export interface AnyStage {
  readonly names: readonly string[];
  readonly nowUs: number;
  readonly violations: readonly Violation[];
  /** Messages that can be delivered, oldest first; one with copies is listed once. */
  readonly underWay: readonly MessageRef[];
  startAll(): void;
  do(action: StageAction): readonly StageNote[];
  /** Reads one line and does it. */
  line(text: string): readonly StageNote[];
  parse(text: string): StageAction;
  format(action: StageAction): string;
  describe(message: MessageRef): string;
  /** The oldest message under way with just these bytes. */
  find(from: number, to: number, bytes: Uint8Array): MessageRef | null;
  /** The nodes that hold a resource, by their own clocks. */
  holdersOf(resource: string): readonly number[];
  isUp(node: number): boolean;
  /** Until a node wants to be woken, on its own clock; 0 or less: now. Infinity: it does not, or it is down. */
  wakesInUs(node: number): number;
}

export class Stage<Message, Command, Event, Config> implements AnyStage {
  /** Of the nodes, then of processes that live on beside their successors. */
  readonly names: string[];
  readonly scenario: Scenario<Config>;
  readonly #staging: Staging<Message, Command, Event, Config>;
  readonly #mutant: string | null;
  readonly #clocks: readonly MachineClock[];
  readonly #players: (Player<Message, Command, Event, Config> | null)[];
  /** The machine of each process that lives on beside its successor, counted from the number of nodes on. */
  readonly #twinsOn: number[] = [];
  readonly #starts: number[];
  readonly #paused: Set<number> = new Set();
  readonly #flights: Flight[] = [];
  readonly #ordinals = new Map<string, number>();
  readonly #disks: Map<string, Uint8Array>[];
  readonly #units = new Map<string, Uint8Array>();
  readonly #accesses: Access[] = [];
  readonly #accessNumbers: number[];
  readonly #chronicle: Chronicle;
  readonly #reader = new ByteReader();
  #notes: StageNote[] = [];
  nowUs = 0;

  constructor(staging: Staging<Message, Command, Event, Config>, settings: Settings, mutant: string | null) {
    this.#staging = staging;
    this.#mutant = mutant;
    this.scenario = staging.scenario({ ...staging.defaults, ...settings });
    const nodes = Array.from({ length: this.scenario.nodes }, (_, node) => node);
    this.names = nodes.map((node) => staging.nodeName(this.scenario, node));
    this.#clocks = nodes.map(() => new MachineClock(0, 0, 0));
    this.#players = nodes.map(() => null);
    this.#starts = nodes.map(() => 0);
    this.#disks = nodes.map(() => new Map());
    this.#accessNumbers = nodes.map(() => 0);
    const clocks = {
      now: (): number => this.nowUs,
      monoOf: (node: number): MonoUs => this.#monoOf(node),
      wallOf: (node: number): WallUs => this.#wallOf(node),
    };
    const referees = staging.protocol.referees(this.scenario, () => undefined);
    this.#chronicle = new Chronicle(referees, clocks, (record) =>
      this.#notes.push({ kind: 'recorded', text: formatRecord(record), record }),
    );
  }

  get violations(): readonly Violation[] {
    return this.#chronicle.panel.violations;
  }

  get underWay(): readonly MessageRef[] {
    return this.#flights;
  }

  /** Starts every node that never was. */
  startAll(): void {
    this.#players.forEach((player, node) => {
      if (player === null && this.#starts[node] === 0) this.do({ kind: 'start', node });
    });
  }

  parse(text: string): StageAction {
    return parseAction(text, this.names);
  }

  format(action: StageAction): string {
    return formatAction(action, this.names);
  }

  line(text: string): readonly StageNote[] {
    return this.do(this.parse(text));
  }

  describe(message: MessageRef): string {
    return this.#describe(this.#flight(message, `describe ${formatMessageRef(message, this.names)}`).bytes);
  }

  find(from: number, to: number, bytes: Uint8Array): MessageRef | null {
    const isThis = (flight: Flight): boolean =>
      flight.from === from &&
      flight.to === to &&
      flight.bytes.length === bytes.length &&
      flight.bytes.every((byte, i) => byte === bytes[i]);
    return this.#flights.find(isThis) ?? null;
  }

  holdersOf(resource: string): readonly number[] {
    return this.#chronicle.holdersOf(resource);
  }

  isUp(node: number): boolean {
    return this.#players[node] !== null;
  }

  wakesInUs(node: number): number {
    const player = this.#players[node];
    return player ? player.core.wakeAt - this.#monoOf(node) : Infinity;
  }

  /** Does one action, and says what came of it. Throws TENURE_BAD_ARGUMENT, with nothing changed, if it cannot be done now. */
  do(action: StageAction): readonly StageNote[] {
    this.#notes = [];
    const before = this.violations.length;
    this.#perform(action);
    for (const { property, message } of this.violations.slice(before))
      this.#notes.push({ kind: 'violation', text: `${property}: ${message}` });
    return this.#notes;
  }

  #perform(action: StageAction): void {
    if ('node' in action && this.names[action.node] === undefined) throw this.#cannot(action, 'there is no such node');
    switch (action.kind) {
      case 'start':
      case 'restart':
        this.#start(action.node, action);
        return;
      case 'crash':
        this.#crash(action.node, action);
        return;
      case 'twin':
        this.#twin(action.node, action);
        return;
      case 'pause':
        this.#up(action.node, action);
        this.#paused.add(action.node);
        return;
      case 'resume':
        this.#up(action.node, action);
        this.#paused.delete(action.node);
        return;
      case 'sleep':
        this.#clock(action.node).sleep(this.nowUs);
        this.#paused.add(action.node);
        return;
      case 'awake':
        this.#clock(action.node).awake(this.nowUs);
        this.#paused.delete(action.node);
        return;
      case 'advance':
        this.nowUs += action.byUs;
        return;
      case 'set':
        this.#clock(action.node).stepWall(this.nowUs, action.byUs);
        return;
      case 'rate':
        this.#clock(action.node).setRate(this.nowUs, action.ppm);
        return;
      case 'deliver': {
        const flight = this.#flight(action.message, this.format(action));
        const player = this.#free(flight.to, action);
        this.#consume(flight);
        this.#play(player, { kind: 'receive', from: flight.from, bytes: flight.bytes }, action.choices);
        return;
      }
      case 'drop':
        this.#consume(this.#flight(action.message, this.format(action)));
        return;
      case 'duplicate':
        this.#flight(action.message, this.format(action)).copies++;
        return;
      case 'wake': {
        const player = this.#free(action.node, action);
        if (player.core.wakeAt > this.#monoOf(action.node)) throw this.#cannot(action, 'it does not want to be woken yet');
        this.#play(player, { kind: 'wake' }, action.choices);
        return;
      }
      case 'act': {
        const { verb, words } = action;
        this.#play(this.#free(action.node, action), { kind: 'act', verb, words }, action.choices);
        return;
      }
      case 'answer':
      case 'fail':
        this.#complete(action);
        return;
    }
  }

  // ── Births and deaths ──────────────────────────────────────────────────────────────────────────────

  #start(node: number, action: StageAction): void {
    const restarted = action.kind === 'restart';
    if (this.#players[node]) throw this.#cannot(action, 'it is up');
    if (restarted !== (this.#starts[node] as number) > 0) throw this.#cannot(action, restarted ? 'it never was up' : 'it was up before');
    const diskKept = action.kind === 'restart' && action.diskKept;
    if (!diskKept) (this.#disks[node] as Map<string, Uint8Array>).clear();
    const life = this.#starts[node] as number;
    const boot = { self: nodeId(node), incarnation: incarnationOf(node, life, this.scenario.nodes), restarted, diskKept };
    const player = new Player(this.#staging, this.scenario, boot, this.#mutant);
    this.#players[node] = player;
    this.#starts[node] = life + 1;
    this.#play(player, { kind: 'start' });
  }

  #crash(node: number, action: StageAction): void {
    const player = this.#up(node, action);
    this.#players[node] = null;
    this.#paused.delete(node);
    this.#chronicle.crashed(player.node, player.incarnation);
  }

  #twin(node: number, action: StageAction): void {
    const player = this.#up(node, action);
    if (node >= this.scenario.nodes) throw this.#cannot(action, 'it has been replaced already');
    this.#players[node] = null;
    this.#players.push(player);
    this.#twinsOn.push(node);
    this.names.push(`${this.names[node]}${"'".repeat(this.#twinsOn.filter((machine) => machine === node).length)}`);
    // What stood still goes on standing still.
    if (this.#paused.delete(node)) this.#paused.add(this.names.length - 1);
    const restart = { kind: 'restart', node, diskKept: true } as const;
    this.#start(node, restart);
  }

  #up(node: number, action: StageAction): Player<Message, Command, Event, Config> {
    const player = this.#players[node];
    if (!player) throw this.#cannot(action, `${this.names[node]} is down`);
    return player;
  }

  /** Up and not paused. */
  #free(node: number, action: StageAction): Player<Message, Command, Event, Config> {
    const player = this.#up(node, action);
    if (this.#paused.has(node)) throw this.#cannot(action, `${this.names[node]} is paused`);
    return player;
  }

  // ── Steps ──────────────────────────────────────────────────────────────────────────────────────────

  #play(player: Player<Message, Command, Event, Config>, input: Input, choices: readonly number[] = []): void {
    const { node } = player;
    player.play(input, this.#monoOf(node), this.#wallOf(node), choices);
    for (const event of player.events) {
      this.#notes.push({
        kind: 'told',
        text: `${this.names[this.#players.indexOf(player)]} is told: ${this.#staging.protocol.describeEvent(event)}`,
      });
    }
    for (const told of player.told) this.#chronicle.tell(node, player.incarnation, told);
    for (const { to, bytes } of player.sent) this.#send(node, to, bytes);
    for (const asked of player.asked) this.#ask(player, asked);
  }

  #send(from: number, to: number, bytes: Uint8Array): void {
    const text = this.#describe(bytes);
    const label = labelOf(text);
    const key = `${from} ${to} ${label}`;
    const ordinal = (this.#ordinals.get(key) ?? 0) + 1;
    this.#ordinals.set(key, ordinal);
    const flight = { from, to, label, ordinal, bytes, copies: 1 };
    this.#flights.push(flight);
    this.#notes.push({ kind: 'sent', text: `${formatMessageRef(flight, this.names)}: ${text}` });
  }

  #describe(bytes: Uint8Array): string {
    this.#reader.reset(bytes, 0, bytes.length);
    const message = this.#staging.protocol.codec.decode(this.#reader);
    return message === null ? 'unreadable' : this.#staging.protocol.describeMessage(message);
  }

  #flight({ from, to, label, ordinal }: MessageRef, line: string): Flight {
    const found = this.#flights.find(
      (flight) => flight.from === from && flight.to === to && flight.label === label && flight.ordinal === ordinal,
    );
    if (found) return found;
    const sent = this.#ordinals.get(`${from} ${to} ${label}`) ?? 0;
    throw bad(line, sent < ordinal ? `only ${sent} of them were sent` : 'it is not under way any more');
  }

  #consume(flight: Flight): void {
    if (--flight.copies === 0) this.#flights.splice(this.#flights.indexOf(flight), 1);
  }

  // ── Storage ────────────────────────────────────────────────────────────────────────────────────────

  #ask(player: Player<Message, Command, Event, Config>, asked: Asked): void {
    const { node } = player;
    const number = (this.#accessNumbers[node] as number) + 1;
    this.#accessNumbers[node] = number;
    this.#accesses.push({ ...asked, node, incarnation: player.incarnation, number });
    const where = asked.unit === OWN_DISK ? 'its disk' : `unit ${asked.unit}`;
    this.#notes.push({ kind: 'asked', text: `${this.names[node]} #${number}: ${asked.value ? 'write' : 'read'} ${asked.key} of ${where}` });
  }

  #complete(action: Extract<StageAction, { kind: 'answer' | 'fail' }>): void {
    const index = this.#accesses.findIndex(({ node, number }) => node === action.node && number === action.access);
    const access = this.#accesses[index];
    if (!access) throw this.#cannot(action, 'there is no such access under way');
    if (this.#paused.has(action.node)) throw this.#cannot(action, `${this.names[action.node]} is paused`);
    this.#accesses.splice(index, 1);
    const ok = action.kind === 'answer';
    const place = access.unit === OWN_DISK ? (this.#disks[access.node] as Map<string, Uint8Array>) : this.#units;
    const key = access.unit === OWN_DISK ? access.key : `${access.unit} ${access.key}`;
    const value = ok && access.value === null ? (place.get(key) ?? null) : null;
    if (ok && access.value !== null) place.set(key, access.value);
    const player = this.#players[access.node];
    // A write of a process that is gone may still take effect; nobody is left to be told.
    if (!player || player.incarnation !== access.incarnation) return;
    this.#play(player, { kind: 'completed', completion: { op: access.op, ok, value } }, action.choices);
  }

  // ── Clocks ─────────────────────────────────────────────────────────────────────────────────────────

  #clock(node: number): MachineClock {
    return this.#clocks[this.#twinsOn[node - this.scenario.nodes] ?? node] as MachineClock;
  }

  #monoOf(node: number): MonoUs {
    return this.#clock(node).monoAt(this.nowUs);
  }

  #wallOf(node: number): WallUs {
    return this.#clock(node).wallAt(this.nowUs);
  }

  #cannot(action: StageAction, why: string): TenureError {
    return bad(`${this.format(action)} at ${formatSpan(this.nowUs)}`, why);
  }
}

/** The incarnation of a node's first life (0), second (1) and so on: it depends on nobody else. */
export function incarnationOf(node: number, life: number, nodes: number): Incarnation {
  return incarnation(1 + node + life * nodes);
}

/** Closes over a protocol's types, as `simulation` does. */
export function openStage<Message, Command, Event, Config, Node extends Core<Message, Command, Event>>(
  staging: Staging<Message, Command, Event, Config, Node>,
  settings: Settings,
  mutant: string | null,
): AnyStage {
  return new Stage(staging, settings, mutant);
}
