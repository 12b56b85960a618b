/**
 * What the simulator needs to know of a protocol: how to build its cores, what its users do, which referees judge.
 * A new protocol is a folder whose kit holds a `SimProtocol`, listed in `protocols/index.ts`.
 */
import type { Chooser, LeaseMode, MonoUs, WallUs } from '../kernel/index.ts';
import type { Boot, Core, UnitId } from '../core/index.ts';
import type { Codec } from '../wire/index.ts';
import type { HistoryRecord, Referee } from '../check/index.ts';
import type { FaultPlan } from './faults.ts';

/** A rule taken out of the core on purpose, to see the referees notice. */
export interface Mutant {
  readonly name: string;
  /** The rule it removes, as in `docs/research/divergence/`. */
  readonly rule: string;
  /** How it goes wrong, in a sentence or two. */
  readonly how: string;
  /** What breaks is progress, not safety. */
  readonly breaksLiveness?: boolean;
}

export interface Sometime {
  readonly name: string;
  readonly description: string;
}

/** These nodes and all others do not hear each other from one instant to another, counted from the beginning. */
export interface PlannedCut {
  readonly fromUs: number;
  readonly untilUs: number;
  readonly side: readonly number[];
}

/** One drawn world. */
export interface Scenario<Config> {
  readonly nodes: number;
  /** How many nodes are liars: the last of them. */
  readonly liars?: number;
  /** Shared storage units. */
  readonly units: number;
  readonly faults: FaultPlan;
  /** Cuts beside the cuts that the faults draw. */
  readonly cuts?: readonly PlannedCut[];
  /** "A term later" in this world. */
  readonly termUs: number;
  /** How long the faults go on. */
  readonly safetyUs: number;
  /** How long after healing every user must be done; 0 where only safety is judged. */
  readonly livenessUs: number;
  readonly config: Config;
}

/** The application on a node: it gives commands, reacts to events, and reports its acts to the history. */
export interface User<Event> {
  start(): void;
  event(event: Event): void;
  /** A timer set with `desk.after`. */
  timer(tag: number): void;
  /** An access was refused: the shared unit may have lost writes since this process opened it (rule 23). */
  unitRestored?(unit: UnitId): void;
  /** The world has healed: from here on progress is owed. Call `desk.done` when it was made. */
  healed(): void;
  /** What this user is still waiting for, for a liveness violation's message. */
  waitingFor(): string;
}

/** A deadline on a holder's two clocks: it is dead when either has passed (rule 12). */
export interface HoldDeadline {
  readonly monoUs: MonoUs;
  readonly wallUs: WallUs;
}

/** A record of a shared unit. */
export interface UnitRecord {
  readonly unit: UnitId;
  readonly key: string;
  readonly value: Uint8Array;
}

/** What a user can do on its node. Its clocks are the node's; it sees no true time. */
export interface Desk<Command> {
  readonly node: number;
  readonly incarnation: number;
  readonly monoUs: MonoUs;
  readonly wallUs: WallUs;
  readonly healed: boolean;
  /** What a ping of another node would tell of its monotonic clock, and which of its processes answers; null if none does. */
  clockOf?(node: number): { readonly life: number; readonly monoUs: number } | null;
  /** What an operator finds on the own disk of a node under this key. */
  recordOn?(node: number, key: string): Uint8Array | null;
  choose(bound: number): number;
  command(command: Command): void;
  after(spanUs: number, tag: number): void;
  /** From here on this process uses the unit in its present epoch. Returns whether a process has waited that epoch out. */
  openUnit?(unit: UnitId): boolean;
  /** The epoch in which this process uses the unit. */
  epochOf?(unit: UnitId): number;
  /** This process has waited out the epoch in which it uses the unit. */
  noteWaitedOut?(unit: UnitId): void;
  /** This process is ended then, and started anew if it is not replaced already. */
  quit(spanUs: number): void;

  /** For the history. Holds are told with their deadlines, so that the world can close them when the node's own clocks pass. */
  requested(resource: string, request: number, mode?: LeaseMode): void;
  abandoned(resource: string, request: number): void;
  granted(resource: string, request: number, token: number, deadline: HoldDeadline, mode?: LeaseMode): void;
  renewed(resource: string, token: number, deadline: HoldDeadline, mode?: LeaseMode): void;
  used(resource: string, token: number): void;
  ended(resource: string, token: number, reason: 'released' | 'lost'): void;
  /** Anything else of the schema. */
  record(record: DistributiveOmit<HistoryRecord, 'at' | 'node' | 'incarnation'>): void;

  /** Counts something that must happen sometimes. */
  sometimes(name: string): void;
  /** Progress was made: this user owes nothing more. */
  done(): void;
  /** Progress that was owed is impossible or was undone. */
  failLiveness(message: string): void;
}

/** Where a forger finds itself. */
export interface LiarGround {
  readonly boot: Boot;
  readonly nodes: number;
  readonly wallUs: number;
  choose(bound: number): number;
}

/** Makes the messages of a protocol's liars. The forger may change an overheard message in place. */
export interface Forger<Message> {
  /** A made-up message, or a changed overheard one. */
  lie(overheard: Message | null, ground: LiarGround): Message;
  /** The answer that the sender of this hopes for; null if it asks for none. */
  pleasing(overheard: Message): Message | null;
}

export type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** A world that lacks something another has. */
export interface SmallerScenario<Config> {
  /** The missing part, in words. */
  readonly without: string;
  readonly scenario: Scenario<Config>;
}

export interface SimProtocol<Message, Command, Event, Config, Node extends Core<Message, Command, Event> = Core<Message, Command, Event>> {
  readonly name: string;
  readonly summary: string;
  readonly mutants: readonly Mutant[];
  readonly sometimes: readonly Sometime[];
  readonly codec: Codec<Message>;
  /** Draws a world. A mutant may ask for worlds in which its rule matters. */
  plan(chooser: Chooser, mutant: string | null): Scenario<Config>;
  /** Worlds with one node, name or user less, for shrinking; best first. */
  smaller?(scenario: Scenario<Config>): SmallerScenario<Config>[];
  /** What shared units hold when the world begins. */
  furnish?(scenario: Scenario<Config>): readonly UnitRecord[];
  core(scenario: Scenario<Config>, boot: Boot, mutant: string | null): Node;
  user(scenario: Scenario<Config>, core: Node, desk: Desk<Command>): User<Event>;
  /** Judges, and observers that call `sometimes` when they see something that must happen sometimes. */
  referees(scenario: Scenario<Config>, sometimes: (name: string) => void): Referee[];
  /** What liars say in this world. */
  forger?(scenario: Scenario<Config>): Forger<Message>;
  /** At the end of a world: the fault of an honest node, whatever messages it got; null if there is none. */
  audit?(scenario: Scenario<Config>, core: Node, wallUs: WallUs): string | null;
  /** Messages after which a crash is most instructive. */
  isVote(message: Message): boolean;
  /** For the step list. The first word is the label by which scripts name the message. */
  describeMessage(message: Message): string;
  /** Which name it is about, where one step may send messages about many. */
  topicOf?(message: Message): string;
  describeCommand(command: Command): string;
  describeEvent(event: Event): string;
  nodeName(scenario: Scenario<Config>, node: number): string;
}
