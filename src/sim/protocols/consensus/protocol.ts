/** [CT96] in the simulator: members propose, crash, come back with and without their disks, and suspect each other. Validity, integrity, agreement and termination are judged. */
import type { Chooser } from '../../../kernel/index.ts';
import {
  ConsensusCore,
  type Boot,
  type ConsensusCommand,
  type ConsensusEvent,
  type ConsensusMessage,
  type ConsensusMode,
} from '../../../core/index.ts';
import { AgreementReferee, type Referee } from '../../../check/index.ts';
import { consensusCodec } from '../../../wire/index.ts';
import { DISK_INTERESTS, WORLD_INTERESTS } from '../../interest.ts';
import type { Desk, Forger, Scenario, SimProtocol, Sometime, User } from '../../protocol.ts';
import { consensusForger } from './liar.ts';
import { CONSENSUS_MUTANTS, consensusRulesOf } from './mutants.ts';
import { CONSENSUS_INTERESTS, ConsensusUser, decoded } from './user.ts';
import { drawConsensusWorld, type ConsensusScenario, type ConsensusWorld } from './worlds.ts';

export type ChandraTouegSim = SimProtocol<ConsensusMessage, ConsensusCommand, ConsensusEvent, ConsensusWorld, ConsensusCore>;

/** What the world does, but for twins: no member is two processes here. */
export const CONSENSUS_WORLD_INTERESTS: readonly Sometime[] = [...WORLD_INTERESTS, ...DISK_INTERESTS].filter(({ name }) => name !== 'twin');

export const chandraToueg: ChandraTouegSim = {
  name: 'chandra-toueg',
  summary: 'the consensus of [CT96] with a rotating coordinator, instance after instance',
  mutants: CONSENSUS_MUTANTS,
  sometimes: [...CONSENSUS_INTERESTS, ...CONSENSUS_WORLD_INTERESTS],
  codec: consensusCodec,

  plan(chooser: Chooser, mutant: string | null): ConsensusScenario {
    const needs = CONSENSUS_MUTANTS.find(({ name }) => name === mutant)?.needs;
    return drawConsensusWorld(chooser, needs, (): ConsensusMode => ({ kind: 'chandra-toueg', shortcut: chooser.below(3) === 0 }));
  },
  core({ config }: ConsensusScenario, boot: Boot, mutant: string | null): ConsensusCore {
    return new ConsensusCore(config.consensus, boot, consensusRulesOf(CONSENSUS_MUTANTS.find(({ name }) => name === mutant)));
  },
  user: ({ config, nodes }: ConsensusScenario, core: ConsensusCore, desk: Desk<ConsensusCommand>): User<ConsensusEvent> =>
    new ConsensusUser(config, nodes, core, desk),
  referees: (): Referee[] => [new AgreementReferee()],
  forger: (): Forger<ConsensusMessage> => consensusForger,
  isVote: isConsensusVote,
  describeMessage: describeConsensus,
  describeCommand: describeConsensusCommand,
  describeEvent: describeConsensusEvent,
  nodeName: memberName,
};

export function memberName({ config }: Scenario<ConsensusWorld>, node: number): string {
  return node < config.consensus.members ? `m${node}` : `liar${node - config.consensus.members}`;
}

/** An ESTIMATE of a later round is a promise. */
function isConsensusVote(message: ConsensusMessage): boolean {
  const { kind } = message;
  return kind === 'ack' || kind === 'newestimate' || kind === 'decide' || (kind === 'estimate' && message.round > 0);
}

export function describeConsensus(message: ConsensusMessage): string {
  const { kind } = message;
  switch (message.kind) {
    case 'heartbeat':
      return `heartbeat(${message.decided} decided, ${message.counts.join('/')})`;
    case 'ask':
      return `ask(${message.life})`;
    case 'told':
      return `told(${message.life}, ${message.bound})`;
    case 'gone':
      return `${kind}(${message.instance})`;
    default: {
      const stamped = message.kind === 'estimate' ? ` of ${message.ts}` : '';
      const value = 'value' in message && message.value !== null ? `, '${decoded(message.value)}'${stamped}` : '';
      return `${kind}(${message.instance}, round ${message.round}${value})`;
    }
  }
}

export function describeConsensusCommand(command: ConsensusCommand): string {
  switch (command.kind) {
    case 'propose':
      return `propose '${decoded(command.value)}' in ${command.instance}`;
    case 'leased':
      return `lease of ${command.instance} ${command.granted ? 'granted' : 'refused'}`;
    default:
      return `${command.kind} up to ${command.upTo}`;
  }
}

export function describeConsensusEvent(event: ConsensusEvent): string {
  switch (event.kind) {
    case 'decided':
      return `decided '${decoded(event.value)}' in ${event.instance}, round ${event.round}`;
    case 'skipped':
      return `skipped up to ${event.upTo}`;
    case 'stopped':
      return event.without.length > 0 ? `stopped without ${event.without.join(', ')}` : 'goes on';
    case 'wantsLease':
      return `wants the lease of ${event.instance}`;
    default:
      return event.bound > 0 ? `${event.standing} up to ${event.bound}` : event.standing;
  }
}
