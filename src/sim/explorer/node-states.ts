/**
 * The parts of states: what a node can be like, what messages there can be, and what each input makes of a
 * node. Cores are deterministic, so each pair of node state and input is played once, on a core restored from
 * its snapshot, and remembered; the explorer then moves numbers about. This is what makes it fast: there are
 * far fewer node states than states of the world.
 */
import { hashItems, invariant, nodeId, stateHash, type Incarnation, type Json, type MonoUs, type WallUs } from '../../kernel/index.ts';
import type { Boot, Completion, Snapshot } from '../../core/index.ts';
import { ByteReader, ByteWriter } from '../../wire/index.ts';
import type { Referee } from '../../check/index.ts';
import type { ApplicationReport } from '../chronicle.ts';
import { MachineClock } from '../clock.ts';
import type { Scenario } from '../protocol.ts';
import type { AccessRequest } from '../registers.ts';
import { Player, type Input } from '../stage/player.ts';
import { incarnationOf } from '../stage/stage.ts';
import { PartHashes, plainOf, renumberingsOf } from './hashes.ts';
import type { InstantClocks } from './judge.ts';
import type { Budgets } from './bounds.ts';
import { Renamings, type Parts } from './renamings.ts';
import type { ClocksAheadUs, ExploredProtocol, Offer } from './small-world.ts';

/** A node as it is between two steps. */
export interface NodeState {
  readonly node: number;
  /** Which start this is, from 0; of a node that is down, the next. */
  readonly life: number;
  /** Null: it is down. */
  readonly snapshot: readonly [core: Snapshot, actor: Snapshot] | null;
  /** When it wants to be woken; null as long as nobody asked. */
  wakeAt: number | null;
  /** Outcomes of inputs, by input and instant. */
  readonly outcomes: Map<number, StepOutcome>;
  /** Envelopes it will never listen to, as far as that was asked. */
  readonly ignores: boolean[];
  /** By instant, as far as that was asked. */
  readonly prospects: Prospects[];
  /** The node state without the parts that make no difference any more, by instant, as far as that was asked. */
  readonly tidied: number[];
}

/** What may become of a node at an instant. */
interface Prospects {
  readonly offers: readonly Offer[];
  readonly mayCrash: boolean;
  readonly asksNothing: boolean;
}

export interface Envelope {
  readonly from: number;
  /** The life that sent it first. What another life sent in the same bytes is no request: those carry their life. */
  readonly life: Incarnation;
  readonly to: number;
  readonly bytes: Uint8Array;
  /** Any number of copies may come: it stays under way. */
  readonly repeats: boolean;
}

/** What comes of one input. */
export interface StepOutcome {
  /** Tidied: without parts that make no difference any more at the instant of the step. */
  readonly state: number;
  readonly sent: readonly number[];
  readonly asked: readonly AccessRequest[];
  /** The same for equal lists; 0 for an empty one. */
  readonly askedId: number;
  readonly told: readonly ApplicationReport[];
  /** The same for equal lists; 0 for an empty one. */
  readonly toldId: number;
}

/** Numbers for inputs: envelopes count from 0, answers of storage from far above them, offers down from here. */
export const WAKE_INPUT = -1;
export const START_INPUT = -2;
export const FIRST_OFFER = -3;
const FIRST_COMPLETION = 2 ** 30;

const INPUT_SHIFT = 64;

const NO_PROSPECTS: Prospects = { offers: [], mayCrash: false, asksNothing: true };

export class NodeStates<Message, Command, Event, Config> implements InstantClocks {
  readonly world: ExploredProtocol<Message, Command, Event, Config>;
  readonly bounds: Budgets;
  readonly aheadUs: ClocksAheadUs;
  readonly scenario: Scenario<Config>;
  readonly nodes: number;
  readonly states: NodeState[] = [];
  readonly envelopes: Envelope[] = [];
  /** Renumberings of the nodes that are alike: where each goes. */
  readonly renumberings: readonly (readonly number[])[];
  readonly stateHashes: PartHashes;
  readonly envelopeHashes: PartHashes;
  /** Steps that cores were made to take. */
  played = 0;
  readonly #mutant: string | null;
  readonly #clocks: readonly MachineClock[];
  readonly #downs: number[][] = [];
  readonly #stateIds = new Map<string, number>();
  readonly #envelopeIds = new Map<string, number>();
  readonly #listIds = new Map<string, number>();
  readonly #completions: Completion[] = [];
  /** By their hash, and by identity: storage gives the same object again and again. */
  readonly #completionIds = new Map<string | Completion, number>();
  readonly #reader = new ByteReader();
  readonly #writer = new ByteWriter();

  constructor(world: ExploredProtocol<Message, Command, Event, Config>, bounds: Budgets, mutant: string | null, aheadUs: ClocksAheadUs) {
    const { staging } = world;
    this.world = world;
    this.bounds = bounds;
    this.aheadUs = aheadUs;
    this.#mutant = mutant;
    this.scenario = staging.scenario({ ...staging.defaults, ...world.settings(bounds, mutant) });
    this.nodes = this.scenario.nodes;
    this.#clocks = Array.from({ length: this.nodes }, (_, node) => new MachineClock(0, aheadUs[node] ?? 0, world.ratePpm(bounds, node)));
    // Nodes whose wall clocks differ are not alike. The renumberings that are left form a group.
    this.renumberings = renumberingsOf(this.nodes, world.alike(bounds), world.askers?.alike(bounds, mutant) ?? []).filter((to) =>
      to.every((other, node) => (aheadUs[node] ?? 0) === (aheadUs[other] ?? 0)),
    );
    this.stateHashes = new PartHashes(this.renumberings.length);
    this.envelopeHashes = new PartHashes(this.renumberings.length);
  }

  /** Fresh referees of this world. */
  referees(): readonly Referee[] {
    const referees = this.world.staging.protocol.referees(this.scenario, () => undefined);
    return this.world.judgedBy?.(referees) ?? referees;
  }

  nowAt(instant: number): number {
    return instant * this.world.tickUs;
  }

  monoOf(node: number, instant: number): MonoUs {
    return (this.#clocks[node] as MachineClock).monoAt(this.nowAt(instant));
  }

  wallOf(node: number, instant: number): WallUs {
    return (this.#clocks[node] as MachineClock).wallAt(this.nowAt(instant));
  }

  incarnationOf({ node, life }: NodeState): number {
    return incarnationOf(node, life, this.nodes);
  }

  /** A node that is not up; its next life has this number. */
  down(node: number, life: number): number {
    const downs = (this.#downs[node] ??= []);
    return (downs[life] ??= this.#intern(node, life, null));
  }

  /** What an input makes of a node at an instant. */
  outcome(state: number, input: number, instant: number): StepOutcome {
    const before = this.states[state] as NodeState;
    const key = (input - FIRST_OFFER + 16) * INPUT_SHIFT + instant;
    const known = before.outcomes.get(key);
    if (known) return known;
    const outcome = this.#play(before, this.#input(state, input, instant), instant);
    before.outcomes.set(key, outcome);
    return outcome;
  }

  wantsWaking(state: number, instant: number): boolean {
    const known = this.states[state] as NodeState;
    return (known.wakeAt ??= this.#wakeAt(known)) <= this.monoOf(known.node, instant);
  }

  /** Its addressee, as it is now, will never listen to it. */
  isDead(envelope: number, addressee: number): boolean {
    const state = this.states[addressee] as NodeState;
    const known = state.ignores[envelope];
    if (known !== undefined) return known;
    const { bytes } = this.envelopes[envelope] as Envelope;
    const whom = { node: state.node, incarnation: this.incarnationOf(state), mutant: this.#mutant };
    const isDead = this.world.isDead(this.#decode(bytes), whom, state.snapshot?.[0] ?? null);
    state.ignores[envelope] = isDead;
    return isDead;
  }

  /** What may become of a node that is up. */
  prospects(state: number, instant: number): Prospects {
    const { node, life, snapshot, prospects } = this.states[state] as NodeState;
    const known = prospects[instant];
    if (known) return known;
    if (snapshot === null) return NO_PROSPECTS;
    const { world, bounds } = this;
    const [core, actor] = snapshot;
    const seen = { node, life, core, actor, monoUs: this.monoOf(node, instant) };
    const found = {
      offers: world.offers(bounds, seen),
      mayCrash: world.mayCrash(bounds, seen),
      asksNothing: world.asksNothing(bounds, seen),
    };
    prospects[instant] = found;
    return found;
  }

  /** The node state without parts that make no difference any more. */
  tidied(state: number, instant: number): number {
    const { node, life, snapshot, tidied } = this.states[state] as NodeState;
    return (tidied[instant] ??= snapshot === null ? state : this.#internTidied(node, life, snapshot, this.monoOf(node, instant)));
  }

  #input(state: number, input: number, instant: number): Input {
    if (input === WAKE_INPUT) return { kind: 'wake' };
    if (input === START_INPUT) return { kind: 'start' };
    if (input >= FIRST_COMPLETION) return { kind: 'completed', completion: this.#completions[input - FIRST_COMPLETION] as Completion };
    if (input >= 0) {
      const { from, life, bytes } = this.envelopes[input] as Envelope;
      return { kind: 'receive', from, life, bytes };
    }
    const [verb, ...words] = this.prospects(state, instant).offers[FIRST_OFFER - input] as Offer;
    return { kind: 'act', verb, words };
  }

  #play(before: NodeState, input: Input, instant: number): StepOutcome {
    this.played++;
    const { node, life } = before;
    const player = this.#player(before);
    before.wakeAt ??= this.#wakeAt(before, player);
    player.play(input, this.monoOf(node, instant), this.wallOf(node, instant));
    const asked = [...player.asked];
    const told = [...player.told];
    return {
      state: this.#internTidied(node, life, player.snapshot() as [Snapshot, Snapshot], this.monoOf(node, instant)),
      sent: player.sent.map(({ to, bytes }) => this.#envelope(player.boot, to, bytes)),
      asked,
      askedId: asked.length === 0 ? 0 : this.#listId(asked.map(plainOf)),
      told,
      toldId: told.length === 0 ? 0 : this.#listId(told as unknown as Json),
    };
  }

  #player({ node, life, snapshot }: NodeState): Player<Message, Command, Event, Config> {
    const boot = { self: nodeId(node), incarnation: incarnationOf(node, life, this.nodes), restarted: life > 0, diskKept: false };
    const player = new Player(this.world.staging, this.scenario, boot, this.#mutant);
    if (snapshot !== null) player.restore(snapshot);
    return player;
  }

  #internTidied(node: number, life: number, [core, actor]: readonly [Snapshot, Snapshot], mono: MonoUs): number {
    return this.#intern(node, life, [this.world.tidy(core, node, mono), actor]);
  }

  #intern(node: number, life: number, snapshot: NodeState['snapshot']): number {
    const key = stateHash([node, life, snapshot]);
    const known = this.#stateIds.get(key);
    if (known !== undefined) return known;
    const id = this.states.length;
    this.states.push({ node, life, snapshot, wakeAt: null, outcomes: new Map(), ignores: [], prospects: [], tidied: [] });
    this.#stateIds.set(key, id);
    this.#hash(id, node, life, snapshot);
    return id;
  }

  /** What a core planned in vain is not part of its state, so it is asked as it is after a restore. */
  #wakeAt(state: NodeState, restored?: Player<Message, Command, Event, Config>): number {
    const { node, snapshot } = state;
    if (snapshot === null || !this.world.mayWake(this.bounds, node, snapshot[0])) return Infinity;
    return (restored ?? this.#player(state)).core.wakeAt;
  }

  /** The number of a life of the node that this one's node becomes. */
  renamedLife(incarnation: number, to: readonly number[]): number {
    if (incarnation < 1) return incarnation;
    const node = (incarnation - 1) % this.nodes;
    return incarnation - node + (to[node] as number);
  }

  #hash(id: number, node: number, life: number, snapshot: NodeState['snapshot']): void {
    const nodeIn = (i: number): number => (this.renumberings[i] as readonly number[])[node] as number;
    if (snapshot === null) {
      this.stateHashes.set(id, (i) => [nodeIn(i), life, null]);
      return;
    }
    const [core, actor] = snapshot as unknown as [Parts, Snapshot];
    const renamings = new Renamings(core, this.#renamed(core, 0));
    this.stateHashes.set(id, (i) => [nodeIn(i), renamings.copied(this.#renamed(core, i))], hashItems([life, actor, renamings.kept]));
  }

  #renamed(core: Parts, renumbering: number): Parts {
    const to = this.renumberings[renumbering] as readonly number[];
    const { askers } = this.world;
    const ofOthers = askers ? askers.renameCore(core, (one) => this.renamedLife(one, to)) : core;
    return this.world.rename(ofOthers, (one) => to[one] ?? one) as Parts;
  }

  /** A message as it would be if nodes had other numbers, for hashing. */
  #renamedBytes(bytes: Uint8Array, to: readonly number[]): number[] {
    const { askers, staging } = this.world;
    if (!askers) return [...bytes];
    const message = this.#decode(bytes);
    this.#writer.reset();
    staging.protocol.codec.encode(
      askers.renameMessage(message, (one) => this.renamedLife(one, to)),
      this.#writer,
    );
    return [...this.#writer.bytes.subarray(0, this.#writer.length)];
  }

  #decode(bytes: Uint8Array): Message {
    this.#reader.reset(bytes, 0, bytes.length);
    const message = this.world.staging.protocol.codec.decode(this.#reader);
    invariant(message !== null, 'a message of the explorer does not survive its own codec');
    return message;
  }

  #envelope({ self: from, incarnation: life }: Boot, to: number, bytes: Uint8Array): number {
    const key = `${from} ${to} ${bytes.join(' ')}`;
    const known = this.#envelopeIds.get(key);
    if (known !== undefined) return known;
    const repeats = this.world.repeats?.(this.#decode(bytes)) ?? false;
    const id = this.envelopes.push({ from, life, to, bytes, repeats }) - 1;
    this.#envelopeIds.set(key, id);
    this.envelopeHashes.set(id, (i) => {
      const renumbered = this.renumberings[i] as readonly number[];
      return [renumbered[from] as number, renumbered[to] as number, this.#renamedBytes(bytes, renumbered)];
    });
    return id;
  }

  #listId(list: Json): number {
    const key = stateHash(list);
    const known = this.#listIds.get(key);
    if (known !== undefined) return known;
    this.#listIds.set(key, this.#listIds.size + 1);
    return this.#listIds.size;
  }

  /** The input by which a node learns what came of an access. */
  completion(completion: Completion): number {
    const known = this.#completionIds.get(completion);
    if (known !== undefined) return known;
    const key = stateHash(plainOf(completion));
    const id = this.#completionIds.get(key) ?? FIRST_COMPLETION + this.#completions.push(completion) - 1;
    this.#completionIds.set(key, id).set(completion, id);
    return id;
  }
}
