/** One process in the simulated world: a core, the application above it, and what keeps it from running. */
import type { Incarnation, NodeId } from '../kernel/index.ts';
import type { Core, Sender } from '../core/index.ts';
import type { User } from './protocol.ts';

export interface SimProcess<Message, Command, Event> extends Sender {
  readonly index: number;
  readonly node: NodeId;
  readonly incarnation: Incarnation;
  readonly isAdmin: boolean;
  readonly core: Core<Message, Command, Event>;
  user: User<Event>;
  alive: boolean;
  /** Runs nothing before this true instant: stalled, or on a machine that sleeps. */
  blockedUntilUs: number;
  /** True instant at which the planned wake is due, lateness aside; Infinity if none is planned. */
  wakeDueUs: number;
  /** Only the wake planned last counts. */
  wakePlan: number;
  done: boolean;
}
