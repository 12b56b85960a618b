/** The quorum engine on a stage: acceptors a, b, c, …, proposers p, q, …, and an actor that can do all a caller can. */
import type { QuorumCommand, QuorumCore, QuorumEvent } from '../../../core/index.ts';
import type { Desk, Scenario } from '../../protocol.ts';
import type { Staging } from '../../stage/staging.ts';
import { shortName } from '../../stage/words.ts';
import { LeaseActor } from '../leases/actor.ts';
import { latencyUs, leaseTapeToScript, leaseVerbs } from '../leases/staging.ts';
import type { TapeToScript } from '../../shrink/tape-to-script.ts';
import type { QuorumWorld } from './protocol.ts';
import { QUORUM_DEFAULTS, quorumScenario, quorumSettings } from './settings.ts';

const VERBS = leaseVerbs({
  release: 'release NODE NAME [in SPAN]',
  more: ['upgrade NODE NAME', 'hand-over NODE NAME', 'watch NODE [PREFIX]', 'bootstrap NODE [SPAN]'],
});

export const quorumStaging: Staging<QuorumCommand, QuorumEvent, QuorumWorld, QuorumCore> = {
  defaults: QUORUM_DEFAULTS,
  verbs: VERBS,
  scenario: quorumScenario,
  nodeName: ({ config }: Scenario<QuorumWorld>, node: number): string => shortName(config.members, node),
  latencyUs,
  actor: (_scenario: Scenario<QuorumWorld>, core: QuorumCore, desk: Desk<QuorumCommand>): LeaseActor =>
    new LeaseActor(core, desk, { verbs: VERBS, releasesLater: true, shares: true }),
};

export const quorumTapeToScript: TapeToScript<QuorumCommand, QuorumWorld> = { ...leaseTapeToScript, settings: quorumSettings };
