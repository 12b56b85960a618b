/** The world as processes, faults and desks see it: time, faults, records, and steps of processes. */
import type { Chooser, MonoUs, WallUs } from '../kernel/index.ts';
import type { Step } from '../core/index.ts';
import type { Sometimes } from '../check/index.ts';
import type { Chronicle, ApplicationReport } from './chronicle.ts';
import type { FaultPlan } from './faults.ts';
import type { WorldCounts } from './interest.ts';
import type { Overheard } from './liar.ts';
import type { SimProcess } from './process.ts';
import type { Desk, Scenario, SimProtocol } from './protocol.ts';
import type { Storage } from './storage.ts';
import type { Tape } from './tape.ts';
import type { Trace } from './trace.ts';

export interface WorldSurroundings<Message, Command, Event, Config> extends Step<Message, Event> {
  readonly protocol: SimProtocol<Message, Command, Event, Config>;
  readonly scenario: Scenario<Config>;
  readonly mutant: string | null;
  readonly nowUs: number;
  readonly healed: boolean;
  readonly faults: FaultPlan;
  readonly chooser: Chooser;
  readonly counts: WorldCounts;
  readonly chronicle: Chronicle;
  readonly sometimes: Sometimes;
  readonly storage: Storage;
  readonly trace: Trace | null;
  readonly tape: Tape<Command> | null;
  readonly overheard: Overheard<Message> | null;
  nameOf(node: number): string;
  monoOf(node: number): MonoUs;
  wallOf(node: number): WallUs;
  /** Does something at a true instant. */
  at(atUs: number, action: () => void): void;
  /** A step of a process: whatever its core does between these two is one. */
  enter(process: SimProcess<Message, Command, Event>): void;
  leave(process: SimProcess<Message, Command, Event>): void;
  planWakeAnew(process: SimProcess<Message, Command, Event>): void;
  deskOf(process: SimProcess<Message, Command, Event>): Desk<Command>;
  queueCommand(command: Command): void;
  setTimer(process: SimProcess<Message, Command, Event>, spanUs: number, tag: number): void;
  report(process: SimProcess<Message, Command, Event>, told: ApplicationReport): void;
}
