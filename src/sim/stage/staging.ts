/**
 * What a stage needs to know of a protocol, beside what the simulator knows already: the world a few
 * settings make, and an actor that follows a script instead of drawing its acts. With that, any core
 * can be scripted and, if it declares a small world, explored.
 */
import type { Core, Snapshot } from '../../core/index.ts';
import { noFaults } from '../faults.ts';
import type { Desk, Scenario, SimProtocol } from '../protocol.ts';
import type { Ways } from './actions.ts';

/** As in the first line of a script: `stage quorum acceptors=3 proposers=2 term=3s`. */
export type Settings = Readonly<Record<string, string>>;

/**
 * Settings that every stage has: for how long its machines have been up; and whether wall clocks are set back, so that a lease that is over by the wall
 * clock alone may be back before its holder looks (see `Chronicle`).
 */
export const STAGE_DEFAULTS: Settings = { uptime: '0s', back: 'no' };

/** The application on a node of a stage. It acts when a line says so, and reports to the history what its core emits. */
export interface Actor<Event> {
  /** Does one line of a script, without its node. Throws TENURE_BAD_ARGUMENT if it does not understand the line. */
  act(verb: string, words: readonly string[]): void;
  event(event: Event): void;
  /** From here on all goes well, until the desk says that it is not healed any more. */
  settling?(ways: Ways): void;
  /** When it will do something of itself, on its node's monotonic clock, and that. */
  readonly wakeAt?: number;
  wake?(): void;
  /** All it remembers, as plain data; a fresh actor that restores it goes on from there. */
  snapshot(): Snapshot;
  restore(snapshot: Snapshot): void;
}

export interface Staging<Command, Event, Config, Node> {
  /** The settings it knows, with their defaults. */
  readonly defaults: Settings;
  /** Verbs of its actors, with their arguments, for people. */
  readonly verbs: readonly string[];
  scenario(settings: Settings): Scenario<Config>;
  /** How long messages and accesses to storage take where all goes well; a millisecond if nothing is said. */
  latencyUs?(scenario: Scenario<Config>): number;
  /** Short names: they are what scripts are made of. */
  nodeName(scenario: Scenario<Config>, node: number): string;
  actor(scenario: Scenario<Config>, core: Node, desk: Desk<Command>): Actor<Event>;
}

/** A world in which nothing happens by itself. */
export function calmScenario<Config>(nodes: number, termUs: number, config: Config, units = 0): Scenario<Config> {
  return { nodes, units, faults: noFaults(), termUs, safetyUs: 0, livenessUs: 0, config };
}

/** A protocol with its staging. */
export interface StagedProtocol<
  Message,
  Command,
  Event,
  Config,
  Node extends Core<Message, Command, Event> = Core<Message, Command, Event>,
> extends Staging<Command, Event, Config, Node> {
  readonly protocol: SimProtocol<Message, Command, Event, Config, Node>;
}
