/** The quorum engine on a stage: acceptors a, b, c, …, proposers p, q, …, and an actor that can do all a caller can. */
import type { QuorumCommand, QuorumCore, QuorumEvent } from '../../../core/index.ts';
import type { Desk, Scenario } from '../../protocol.ts';
import type { Staging } from '../../stage/staging.ts';
import { shortName } from '../../stage/words.ts';
import { LeaseActor } from '../leases/actor.ts';
import { latencyUs, leaseTapeToScript } from '../leases/staging.ts';
import type { TapeToScript } from '../../shrink/tape-to-script.ts';
import type { QuorumWorld } from './protocol.ts';
import { QUORUM_DEFAULTS, quorumScenario, quorumSettings } from './settings.ts';

const VERBS: readonly string[] = [
  'acquire NODE NAME TERM [wait SPAN] [keep] [saying TEXT]',
  'renew NODE NAME [TERM]',
  'release NODE NAME',
  'cancel NODE NAME',
  'use NODE NAME',
  'query NODE NAME',
  'watch NODE [PREFIX]',
  'proclaim NODE NAME TEXT',
  'bootstrap NODE [SPAN]',
  'retime NODE SPAN',
  'paces NODE fine|fast|slow [MEMBER NUMBERS]',
  '(renew, release, cancel, use and proclaim take "lease N": the Nth acquire of the node, instead of its last of that name)',
];

export const quorumStaging: Staging<QuorumCommand, QuorumEvent, QuorumWorld, QuorumCore> = {
  defaults: QUORUM_DEFAULTS,
  verbs: VERBS,
  scenario: quorumScenario,
  nodeName: ({ config }: Scenario<QuorumWorld>, node: number): string => shortName(config.members, node),
  latencyUs,
  actor: (_scenario: Scenario<QuorumWorld>, core: QuorumCore, desk: Desk<QuorumCommand>): LeaseActor =>
    new LeaseActor(core, desk, { verbs: VERBS, releasesLater: false }),
};

export const quorumTapeToScript: TapeToScript<QuorumCommand, QuorumWorld> = { ...leaseTapeToScript, settings: quorumSettings };
