/**
 * What a protocol declares to be explored: a world of a few nodes, a few instants and a few things its
 * users may do, and which of its nodes are alike. The explorer tries everything that can happen in it.
 */
import type { MonoUs } from '../../kernel/index.ts';
import type { Core, Snapshot } from '../../core/index.ts';
import type { Referee } from '../../check/index.ts';
import type { Settings, StagedProtocol } from '../stage/staging.ts';
import type { BoundsOf, Budgets } from './bounds.ts';

/** By how much the wall clock of each node is ahead; 0 for nodes beyond the end of the list. */
export type ClocksAheadUs = readonly number[];

/** All wall clocks show the same. */
export const AGREEING_CLOCKS: readonly ClocksAheadUs[] = [[]];

/** A node that is up, at an instant on its own clock. */
export interface NodeView {
  readonly node: number;
  /** Which start this is, from 0. */
  readonly life: number;
  readonly core: Snapshot;
  readonly actor: Snapshot;
  readonly monoUs: MonoUs;
}

/** The addressee of a message. */
export interface Addressee {
  readonly node: number;
  readonly incarnation: number;
  readonly mutant: string | null;
}

/** A line of a script, without its node: a verb and its words. */
export type Offer = readonly [verb: string, ...words: string[]];

/** A step before the search begins. */
export type OpeningStep = 'advance' | { readonly node: number; readonly offer: Offer };

/**
 * Nodes that ask and are alike for ever: swapping two of them, with all their lives, wherever either is named, turns each run into a run.
 * That asks for the same clocks, the same offers, and that nothing compares their incarnations but for equality.
 */
export interface Askers<Message, Own = Budgets> {
  alike(bounds: Own, mutant: string | null): readonly number[];
  /** A node's core as it would be if lives had other numbers. */
  renameCore(core: Snapshot, life: (incarnation: number) => number): Snapshot;
  renameMessage(message: Message, life: (incarnation: number) => number): Message;
}

export interface SmallWorld<Message, Own extends Budgets = Budgets> {
  readonly bounds: BoundsOf<Own>;
  /** Why these bounds do not go together, though each is valid alone; null if they do. */
  misfit?(bounds: Own): string | null;
  /** The stage it plays on. */
  settings(bounds: Own, mutant: string | null): Settings;
  /** Which of the protocol's referees judge here; all of them, unless told. */
  judgedBy?(referees: readonly Referee[]): readonly Referee[];
  /** True time between two instants. */
  readonly tickUs: number;
  /** Shared units are atomic: a read finds the record of some instant between its beginning and its answer. They are regular if nothing is said. */
  readonly hasAtomicUnits?: boolean;
  /** By how much each node's clocks are off, in parts per million. */
  ratePpm(bounds: Own, node: number): number;
  /** Every way in which wall clocks may be apart: one of these it is, from the beginning to the end. */
  clocks(bounds: Own): Iterable<ClocksAheadUs>;
  /** Steps taken before the search begins: acts, each with all its consequences, and instants that go by. None, unless told. */
  opening?(bounds: Own): readonly OpeningStep[];
  /** What the actor of a node may do next. */
  offers(bounds: Own, seen: NodeView): readonly Offer[];
  /** Whether the search should crash this node now. A node that has nothing to forget, or nothing to do afterwards, is only late. */
  mayCrash(bounds: Own, seen: NodeView): boolean;
  /** Whether a node that wants to be woken is, sooner or later. False keeps a world small: the node is not woken any more. */
  mayWake(bounds: Own, node: number, core: Snapshot): boolean;
  /** No message can make this node tell the history anything any more, nor will it ask for anything. */
  asksNothing(bounds: Own, seen: NodeView): boolean;
  /** How many nodes, from 0 on, are alike: permuting them makes no difference to any node. They must hold nothing themselves. */
  alike(bounds: Own): number;
  /** If all asking nodes are alike at first, one of them: the search lets this one act first. Null if they are not alike. */
  firstToAct(bounds: Own): number | null;
  /** The asking nodes, where they stay alike for ever. */
  readonly askers?: Askers<Message, Own>;
  /** A node's core as it would be if the nodes that are alike had other numbers. Lists that stand for sets stay in order. */
  rename(core: Snapshot, numbered: (node: number) => number): Snapshot;
  /** Whether a node is woken at the very instant it asks for: for nodes whose wakes have no visible effect. All others may be woken late, or never. */
  wakesPromptly(bounds: Own, node: number): boolean;
  /** A node's core without the state that cannot make a difference from this instant on, because the core forgets it next anyway. */
  tidy(core: Snapshot, node: number, mono: MonoUs): Snapshot;
  /** Leaves out deliveries of which nothing comes now, though something may later: fewer states, but those that are left have messages that others have not. */
  readonly leavesOutVain?: boolean;
  /** A message that is told again and again: any number of copies of it may come, whatever the bounds say. More behaviours, and fewer states. */
  repeats?(message: Message): boolean;
  /** A message that its addressee ignores as it is now and ever after, so that it makes no difference whether it comes. `core` is null while it is down. */
  isDead(message: Message, addressee: Addressee, core: Snapshot | null): boolean;
}

/**
 * A world that leaves nothing out: a second between two instants, clocks that agree and run true, every crash, every wake, no nodes alike.
 * A protocol takes defaults from here.
 */
export const NOTHING_LEFT_OUT: Omit<SmallWorld<unknown>, 'bounds' | 'misfit' | 'settings' | 'offers' | 'askers'> = {
  tickUs: 1_000_000,
  ratePpm: () => 0,
  clocks: () => AGREEING_CLOCKS,
  mayCrash: () => true,
  mayWake: () => true,
  asksNothing: () => false,
  alike: () => 0,
  firstToAct: () => null,
  rename: (core) => core,
  wakesPromptly: () => false,
  tidy: (core) => core,
  isDead: () => false,
};

/** A small world with the stage that it plays on. */
export interface ExploredProtocol<
  Message,
  Command,
  Event,
  Config,
  Node extends Core<Message, Command, Event> = Core<Message, Command, Event>,
> extends SmallWorld<Message> {
  readonly staging: StagedProtocol<Message, Command, Event, Config, Node>;
}
