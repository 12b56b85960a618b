/** Flease and PaxosLease on a stage, made safe and to the letter: acceptors a, b, c, …, proposers p, q, …, the actor of all lease engines. */
import type { LeaseCommand, LeaseEvent, RoundCore } from '../../../core/index.ts';
import type { Desk, Scenario } from '../../protocol.ts';
import type { Said, TapeToScript } from '../../shrink/tape-to-script.ts';
import type { Settings, Staging } from '../../stage/staging.ts';
import { shortName } from '../../stage/words.ts';
import { LeaseActor } from '../leases/actor.ts';
import { latencyUs, leaseTapeToScript } from '../leases/staging.ts';
import type { RoundWorld } from './protocol.ts';
import { roundDefaults, roundScenario, roundSettings, type RoundEngine } from './settings.ts';

export type RoundStaging = Staging<LeaseCommand, LeaseEvent, RoundWorld, RoundCore>;

const VERBS: readonly string[] = [
  'acquire NODE NAME TERM [wait SPAN] [keep] [saying TEXT]',
  'renew NODE NAME [TERM]',
  'release NODE NAME [in SPAN]',
  'cancel NODE NAME',
  'use NODE NAME',
  'query NODE NAME',
  'proclaim NODE NAME TEXT',
  'retime NODE SPAN',
  'paces NODE fine|fast|slow [MEMBER NUMBERS]',
];
const LEARNERS_VERBS: readonly string[] = ['watch NODE [PREFIX]', 'look NODE NAME'];
const NUMBERED = '(renew, release, cancel, use and proclaim take "lease N": the Nth acquire of the node, instead of its last of that name)';

export function roundStaging(engine: RoundEngine, clocks: 'absolute' | 'relative'): RoundStaging {
  const verbs = [...VERBS, ...(engine === 'paxoslease' ? LEARNERS_VERBS : []), NUMBERED];
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
