/** A protocol for a test: what the test says of it, and for the rest the least that the simulator accepts. */
import { NEVER } from '../../src/kernel/index.ts';
import type { Core } from '../../src/core/index.ts';
import type { Codec } from '../../src/wire/index.ts';
import { noFaults, type FaultPlan, type Scenario, type SimProtocol, type User } from '../../src/sim/index.ts';

export type TinyProtocol<Command, Event> = SimProtocol<number, Command, Event, null>;

/** Messages are numbers. */
const numberCodec: Codec<number> = {
  encode: (message, out) => out.u53(message),
  decode: (input) => {
    const message = input.u53();
    return input.failed ? null : message;
  },
};

export function tiny<Command, Event>(parts: Partial<TinyProtocol<Command, Event>>): TinyProtocol<Command, Event> {
  return {
    name: 'tiny',
    summary: 'a protocol of one test',
    mutants: [],
    sometimes: [],
    codec: numberCodec,
    plan: () => tinyWorld({}),
    core: () => idleCore(),
    user: () => idleUser(),
    referees: () => [],
    isVote: () => false,
    describeMessage: String,
    describeCommand: String,
    describeEvent: String,
    nodeName: (_scenario, node) => `n${node}`,
    ...parts,
  };
}

export function tinyWorld(parts: Partial<Omit<Scenario<null>, 'faults'>> & { faults?: Partial<FaultPlan> }): Scenario<null> {
  const { faults, ...rest } = parts;
  return {
    nodes: 1,
    units: 0,
    termUs: 1_000_000,
    safetyUs: 10_000_000,
    livenessUs: 10_000_000,
    config: null,
    ...rest,
    faults: { ...noFaults(), ...faults },
  };
}

/** Does nothing, whatever comes. */
export function idleCore<Command, Event>(parts: Partial<Core<number, Command, Event>> = {}): Core<number, Command, Event> {
  return {
    wakeAt: NEVER,
    start: () => undefined,
    admits: () => true,
    receive: () => undefined,
    command: () => undefined,
    wake: () => undefined,
    completed: () => undefined,
    snapshot: () => null,
    restore: () => undefined,
    ...parts,
  };
}

/** Owes nothing and does nothing. */
export function idleUser<Event>(parts: Partial<User<Event>> = {}): User<Event> {
  return {
    start: () => undefined,
    event: () => undefined,
    timer: () => undefined,
    healed: () => undefined,
    waitingFor: () => 'nothing',
    ...parts,
  };
}
