/** What the worlds of all lease engines are called by, and how they get smaller. */
import { decodeName } from '../../../kernel/index.ts';
import type { LeaseCommand, LeaseEvent } from '../../../core/index.ts';
import type { Scenario } from '../../protocol.ts';
import { smallerWorlds } from './smaller.ts';

interface NamedMessage {
  readonly name: Uint8Array;
  readonly nameStart: number;
  readonly nameEnd: number;
}

interface LeaseWords {
  readonly smaller: typeof smallerWorlds;
  topicOf(message: NamedMessage): string;
  describeCommand(command: LeaseCommand): string;
  describeEvent(event: LeaseEvent): string;
  nodeName(scenario: Scenario<{ readonly members: number }>, node: number): string;
}

export const LEASE_WORDS: LeaseWords = {
  smaller: smallerWorlds,

  topicOf: ({ name, nameStart, nameEnd }: NamedMessage): string => decodeName(name, nameStart, nameEnd) ?? '',

  describeCommand: (command: LeaseCommand): string => ('lease' in command ? `${command.kind} (lease ${command.lease})` : command.kind),

  describeEvent(event: LeaseEvent): string {
    const lease = 'lease' in event ? ` (lease ${event.lease})` : '';
    return event.kind === 'refused' ? `refused: ${event.reason}${lease}` : `${event.kind}${lease}`;
  },

  nodeName: ({ config }: Scenario<{ readonly members: number }>, node: number): string =>
    node < config.members ? `m${node}` : `c${node - config.members}`,
};
