/**
 * What a protocol declares to be explored: a world of a few nodes, a few instants and a few things its
 * users may do, and which of its nodes are alike. The explorer tries everything that can happen in it.
 */
import type { MonoUs } from '../../kernel/index.ts';
import type { Core, Snapshot } from '../../core/index.ts';
import type { Settings, Staging } from '../stage/staging.ts';

/** How large the world is. A protocol reads of these what it knows. */
export interface Bounds {
  readonly acceptors: number;
  readonly proposers: number;
  /** How often each proposer asks for the lease; a crash uses one up. */
  readonly attempts: number;
  /** How often one asking may be tried again after it found no quorum, 1 being the first try. */
  readonly tries: number;
  /** How many leases of the same name a proposer may ask for at once, as different handles. */
  readonly handles: number;
  /** How often a holder renews, for each lease. */
  readonly renewals: number;
  /** Whether a holder may give its lease back. */
  readonly releases: boolean;
  readonly crashes: number;
  readonly duplicates: number;
  readonly losses: number;
  /** Clocks of those who vote run fast by this, of those who ask slow: as far apart as the engine is told they may be. */
  readonly driftPpm: number;
  /** By how many instants wall clocks are apart: as far as the engine is told they may be. */
  readonly skew: number;
  /** By how many instants more they are apart, which the engine is not told. */
  readonly beyond: number;
  /** How many instants a lease lasts. */
  readonly term: number;
  /** The last instant: time goes from 0 to this, in steps of one. */
  readonly instants: number;
}

/** What worlds have unless they say otherwise: three who vote, two who ask once for two instants, nothing that fails, one instant to spend. */
export const USUAL_BOUNDS: Bounds = {
  acceptors: 3,
  proposers: 2,
  attempts: 1,
  tries: 1,
  handles: 1,
  renewals: 0,
  releases: true,
  crashes: 0,
  duplicates: 0,
  losses: 0,
  driftPpm: 0,
  skew: 0,
  beyond: 0,
  term: 2,
  instants: 1,
};

/** For every node by how much its wall clock is ahead; who is not named is not. */
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

/** Whom a message is for. */
export interface Addressee {
  readonly node: number;
  readonly incarnation: number;
  readonly mutant: string | null;
}

/** A line of a script, without its node: a verb and its words. */
export type Offer = readonly [verb: string, ...words: string[]];

/**
 * Nodes that ask and are alike for ever: swapping two of them, with all their lives, wherever either is named, turns each run into a run.
 * That asks for the same clocks, the same offers, and that nothing compares their incarnations but for equality.
 */
export interface Askers<Message> {
  alike(bounds: Bounds, mutant: string | null): readonly number[];
  /** A node's core as it would be if lives had other numbers. */
  renameCore(core: Snapshot, life: (incarnation: number) => number): Snapshot;
  renameMessage(message: Message, life: (incarnation: number) => number): Message;
}

export interface SmallWorld<Message, Command, Event, Config, Node extends Core<Message, Command, Event> = Core<Message, Command, Event>> {
  readonly staging: Staging<Message, Command, Event, Config, Node>;
  readonly bounds: Bounds;
  /** What it does not read of its bounds. */
  readonly ignores: readonly (keyof Bounds)[];
  /** The stage it plays on. */
  settings(bounds: Bounds, mutant: string | null): Settings;
  /** True time between two instants. */
  readonly tickUs: number;
  /** By how much each node's clocks are off, in parts per million. */
  ratePpm(bounds: Bounds, node: number): number;
  /** Every way in which wall clocks may be apart: one of these it is, from the beginning to the end. */
  clocks(bounds: Bounds): Iterable<ClocksAheadUs>;
  /** What the actor of a node may do next. */
  offers(bounds: Bounds, seen: NodeView): readonly Offer[];
  /** Whether a crash of this node is worth while now. One that has nothing to forget, or nothing to do afterwards, is only late. */
  mayCrash(bounds: Bounds, seen: NodeView): boolean;
  /** Whether a node that wants to be woken is, sooner or later. False keeps a world small: the node is not woken any more. */
  mayWake(bounds: Bounds, node: number, core: Snapshot): boolean;
  /** Nothing that anybody sends can make this node tell the history anything any more, nor will it ask for anything. */
  asksNothing(bounds: Bounds, seen: NodeView): boolean;
  /** How many nodes, from 0 on, are alike: permuting them makes no difference to anybody. They must hold nothing themselves. */
  alike(bounds: Bounds): number;
  /** If those who ask are alike as well, one of them: the first to do anything may as well be this one. Null if they are not. */
  firstToAct(bounds: Bounds): number | null;
  /** Those who ask, where they are alike not only at first. */
  readonly askers?: Askers<Message>;
  /** A node's core as it would be if the nodes that are alike had other numbers. Lists that stand for sets stay in order. */
  rename(core: Snapshot, numbered: (node: number) => number): Snapshot;
  /** Nodes woken at the very instant they want to be. For nodes whose waking nobody can see; all others may be woken late, or never. */
  wakesPromptly(bounds: Bounds, node: number): boolean;
  /** A node's core without what cannot make a difference from this instant on: what was forgotten a moment later anyway. */
  tidy(core: Snapshot, node: number, mono: MonoUs): Snapshot;
  /** A message that its addressee ignores as it is now and ever after, so that it makes no difference whether it comes. `core` is null while it is down. */
  isDead(message: Message, addressee: Addressee, core: Snapshot | null): boolean;
}
