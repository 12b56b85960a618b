/** Flease and PaxosLease on a stage, made safe and to the letter: acceptors a, b, c, …, proposers p, q, …, the actor of all lease engines. */
import type { LeaseCommand, LeaseEvent, RoundCore } from '../../../core/index.ts';
import type { Desk, Scenario } from '../../protocol.ts';
import type { TapeToScript } from '../../shrink/tape-to-script.ts';
import type { Settings, Staging } from '../../stage/staging.ts';
import { shortName } from '../../stage/words.ts';
import type { Said } from '../../tape.ts';
import { LeaseActor } from '../leases/actor.ts';
import { latencyUs, leaseTapeToScript, leaseVerbs } from '../leases/staging.ts';
import type { RoundWorld } from './protocol.ts';
import { roundDefaults, roundScenario, roundSettings, type RoundEngineName } from './settings.ts';

export type RoundStaging = Staging<LeaseCommand, LeaseEvent, RoundWorld, RoundCore>;

const LEARNERS_VERBS: readonly string[] = ['watch NODE [PREFIX]', 'look NODE NAME'];

export function roundStaging(engine: RoundEngineName, clocks: 'absolute' | 'relative'): RoundStaging {
  const verbs = leaseVerbs({ release: 'release NODE NAME [in SPAN]', more: engine === 'paxoslease' ? LEARNERS_VERBS : [] });
  return {
    defaults: roundDefaults(engine, clocks),
    verbs,
    scenario: (settings: Settings): Scenario<RoundWorld> => roundScenario(engine, settings),
    nodeName: ({ config }: Scenario<RoundWorld>, node: number): string => shortName(config.members, node),
    latencyUs,
    actor: (_scenario: Scenario<RoundWorld>, core: RoundCore, desk: Desk<LeaseCommand>): LeaseActor =>
      new LeaseActor(core, desk, { verbs, releasesLater: true }),
  };
}

export const roundTapeToScript: TapeToScript<LeaseCommand, RoundWorld> = {
  ...leaseTapeToScript,
  settings: roundSettings,
  look: (resource: string): Said => ({ verb: 'look', words: [resource] }),
};
