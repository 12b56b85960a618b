/**
 * What a protocol declares to be explored: a world of a few nodes, a few instants and a few things its
 * users may do, and which of its nodes are alike. The explorer tries everything that can happen in it.
 */
import type { Core, Snapshot } from '../../core/index.ts';
import type { Settings, Staging } from '../stage/staging.ts';

/** How large the world is. A protocol reads of these what it knows. */
export interface Bounds {
  readonly acceptors: number;
  readonly proposers: number;
  /** How often each life of a proposer asks for the lease. */
  readonly attempts: number;
  /** How often a holder renews, for each lease. */
  readonly renewals: number;
  /** Whether a holder may give its lease back. */
  readonly releases: boolean;
  readonly crashes: number;
  readonly duplicates: number;
  readonly losses: number;
  /** The last instant: time goes from 0 to this, in steps of one. */
  readonly instants: number;
}

/** A line of a script, without its node: a verb and its words. */
export type Offer = readonly [verb: string, ...words: string[]];

export interface SmallWorld<Message, Command, Event, Config, Node extends Core<Message, Command, Event> = Core<Message, Command, Event>> {
  readonly staging: Staging<Message, Command, Event, Config, Node>;
  readonly bounds: Bounds;
  /** The stage it plays on. */
  settings(bounds: Bounds): Settings;
  /** True time between two instants. */
  readonly tickUs: number;
  /** By how much each node's clocks are off, in parts per million. */
  ratePpm(bounds: Bounds, node: number): number;
  /** What the actor of a node may do next, by what it remembers. */
  offers(bounds: Bounds, node: number, actor: Snapshot): readonly Offer[];
  /** How many nodes, from 0 on, are alike: permuting them makes no difference to anybody. They must hold nothing themselves. */
  alike(bounds: Bounds): number;
  /** A node's core as it would be if the nodes that are alike had other numbers. Lists that stand for sets stay in order. */
  rename(core: Snapshot, numbered: (node: number) => number): Snapshot;
  /** Nodes woken at the very instant they want to be. For nodes whose waking nobody can see; all others may be woken late, or never. */
  wakesPromptly(bounds: Bounds, node: number): boolean;
  /** A message that its addressee's present and later lives ignore, so that it makes no difference whether it comes. */
  isDead(message: Message, to: number, incarnation: number): boolean;
}
