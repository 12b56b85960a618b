/** FastCT in the simulator: the worlds, users and referees of consensus, with leases on instances beneath. */
import type { Chooser } from '../../../kernel/index.ts';
import {
  ALL_CONSENSUS_RULES,
  ALL_INTERVAL_RULES,
  CONSENSUS_LANE,
  FastCtCore,
  LEASE_LANE,
  type Boot,
  type ConsensusEvent,
  type FastCtCommand,
  type FastCtConfig,
  type FastCtEvent,
  type FastCtMessage,
  type FastCtRules,
  type LambdaChoice,
} from '../../../core/index.ts';
import { AgreementReferee, AtMostOnceReferee, type Referee } from '../../../check/index.ts';
import { consensusCodec, intervalCodec, lanesCodec } from '../../../wire/index.ts';
import type { Desk, Forger, LiarGround, Scenario, SimProtocol, Sometime, User } from '../../protocol.ts';
import { intervalProtocol } from '../interval-lease/protocol.ts';
import { consensusForger } from './liar.ts';
import { FAST_MUTANTS, consensusRulesOf, type FastMutant } from './mutants.ts';
import { CONSENSUS_WORLD_INTERESTS, describeConsensus, describeConsensusCommand, describeConsensusEvent, memberName } from './protocol.ts';
import { CONSENSUS_INTERESTS, ConsensusUser } from './user.ts';
import { drawConsensusWorld, type ConsensusWorld } from './worlds.ts';

export interface FastCtWorld extends ConsensusWorld {
  readonly fast: FastCtConfig;
}

type FastCtScenario = Scenario<FastCtWorld>;
export type FastCtSim = SimProtocol<FastCtMessage, FastCtCommand, FastCtEvent, FastCtWorld, FastCtCore>;

const FAST_INTERESTS: readonly Sometime[] = [
  { name: 'fast-decision', description: 'an instance was decided in its FAST round' },
  { name: 'normal-decision', description: 'an instance was decided in a NORMAL round' },
  { name: 'normal-after-fast', description: 'an instance was decided in a NORMAL round by a member that had acknowledged a FAST one' },
  { name: 'lease-granted', description: 'a member got a lease on instances' },
  { name: 'lease-refused', description: "a member was refused a lease, for another's or for one of its earlier lives" },
];

/** A lease is voted for as well. */
export const CONSENSUS_VOTES: ReadonlySet<string> = new Set(['ack', 'estimate', 'newestimate', 'decide']);

export const fastCt: FastCtSim = {
  name: 'fast-ct',
  summary: 'FastCT: consensus that begins with a FAST round, led by the holder of a lease on its instances',
  mutants: FAST_MUTANTS,
  sometimes: [...FAST_INTERESTS, ...CONSENSUS_INTERESTS, ...CONSENSUS_WORLD_INTERESTS],
  codec: lanesCodec<FastCtMessage>({ [LEASE_LANE]: intervalCodec, [CONSENSUS_LANE]: consensusCodec }),

  plan(chooser: Chooser, mutant: string | null): FastCtScenario {
    const world = drawConsensusWorld(chooser, mutantOf(mutant)?.needs, () => ({ kind: 'fast' }));
    const { consensus } = world.config;
    const max = 1 + chooser.below(12);
    const lambda: LambdaChoice =
      chooser.below(2) === 0 ? { kind: 'fixed', size: max } : { kind: 'adaptive', max, isOptimistic: chooser.below(2) === 0 };
    const fast = { consensus, lambda, isLiteralInterval: false, asksAhead: chooser.below(2) === 0, rttUs: 1000 + chooser.below(20_000) };
    return { ...world, config: { ...world.config, fast } };
  },
  core: ({ config }: FastCtScenario, boot: Boot, mutant: string | null): FastCtCore =>
    new FastCtCore(config.fast, boot, fastRulesOf(mutantOf(mutant))),
  user: ({ config, nodes }: FastCtScenario, core: FastCtCore, desk: Desk<FastCtCommand>): User<FastCtEvent> =>
    new FastCtUser(config, nodes, core, desk),
  referees: (): Referee[] => [new AgreementReferee(), new AtMostOnceReferee()],
  forger: (): Forger<FastCtMessage> => ({
    lie: (overheard: FastCtMessage | null, ground: LiarGround): FastCtMessage => ({
      lane: CONSENSUS_LANE,
      message: consensusForger.lie(overheard?.lane === CONSENSUS_LANE ? overheard.message : null, ground),
    }),
    pleasing: (asked: FastCtMessage): FastCtMessage | null => {
      const answer = asked.lane === CONSENSUS_LANE ? consensusForger.pleasing(asked.message) : null;
      return answer && { lane: CONSENSUS_LANE, message: answer };
    },
  }),
  isVote: (message: FastCtMessage): boolean => CONSENSUS_VOTES.has(message.message.kind),
  // Messages of leases are in capitals.
  describeMessage: (message: FastCtMessage): string =>
    message.lane === CONSENSUS_LANE ? describeConsensus(message.message) : intervalProtocol.describeMessage(message.message),
  describeCommand: describeConsensusCommand,
  describeEvent: (event: FastCtEvent): string => {
    if (event.kind !== 'lease') return describeConsensusEvent(event);
    return `lease of ${event.from} to ${event.to} ${event.isGranted ? 'granted' : 'refused'}, λ is ${event.lambda}`;
  },
  nodeName: memberName,
};

function mutantOf(name: string | null): FastMutant | undefined {
  return FAST_MUTANTS.find((mutant) => mutant.name === name);
}

function fastRulesOf(mutant: FastMutant | undefined): FastCtRules {
  const { without } = mutant ?? {};
  return {
    consensus: without === undefined || without === 'lostIsLeased' ? ALL_CONSENSUS_RULES : consensusRulesOf({ without }),
    intervals: ALL_INTERVAL_RULES,
    lostIsLeased: without !== 'lostIsLeased',
  };
}

class FastCtUser extends ConsensusUser implements User<FastCtEvent> {
  #leases = 0;

  override event(event: ConsensusEvent | FastCtEvent): void {
    if (event.kind === 'lease') return this.#leased(event);
    if (event.kind === 'decided') {
      this.desk.sometimes(event.isFast ? 'fast-decision' : 'normal-decision');
      if (event.afterFast) this.desk.sometimes('normal-after-fast');
    }
    super.event(event);
  }

  #leased({ isGranted, from, to }: Extract<FastCtEvent, { kind: 'lease' }>): void {
    this.desk.sometimes(isGranted ? 'lease-granted' : 'lease-refused');
    if (isGranted) this.desk.record({ kind: 'allotted', space: 'instances', claim: ++this.#leases, from, to });
  }
}
