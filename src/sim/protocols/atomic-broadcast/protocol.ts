/** Atomic broadcast in the simulator: members and clients publish and read, while members crash, lose their memory, suspect each other and fall behind. Total order, integrity and durability are judged by positions. */
import type { Chooser } from '../../../kernel/index.ts';
import {
  BROADCAST_FAST_LANE,
  BROADCAST_OWN_LANE,
  BroadcastClientCore,
  BroadcastCore,
  CONSENSUS_LANE,
  type Boot,
  type BroadcastCommand,
  type BroadcastEvent,
  type BroadcastMessage,
  type BroadcastOwnMessage,
} from '../../../core/index.ts';
import { SequenceReferee, type Referee } from '../../../check/index.ts';
import { broadcastCodec } from '../../../wire/index.ts';
import type { Desk, Forger, Scenario, SimProtocol, User } from '../../protocol.ts';
import { fastCt, CONSENSUS_VOTES } from '../consensus/fast-ct.ts';
import { CONSENSUS_WORLD_INTERESTS, describeConsensus } from '../consensus/protocol.ts';
import { broadcastForger } from './liar.ts';
import { BROADCAST_MUTANTS, innerRulesOf, ownRulesOf, type BroadcastMutant } from './mutants.ts';
import { BROADCAST_INTERESTS, BroadcastUser } from './user.ts';
import { BROADCAST_RETRY_US, drawBroadcastWorld, type BroadcastScenario, type BroadcastWorld } from './worlds.ts';

type BroadcastNode = BroadcastCore | BroadcastClientCore;
export type AtomicBroadcastSim = SimProtocol<BroadcastMessage, BroadcastCommand, BroadcastEvent, BroadcastWorld, BroadcastNode>;

/** Messages that depend on stored records, or begin something. */
const OWN_VOTES: ReadonlySet<BroadcastOwnMessage['kind']> = new Set(['publish', 'published', 'founded', 'begun'] as const);

export const atomicBroadcast: AtomicBroadcastSim = {
  name: 'atomic-broadcast',
  summary: 'one log in the same order at all members, batch after batch decided by FastCT or [CT96]',
  mutants: BROADCAST_MUTANTS,
  sometimes: [...BROADCAST_INTERESTS, ...CONSENSUS_WORLD_INTERESTS],
  codec: broadcastCodec(),

  plan: (chooser: Chooser, mutant: string | null): BroadcastScenario => drawBroadcastWorld(chooser, mutantOf(mutant)?.needs),
  core({ config }: BroadcastScenario, boot: Boot, mutant: string | null): BroadcastNode {
    const { members, limits, from } = config.broadcast;
    if (boot.self >= members) return new BroadcastClientCore({ members, from, retryUs: BROADCAST_RETRY_US, limits }, boot);
    return new BroadcastCore(config.broadcast, boot, ownRulesOf(mutantOf(mutant)), innerRulesOf(mutantOf(mutant)));
  },
  user: ({ config }: BroadcastScenario, core: BroadcastNode, desk: Desk<BroadcastCommand>): User<BroadcastEvent> =>
    new BroadcastUser(config, core, desk),
  referees: (): Referee[] => [new SequenceReferee()],
  forger: (): Forger<BroadcastMessage> => broadcastForger,
  isVote: (message: BroadcastMessage): boolean => {
    if (message.lane === BROADCAST_OWN_LANE) return OWN_VOTES.has(message.message.kind);
    return CONSENSUS_VOTES.has(message.lane === BROADCAST_FAST_LANE ? message.message.message.kind : message.message.kind);
  },
  describeMessage,
  describeCommand,
  describeEvent,
  nodeName({ config }: Scenario<BroadcastWorld>, node: number): string {
    const { members } = config.broadcast;
    if (node < members) return `m${node}`;
    return node < members + config.clients ? `c${node - members}` : `liar${node - members - config.clients}`;
  },
};

function mutantOf(name: string | null): BroadcastMutant | undefined {
  return BROADCAST_MUTANTS.find((mutant) => mutant.name === name);
}

function describeMessage(message: BroadcastMessage): string {
  if (message.lane === BROADCAST_FAST_LANE) {
    const inner = message.message;
    // Values are batches: their bytes say nothing to a reader.
    return inner.lane === CONSENSUS_LANE ? describeConsensus(withoutValue(inner.message)) : fastCt.describeMessage(inner);
  }
  if (message.lane !== BROADCAST_OWN_LANE) return describeConsensus(withoutValue(message.message));
  const { kind, ...said } = message.message;
  const parts = Object.entries(said).map(([name, value]) => `${name} ${worded(value)}`);
  return `${kind}(${parts.join(', ')})`;
}

function withoutValue<Message extends { readonly kind: string }>(message: Message): Message {
  if (!('value' in message) || !(message.value instanceof Uint8Array)) return message;
  return { ...message, value: Uint8Array.from(`${message.value.length} bytes`, (character) => character.charCodeAt(0)) };
}

function worded(value: unknown): string {
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  return Array.isArray(value) ? `${value.length}` : String(value);
}

function describeCommand(command: BroadcastCommand): string {
  switch (command.kind) {
    case 'publish':
      return `publish ${command.messages.length}`;
    case 'read':
    case 'fetch':
      return `${command.kind} after ${command.after}`;
    default:
      return command.kind;
  }
}

function describeEvent(event: BroadcastEvent): string {
  switch (event.kind) {
    case 'published':
      return `published ${event.first} to ${event.last} at ${event.position}`;
    case 'uncertain':
      return `uncertain of ${event.first} to ${event.last}`;
    case 'page':
      return `page of ${event.entries.length} up to ${event.upTo}`;
    case 'delivered':
      return `log from ${event.first} to ${event.last}`;
    case 'standing':
      return event.standing;
    case 'stopped':
      return event.without.length > 0 ? `stopped without ${event.without.join(', ')}` : 'goes on';
    case 'epoch':
      return `epoch ${event.epoch} begins after ${event.position}`;
    default:
      return event.kind;
  }
}
