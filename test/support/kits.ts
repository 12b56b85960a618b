/** The kits by name, and the small worlds with the stages they play on. */
import type { Core } from '../../src/core/index.ts';
import {
  kits,
  type Exploration,
  type Exploring,
  type Kit,
  type SimProtocol,
  type SmallWorld,
  type StageKind,
  type Staging,
} from '../../src/sim/index.ts';
import type { ExploredProtocol } from '../../src/sim/explorer/small-world.ts';
import { quorumProtocol } from '../../src/sim/protocols/quorum/protocol.ts';
import { quorumSmallWorld } from '../../src/sim/protocols/quorum/small-world.ts';
import { quorumStaging } from '../../src/sim/protocols/quorum/staging.ts';
import { viewsProtocol } from '../../src/sim/protocols/quorum-views/protocol.ts';
import { viewsSmallWorld } from '../../src/sim/protocols/quorum-views/small-world.ts';
import { viewsStaging } from '../../src/sim/protocols/quorum-views/staging.ts';
import { register } from '../../src/sim/protocols/register/protocol.ts';
import { registerSmallWorld } from '../../src/sim/protocols/register/small-world.ts';
import { registerStaging } from '../../src/sim/protocols/register/staging.ts';
import { fleaseProtocol, paxosLeaseProtocol, paxosLeaseSkewed } from '../../src/sim/protocols/rounds/protocol.ts';
import { fleaseSmallWorld, paxosLeaseSkewedSmallWorld, paxosLeaseSmallWorld } from '../../src/sim/protocols/rounds/small-world.ts';
import { roundStaging } from '../../src/sim/protocols/rounds/staging.ts';
import { roundsRegisterProtocol } from '../../src/sim/protocols/rounds-register/protocol.ts';
import { roundsRegisterSmallWorld } from '../../src/sim/protocols/rounds-register/small-world.ts';
import { roundsRegisterStaging } from '../../src/sim/protocols/rounds-register/staging.ts';
import { STORAGE_VARIANTS, storageLeaseProtocol } from '../../src/sim/protocols/storage-leases/protocol.ts';
import { storageSmallWorld } from '../../src/sim/protocols/storage-leases/small-world.ts';
import { storageStaging } from '../../src/sim/protocols/storage-leases/staging.ts';

export function kitNamed(name: string): Kit {
  const found = kits.find((kit) => kit.name === name);
  if (!found) throw new Error(`there is no kit of ${name}`);
  return found;
}

export function stageOf(name: string): StageKind {
  const { stage } = kitNamed(name);
  if (!stage) throw new Error(`${name} has no stage`);
  return stage;
}

export function exploringOf(name: string): Exploring {
  const { exploring } = kitNamed(name);
  if (!exploring) throw new Error(`${name} has no small world`);
  return exploring;
}

/** Some of a world's bounds; the others are as usual. */
export type SomeBounds = Readonly<Record<string, number | boolean>>;

export function explore(which: Exploring, bounds: SomeBounds, mutant: string | null = null, maxStates = 5_000_000): Exploration {
  return which.explore({ ...which.usual, ...bounds }, mutant, { maxStates, isOver: () => false });
}

function explored<Message, Command, Event, Config, Node extends Core<Message, Command, Event>>(
  protocol: SimProtocol<Message, Command, Event, Config, Node>,
  staging: Staging<Command, Event, Config, Node>,
  smallWorld: SmallWorld<Message>,
): ExploredProtocol<Message, Command, Event, Config, Node> {
  return { ...smallWorld, staging: { ...staging, protocol } };
}

export const quorumWorld = explored(quorumProtocol, quorumStaging, quorumSmallWorld);
export const viewsWorld = explored(viewsProtocol, viewsStaging, viewsSmallWorld);
export const roundWorlds = [
  explored(fleaseProtocol, roundStaging('flease', 'absolute'), fleaseSmallWorld),
  explored(paxosLeaseProtocol, roundStaging('paxoslease', 'relative'), paxosLeaseSmallWorld),
  explored(paxosLeaseSkewed, roundStaging('paxoslease', 'absolute'), paxosLeaseSkewedSmallWorld),
];
export const roundsRegisterWorld = explored(roundsRegisterProtocol, roundsRegisterStaging, roundsRegisterSmallWorld);
export const registerWorld = explored(register, registerStaging, registerSmallWorld);
export const storageLeaseWorlds = STORAGE_VARIANTS.flatMap((variant) =>
  variant.kind === 'either' ? [] : [explored(storageLeaseProtocol(variant), storageStaging(variant), storageSmallWorld(variant.kind))],
);
