/**
 * Everything the simulator can do with a protocol, made of what the protocol declares. Campaigns, scripts, shrinking and exploring
 * take a kit; the project's own are listed in `protocols/index.ts`, and a kit that is on no list works as well.
 */
import type { Core } from '../core/index.ts';
import { exploring, type Exploring, type SmallWorld } from './explorer/index.ts';
import type { SimProtocol } from './protocol.ts';
import { simulation, type Simulation } from './run.ts';
import { shrinker, type Shrinker, type TapeToScript } from './shrink/index.ts';
import { stageKind, type StagedProtocol, type StageKind, type Staging } from './stage/index.ts';

/** What a protocol declares. Worlds and users are enough to simulate it; the rest makes it scripted, shrunk and explored. */
export interface KitParts<Message, Command, Event, Config, Node extends Core<Message, Command, Event>> {
  readonly protocol: SimProtocol<Message, Command, Event, Config, Node>;
  readonly staging?: Staging<Command, Event, Config, Node>;
  /** Needs a staging. */
  readonly tapeToScript?: TapeToScript<Command, Config>;
  /** Needs a staging. */
  readonly smallWorld?: SmallWorld<Message>;
}

/** A protocol with its types closed over. */
export interface Kit extends Simulation {
  /** What it cannot do is null. */
  readonly stage: StageKind | null;
  readonly shrinker: Shrinker | null;
  readonly exploring: Exploring | null;
}

export function kit<Message, Command, Event, Config, Node extends Core<Message, Command, Event>>({
  protocol,
  staging,
  tapeToScript,
  smallWorld,
}: KitParts<Message, Command, Event, Config, Node>): Kit {
  const staged: StagedProtocol<Message, Command, Event, Config, Node> | null = staging ? { ...staging, protocol } : null;
  return {
    ...simulation(protocol),
    stage: staged && stageKind(staged),
    shrinker: staged && tapeToScript ? shrinker(staged, tapeToScript) : null,
    exploring: staged && smallWorld ? exploring({ ...smallWorld, staging: staged }) : null,
  };
}
