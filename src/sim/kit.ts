/**
 * Everything the simulator can do with a protocol, made of what the protocol declares. Campaigns, scripts, shrinking and exploring
 * take a kit; the project's own are listed in `protocols/index.ts`, and a kit that is on no list works as well.
 */
import { TenureError } from '../kernel/index.ts';
import type { Core } from '../core/index.ts';
import { exploring, type Budgets, type Exploration, type Exploring, type SearchLimits, type SmallWorld } from './explorer/index.ts';
import type { SimProtocol } from './protocol.ts';
import { simulation, type Simulation } from './run.ts';
import { shrinker, type ReductionWatch, type Shrinker, type Shrunk, type TapeToScript } from './shrink/index.ts';
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
  /** Abilities that it lacks are null. */
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

const PATIENT: ReductionWatch = { tried: () => undefined, outOfTime: () => false };

/** Makes a failing run small; null if the seed breaks nothing. It takes all the time it needs unless the watch says otherwise. */
export function shrink(of: Kit, seed: number, mutant: string | null, watch: ReductionWatch = PATIENT): Shrunk | null {
  if (!of.shrinker)
    throw new TenureError('TENURE_BAD_ARGUMENT', `${of.name} declares no staging and no tapeToScript, so its runs cannot be shrunk`);
  return of.shrinker.shrink(seed, mutant, watch);
}

const BOUNDLESS: SearchLimits = { maxStates: Infinity, isOver: () => false };

/** Searches the small world, with these bounds and the defaults for the rest, to its end unless the limits say otherwise. */
export function explore(
  of: Kit,
  bounds: Readonly<Record<string, number | boolean>>,
  mutant: string | null,
  limits: SearchLimits = BOUNDLESS,
): Exploration {
  if (!of.exploring)
    throw new TenureError('TENURE_BAD_ARGUMENT', `${of.name} declares no staging and no smallWorld, so it cannot be explored`);
  const all: Budgets = { ...of.exploring.usual, ...bounds };
  const strange = Object.keys(bounds).filter((name) => !of.exploring?.bounds[name]);
  if (strange.length > 0) throw new TenureError('TENURE_BAD_ARGUMENT', `the world of ${of.name} has no bound ${strange.join(', ')}`);
  return of.exploring.explore(all, mutant, limits);
}
