/**
 * Interval leases in the simulator: members with disks of their own, claimants that want what others want, messages that are lost, doubled and late, crashes at
 * every write, disks that are lost. At most once and mandatory are judged on every run, and that every claim is answered once all is well.
 */
import type { Chooser } from '../../../kernel/index.ts';
import { IntervalLeaseCore, type Boot, type IntervalCommand, type IntervalEvent, type IntervalMessage } from '../../../core/index.ts';
import { AtMostOnceReferee, ClaimReferee, MandatoryReferee, type Referee } from '../../../check/index.ts';
import { intervalCodec } from '../../../wire/index.ts';
import type { Desk, SimProtocol, SmallerScenario, User } from '../../protocol.ts';
import { ClaimInterest, INTERVAL_INTERESTS } from './interests.ts';
import { intervalMutant, INTERVAL_MUTANTS, intervalRules } from './mutants.ts';
import { IntervalUser } from './user.ts';
import { planIntervals, type IntervalScenario, type IntervalWorld } from './worlds.ts';

export type IntervalSim = SimProtocol<IntervalMessage, IntervalCommand, IntervalEvent, IntervalWorld, IntervalLeaseCore>;

export const intervalProtocol: IntervalSim = {
  name: 'interval-lease',
  summary: 'ranges of integers given once, by a majority of durable members, with no clock: lost messages, crashes, lost disks',
  mutants: INTERVAL_MUTANTS,
  sometimes: INTERVAL_INTERESTS,
  codec: intervalCodec,

  plan(chooser: Chooser, mutant: string | null): IntervalScenario {
    return planIntervals(chooser, intervalMutant(mutant)?.shape ?? null, mutant === 'literal-burns');
  },
  smaller: smallerWorlds,

  core: ({ config }: IntervalScenario, boot: Boot, mutant: string | null): IntervalLeaseCore =>
    new IntervalLeaseCore(
      boot.self < config.core.members ? config.core : { ...config.core, rttUs: config.clientRttUs },
      boot,
      intervalRules(mutant),
    ),
  user: ({ config }: IntervalScenario, core: IntervalLeaseCore, desk: Desk<IntervalCommand>): User<IntervalEvent> =>
    new IntervalUser(config, core, desk),
  referees: ({ config }: IntervalScenario, sometimes: (name: string) => void): Referee[] => [
    new AtMostOnceReferee(),
    new ClaimReferee(),
    new MandatoryReferee(config.reason),
    new ClaimInterest(sometimes),
  ],
  isVote: ({ kind }: IntervalMessage): boolean => kind === 'ack',
  describeMessage,
  topicOf: (message: IntervalMessage): string => ('counter' in message ? `${message.incarnation}.${message.counter}` : ''),
  describeCommand,
  describeEvent,
  nodeName: ({ config }: IntervalScenario, node: number): string =>
    node < config.core.members ? `m${node}` : `c${node - config.core.members}`,
};

function smallerWorlds(scenario: IntervalScenario): SmallerScenario<IntervalWorld>[] {
  const { nodes, config } = scenario;
  const { habits, core } = config;
  const smaller: SmallerScenario<IntervalWorld>[] = [];
  if (nodes > core.members + 1) smaller.push({ without: 'a client', scenario: { ...scenario, nodes: nodes - 1 } });
  if (core.members > 3)
    smaller.push({
      without: 'two members',
      scenario: { ...scenario, nodes: nodes - 2, config: { ...config, core: { ...core, members: 3 } } },
    });
  const lacks = (without: string, less: Partial<typeof habits>): void => {
    smaller.push({ without, scenario: { ...scenario, config: { ...config, habits: { ...habits, ...less } } } });
  };
  if (config.membersClaim)
    smaller.push({ without: 'claims of members', scenario: { ...scenario, config: { ...config, membersClaim: false } } });
  if (habits.spaces.length > 1) lacks('a space', { spaces: habits.spaces.slice(0, 1) });
  if (habits.atOnce > 1) lacks('claims side by side', { atOnce: 1 });
  if (habits.blockEvery > 0) lacks('blocks', { blockEvery: 0 });
  if (habits.callOffEvery > 0) lacks('claims that are called off', { callOffEvery: 0 });
  if (habits.everythingEvery > 0) lacks('claims of everything', { everythingEvery: 0 });
  return smaller;
}

function describeMessage(message: IntervalMessage): string {
  switch (message.kind) {
    case 'lease':
    case 'withdraw':
      return `${message.kind.toUpperCase()}(${message.incarnation}.${message.counter}: [${message.from}, ${message.to}] of ${message.space}, closed ${message.closed})`;
    case 'ack':
    case 'withdrawn':
      return `${message.kind.toUpperCase()}(${message.incarnation}.${message.counter}, disks ${message.generations.join('.')})`;
    case 'nack': {
      const why = message.why === 'limit' ? 'limit' : `[${message.overlapFrom}, ${message.overlapTo}], next ${message.next}`;
      return `NACK(${message.incarnation}.${message.counter}: ${why}, disks ${message.generations.join('.')})`;
    }
    case 'hello':
    case 'look':
      return `${message.kind.toUpperCase()}()`;
    case 'standing':
      return `STANDING(${message.phase})`;
    case 'known':
      return `KNOWN(disks ${message.generations.join('.')}, begun ${message.founding})`;
    case 'note':
      return `NOTE(${message.generation})`;
    case 'noted':
      return `NOTED(${message.generation}, disks ${message.generations.join('.')})`;
    case 'copy':
      return `COPY(${message.generation}, from ${message.from} of '${message.space}')`;
    case 'page':
      return `PAGE(${message.generation}, ${message.pieces.map(({ from, to }) => `[${from}, ${to}]`).join(' ')}${message.next ? ', more' : ''})`;
    case 'found':
      return `FOUND(${message.founding}, round ${message.round}, generation ${message.start})`;
    case 'founded':
      return `FOUNDED(${message.founding}, round ${message.round}, ${message.isReady ? 'ready' : 'in use'})`;
    default:
      return `${message.kind.toUpperCase()}(${message.founding}, generation ${message.start})`;
  }
}

function describeCommand(command: IntervalCommand): string {
  switch (command.kind) {
    case 'claim':
      return `claim [${command.from}, ${command.to}] of ${command.space} (claim ${command.claim})`;
    case 'next':
      return `claim a block of ${command.size} of ${command.space} (claim ${command.claim})`;
    case 'call-off':
      return `call off claim ${command.claim}`;
    default:
      return command.kind;
  }
}

function describeEvent(event: IntervalEvent): string {
  switch (event.kind) {
    case 'granted':
      return `granted [${event.from}, ${event.to}] (claim ${event.claim})`;
    case 'refused':
      return `refused: ${event.why} (claim ${event.claim})`;
    case 'cleared':
      return `cleared (claim ${event.claim})`;
    case 'disk':
      return `its disk is ${event.phase}, generation ${event.generation}`;
    case 'standing':
      return `the disk of ${event.member} is ${event.phase}`;
    default:
      return event.begun ? 'all disks have begun' : 'the disks have not begun';
  }
}
