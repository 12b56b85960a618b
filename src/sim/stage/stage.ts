/**
 * A small world that does only what its actions say: nodes, messages under way, clocks and disks stand still
 * until an action moves one of them. The same actions give the same outcome; referees judge after each.
 */
import {
  incarnation,
  NEVER,
  nodeId,
  SeededChooser,
  type Incarnation,
  type MonoUs,
  type TenureError,
  type WallUs,
} from '../../kernel/index.ts';
import type { Core } from '../../core/index.ts';
import { ByteReader } from '../../wire/index.ts';
import type { Violation } from '../../check/index.ts';
import { Chronicle } from '../chronicle.ts';
import type { Scenario } from '../protocol.ts';
import type { AccessRequest } from '../registers.ts';
import {
  bad,
  formatAction,
  formatMessageRef,
  formatSpan,
  labelOf,
  parseAction,
  type AccessRef,
  type AnswerRef,
  type MessageRef,
  type ProcessAccess,
  type StageAction,
} from './actions.ts';
import type { AnyStage, StageOutcome, StageNote } from './any-stage.ts';
import { StageClocks } from './clocks.ts';
import { Owed } from './owed.ts';
import { Flights, type Flight } from './flights.ts';
import { Player, type Input } from './player.ts';
import { playOut, type Settling } from './settling.ts';
import { settingIsOn, settingSpansUs } from './settings.ts';
import { STAGE_DEFAULTS, type Settings, type StagedProtocol } from './staging.ts';
import { StageStorage, type Findings, type StageAccess } from './storage.ts';

/** How long a message takes where all goes well, if the protocol does not say. */
const LATENCY_US = 1_000;
/** A process with more accesses than this in one `answer all` asks for ever. */
const ANSWERS_MAX = 10_000;

class Stage<Message, Command, Event, Config> implements AnyStage {
  /** Of the nodes, then of processes that live on beside their successors. */
  readonly names: string[];
  readonly scenario: Scenario<Config>;
  readonly #staging: StagedProtocol<Message, Command, Event, Config>;
  readonly #mutant: string | null;
  readonly #clocks: StageClocks;
  readonly #players: (Player<Message, Command, Event, Config> | null)[];
  readonly #starts: number[];
  readonly #lives = new Set<number>();
  readonly #paused: Set<number> = new Set();
  readonly #flights = new Flights();
  readonly #storage = new StageStorage();
  /** The nodes that crash in their next step, with the number of effects that get out before. */
  readonly #doomed = new Map<number, number>();
  readonly #owed = new Owed();
  readonly #chronicle: Chronicle;
  readonly #reader = new ByteReader();
  #notes: StageNote[] = [];
  #isSettling = false;

  constructor(staging: StagedProtocol<Message, Command, Event, Config>, settings: Settings, mutant: string | null) {
    this.#staging = staging;
    this.#mutant = mutant;
    this.scenario = staging.scenario({ ...staging.defaults, ...settings });
    const nodes = Array.from({ length: this.scenario.nodes }, (_, node) => node);
    this.names = nodes.map((node) => staging.nodeName(this.scenario, node));
    const general = { ...STAGE_DEFAULTS, ...settings };
    const uptimesUs = settingSpansUs(general, 'uptime', nodes.length);
    const wallsGoBack = settingIsOn(general, 'back');
    const isSettling = (): boolean => this.#isSettling;
    this.#clocks = new StageClocks(uptimesUs);
    this.#players = nodes.map(() => null);
    this.#starts = nodes.map(() => 0);
    const clocks = {
      now: (): number => this.nowUs,
      monoOf: (node: number): MonoUs => this.#clocks.monoOf(node),
      wallOf: (node: number): WallUs => this.#clocks.wallOf(node),
      get wallsGoBack(): boolean {
        return wallsGoBack && !isSettling();
      },
    };
    const referees = staging.protocol.referees(this.scenario, () => undefined);
    this.#chronicle = new Chronicle(referees, clocks, (record) => {
      this.#owed.observe(record);
      this.#note({ kind: 'recorded', record });
    });
  }

  get nowUs(): number {
    return this.#clocks.nowUs;
  }

  get violations(): readonly Violation[] {
    return this.#chronicle.panel.violations;
  }

  get underWay(): readonly MessageRef[] {
    return this.#flights.all;
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
    return this.#describe(this.#flights.get(message, `describe ${formatMessageRef(message, this.names)}`).bytes);
  }

  find(from: number, to: number, bytes: Uint8Array): MessageRef | null {
    return this.#flights.find(from, to, bytes);
  }

  holdersOf(resource: string): readonly number[] {
    return this.#chronicle.holdersOf(resource);
  }

  isUp(node: number): boolean {
    return this.#players[node] !== null;
  }

  wakesInUs(node: number): number {
    const player = this.#players[node];
    return player ? player.core.wakeAt - this.#clocks.monoOf(node) : Infinity;
  }

  /** Does one action, and says what came of it. Throws TENURE_BAD_ARGUMENT, with nothing changed, if it cannot be done now. */
  do(action: StageAction): readonly StageNote[] {
    this.#notes = [];
    const before = this.violations.length;
    this.#perform(action);
    for (const violation of this.violations.slice(before)) this.#note({ kind: 'violation', violation });
    return this.#notes;
  }

  #note(outcome: StageOutcome): void {
    this.#notes.push({ ...outcome, atUs: this.nowUs });
  }

  #perform(action: StageAction): void {
    if ('node' in action && this.names[action.node] === undefined) throw this.#cannot(action, 'there is no such node');
    switch (action.kind) {
      case 'start':
      case 'restart':
        this.#start(action.node, action);
        return;
      case 'crash': {
        const player = this.#up(action.node, action);
        if (action.after === undefined) this.#crash(player);
        else this.#doomed.set(action.node, action.after);
        return;
      }
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
      case 'advance':
        this.#clocks.nowUs += action.byUs;
        return;
      case 'drop-all':
        this.#flights.dropAll();
        return;
      case 'deliver':
      case 'drop':
      case 'delay':
      case 'duplicate':
        this.#carry(action, this.#flights.get(action.message, this.format(action)));
        return;
      case 'wake': {
        const player = this.#free(action.node, action);
        if (player.core.wakeAt > this.#clocks.monoOf(action.node)) throw this.#cannot(action, 'it does not want to be woken yet');
        this.#play(player, { kind: 'wake' }, action.choices);
        return;
      }
      case 'act': {
        const { verb, words } = action;
        this.#play(this.#free(action.node, action), { kind: 'act', verb, words }, action.choices);
        return;
      }
      case 'effect':
      case 'misdirect':
      case 'repeat':
      case 'corrupt':
      case 'forget':
      case 'wipe':
      case 'restore': {
        const isThere = !('unit' in action) || action.unit < this.scenario.units;
        const why = isThere ? this.#storage.perform(action) : 'there is no such unit';
        if (why !== null) throw this.#cannot(action, why);
        return;
      }
      case 'answer':
      case 'fail':
        this.#complete(action);
        return;
      case 'answer-all':
        this.#answerAll(action);
        return;
      case 'settle':
        this.#settle(action);
        return;
      default:
        if (action.kind === 'boot' && this.#players.some((player) => player?.node === action.node))
          throw this.#cannot(action, 'a process is up on it');
        this.#clocks.set(action);
    }
  }

  #carry(action: Extract<StageAction, { message: MessageRef }>, flight: Flight): void {
    switch (action.kind) {
      case 'deliver': {
        const player = this.#free(flight.to, action);
        this.#flights.consume(flight);
        this.#play(player, { kind: 'receive', from: flight.from, life: flight.life, bytes: flight.bytes }, action.choices);
        return;
      }
      case 'drop':
        this.#flights.consume(flight);
        return;
      case 'delay':
        flight.dueUs = this.nowUs + action.byUs;
        return;
      case 'duplicate':
        flight.copies++;
        return;
    }
  }

  // ── Births and deaths ──────────────────────────────────────────────────────────────────────────────

  #start(node: number, action: StageAction): void {
    const restarted = action.kind === 'restart';
    if (this.#players[node]) throw this.#cannot(action, 'it is up');
    if (restarted !== (this.#starts[node] as number) > 0) throw this.#cannot(action, restarted ? 'it never was up' : 'it was up before');
    if (this.#clocks.of(node).isAsleep) throw this.#cannot(action, 'its machine is asleep');
    const own = this.#lifeOf(node, action);
    this.#lives.add(own);
    const diskKept = action.kind === 'restart' && action.diskKept;
    if (!diskKept) this.#storage.wipeDisk(node);
    const boot = { self: nodeId(node), incarnation: own, restarted, diskKept };
    const player = new Player(this.#staging, this.scenario, boot, this.#mutant);
    this.#players[node] = player;
    this.#starts[node] = (this.#starts[node] as number) + 1;
    this.#play(player, { kind: 'start' });
  }

  #lifeOf(node: number, action: StageAction): Incarnation {
    const said = 'as' in action ? action.as : undefined;
    const own = said === undefined ? incarnationOf(node, this.#starts[node] as number, this.scenario.nodes) : incarnation(said);
    if (own === 0 || this.#lives.has(own)) throw this.#cannot(action, own === 0 ? 'nobody is #0' : `there was a #${own} before`);
    return own;
  }

  #crash(player: Player<Message, Command, Event, Config>): void {
    const index = this.#players.indexOf(player);
    this.#players[index] = null;
    this.#paused.delete(index);
    this.#doomed.delete(index);
    this.#storage.crash(player.incarnation);
    this.#chronicle.crashed(player.node, player.incarnation);
  }

  #twin(node: number, action: Extract<StageAction, { kind: 'twin' }>): void {
    const player = this.#up(node, action);
    if (node >= this.scenario.nodes) throw this.#cannot(action, 'it has been replaced already');
    if (this.#clocks.of(node).isAsleep) throw this.#cannot(action, 'its machine is asleep');
    this.#lifeOf(node, action);
    this.#players[node] = null;
    this.#players.push(player);
    this.names.push(`${this.names[node]}${"'".repeat(this.#clocks.twin(node))}`);
    // What stood still goes on standing still.
    if (this.#paused.delete(node)) this.#paused.add(this.names.length - 1);
    this.#start(node, { ...action, kind: 'restart', diskKept: true });
  }

  #up(node: number, action: StageAction): Player<Message, Command, Event, Config> {
    const player = this.#players[node];
    if (!player) throw this.#cannot(action, `${this.names[node]} is down`);
    return player;
  }

  /** Up, not paused, and on a machine that is awake. */
  #free(node: number, action: StageAction): Player<Message, Command, Event, Config> {
    const player = this.#up(node, action);
    this.#mayAct(node, action);
    return player;
  }

  #mayAct(node: number, action: StageAction): void {
    const still = this.#paused.has(node) ? 'paused' : this.#clocks.of(node).isAsleep ? 'asleep' : null;
    if (still !== null) throw this.#cannot(action, `${this.names[node]} is ${still}`);
  }

  // ── Steps ──────────────────────────────────────────────────────────────────────────────────────────

  #play(player: Player<Message, Command, Event, Config>, input: Input, choices: readonly number[] = []): void {
    const { node } = player;
    const index = this.#players.indexOf(player);
    const effectsMax = this.#doomed.get(index);
    player.play(input, this.#clocks.monoOf(node), this.#clocks.wallOf(node), choices, effectsMax);
    // The application of a process that crashes in the middle of a step hears no more events.
    if (effectsMax === undefined) {
      for (const event of player.events) {
        this.#note({ kind: 'told', node: index, text: this.#staging.protocol.describeEvent(event) });
      }
    }
    for (const told of player.told) this.#chronicle.report(node, player.incarnation, told);
    for (const { to, bytes } of player.sent) this.#send(player, to, bytes);
    for (const asked of player.asked) this.#ask(player, asked);
    if (effectsMax !== undefined || player.told.some(({ kind }) => kind === 'broke')) this.#crash(player);
  }

  #send({ node: from, boot }: Player<Message, Command, Event, Config>, to: number, bytes: Uint8Array): void {
    const text = this.#describe(bytes);
    const topic = this.#read(bytes, (message) => this.#staging.protocol.topicOf?.(message)) ?? '';
    const label = labelOf(text);
    const { ordinal } = this.#flights.send({ from, to, label, topic, life: boot.incarnation, bytes });
    this.#note({ kind: 'sent', message: { from, to, label, ordinal, topic }, text });
  }

  #describe(bytes: Uint8Array): string {
    return this.#read(bytes, (message) => this.#staging.protocol.describeMessage(message)) ?? 'unreadable';
  }

  #read(bytes: Uint8Array, as: (message: Message) => string | undefined): string | undefined {
    this.#reader.reset(bytes, 0, bytes.length);
    const message = this.#staging.protocol.codec.decode(this.#reader);
    return message === null ? undefined : as(message);
  }

  // ── Storage ────────────────────────────────────────────────────────────────────────────────────────

  #ask(player: Player<Message, Command, Event, Config>, request: AccessRequest): void {
    const { node, access } = this.#storage.ask(player.node, player.incarnation, request);
    this.#note({ kind: 'asked', node, access, action: request.action, key: request.key, unit: request.unit });
  }

  accessOf({ node, access }: AccessRef<ProcessAccess>, finding: Uint8Array | null | undefined): AnswerRef | null {
    const isGone = (life: number): boolean => this.#players.every((player) => player?.incarnation !== life);
    return this.#storage.refOf(node, access, isGone, finding);
  }

  #complete(action: Extract<StageAction, { kind: 'answer' | 'fail' }>): void {
    const access = this.#storage.find(action);
    if (!access) throw this.#cannot(action, 'there is no such access under way');
    // A write of a process that is gone may still take effect; no process is left to be told.
    const index = this.#players.findIndex((one) => one?.incarnation === access.incarnation);
    if (index >= 0) this.#mayAct(index, action);
    const ok = action.kind === 'answer';
    if (ok && access.isVoid) throw this.#cannot(action, 'its unit was restored since: it can only fail');
    const findings: Findings = action.kind === 'answer' ? action : {};
    const { finding, listing } = findings;
    const mayFind = finding === undefined || this.#storage.mayFind(access, finding);
    if (!mayFind || (listing && !this.#storage.mayList(access, listing))) throw this.#cannot(action, 'no regular register answers that');
    this.#answer(access, ok, findings, action.choices);
  }

  #answerAll(action: Extract<StageAction, { kind: 'answer-all' }>): void {
    const player = this.#free(action.node, action);
    const next = (): StageAccess | undefined => this.#storage.underWay.find(({ incarnation: life }) => life === player.incarnation);
    if (!next()) throw this.#cannot(action, 'there is no access under way');
    for (let access = next(), count = 0; access && count < ANSWERS_MAX; access = next(), count++) {
      this.#answer(access, true, {}, action.choices);
    }
  }

  #answer(access: StageAccess, ok: boolean, findings: Findings = {}, choices?: readonly number[]): void {
    const completion = this.#storage.end(access, ok, findings);
    const player = this.#players.find((one) => one?.incarnation === access.incarnation);
    if (player) this.#play(player, { kind: 'completed', completion }, choices);
  }

  // ── Progress ───────────────────────────────────────────────────────────────────────────────────────

  #settle(action: Extract<StageAction, { kind: 'settle' }>): void {
    const missing = this.#players.findIndex((player, index) => (player === null) !== index >= this.scenario.nodes);
    if (missing >= 0) throw this.#cannot(action, `${this.names[missing]} is ${missing < this.scenario.nodes ? 'down' : 'still there'}`);
    for (let node = 0; node < this.scenario.nodes; node++) this.#mayAct(node, action);
    for (const node of this.#doomed.keys()) throw this.#cannot(action, `${this.names[node]} is about to crash`);
    const players = this.#players.slice(0, this.scenario.nodes) as Player<Message, Command, Event, Config>[];
    if ((action.giveBackUs ?? action.askAgainUs) !== undefined && !players.every(({ actor }) => 'wakeAt' in actor))
      throw this.#cannot(action, 'there is nothing to give back or to ask for again');
    const dice = new SeededChooser(action.choices?.[0] ?? 0);
    for (const player of players) {
      player.dice = dice;
      player.monoUs = this.#clocks.monoOf(player.node);
      player.healed = true;
      player.actor.settling?.(action);
    }
    this.#owed.begin(action);
    const usualUs = this.#staging.latencyUs?.(this.scenario) ?? LATENCY_US;
    const latencyUs = (): number => (action.outOfOrder === true ? 1 + dice.below(usualUs) : usualUs);
    this.#isSettling = true;
    const { messages, answers, wakes, isStuck } = playOut(this.#settling(players), action.byUs, latencyUs);
    this.#isSettling = false;
    for (const player of players) {
      player.dice = null;
      player.healed = false;
    }
    // Messages are listed one by one only where their order of arrival matters.
    const isOf = (kind: string, note: StageNote): boolean => note.kind === 'recorded' && note.record.kind === kind;
    const refused = action.askAgainUs === undefined ? 0 : this.#notes.filter((note) => isOf('abandoned', note)).length;
    const untold = refused > 0 ? ['renewed', 'abandoned'] : ['renewed'];
    this.#notes = this.#notes.filter((note) => note.kind === 'recorded' && !untold.some((kind) => isOf(kind, note)));
    const counts = [`${messages} messages arrive`, ...(answers > 0 ? [`${answers} accesses are answered`] : []), `${wakes} timers fire`];
    if (refused > 0) counts.push(`${refused} requests are refused`);
    const how = isStuck ? 'time stands still' : `all goes well for ${formatSpan(action.byUs)}`;
    this.#note({ kind: 'settled', text: `${how}: ${counts.join(', ')}` });
    const missed = this.#owed.end(action.byUs, (one) => this.#chronicle.holdersOf(one).length > 0);
    if (isStuck) missed.unshift('some core or application acts again and again at one instant: time does not go by any more');
    for (const message of missed) this.#chronicle.missed(message);
  }

  #settling(players: readonly Player<Message, Command, Event, Config>[]): Settling<Flight, StageAccess> {
    return {
      clock: this.#clocks,
      flights: this.#flights.all,
      accesses: this.#storage.underWay,
      wakes: () =>
        players.map(({ node, core, actor }) => {
          const wakeAt = Math.min(core.wakeAt, actor.wakeAt ?? NEVER) as MonoUs;
          return wakeAt === NEVER ? Infinity : this.#clocks.of(node).trueWhenMono(wakeAt, this.nowUs);
        }),
      deliver: (flight) => {
        this.#flights.consume(flight);
        this.#play(players[flight.to] as Player<Message, Command, Event, Config>, {
          kind: 'receive',
          from: flight.from,
          life: flight.life,
          bytes: flight.bytes,
        });
      },
      answer: (access) => this.#answer(access, true),
      wake: (node) => {
        const player = players[node] as Player<Message, Command, Event, Config>;
        this.#play(player, { kind: player.core.wakeAt <= this.#clocks.monoOf(node) ? 'wake' : 'user' });
      },
    };
  }

  #cannot(action: StageAction, why: string): TenureError {
    return bad(`${this.format(action)} at ${formatSpan(this.nowUs)}`, why);
  }
}

/** The incarnation of a node's first life (0), second (1) and so on: it depends on no other node. */
export function incarnationOf(node: number, life: number, nodes: number): Incarnation {
  return incarnation(1 + node + life * nodes);
}

/** Closes over a protocol's types, as `simulation` does. */
export function openStage<Message, Command, Event, Config, Node extends Core<Message, Command, Event>>(
  staging: StagedProtocol<Message, Command, Event, Config, Node>,
  settings: Settings,
  mutant: string | null,
): AnyStage {
  return new Stage(staging, settings, mutant);
}
