/**
 * What each sender may say, beside consensus: members everything; clients may publish as themselves, read, and, if they have proved the members' secret, ask for an
 * act.
 */
import type { Sender } from '../contract.ts';
import { MESSAGE_BYTES_MAX } from './config.ts';
import { GroupCursor, isGroup } from './group.ts';
import type { BroadcastOwnMessage } from './messages.ts';

const OF_CLIENTS: ReadonlySet<BroadcastOwnMessage['kind']> = new Set([
  'publish',
  'look',
  'read',
  'forget',
  'fetch',
  'renew',
  'survey',
] as const);

/** `clientsAreThemselves` is false in a mutant. */
export function mayTell(
  { incarnation, isAdmin }: Sender,
  isMember: boolean,
  message: BroadcastOwnMessage,
  clientsAreThemselves: boolean,
): boolean {
  if (message.kind === 'publish') {
    const cursor = new GroupCursor().open(message.group);
    const isTheirs = isMember || !clientsAreThemselves || (cursor.nextGroup() && cursor.origin === incarnation);
    return isTheirs && isGroup(message.group, MESSAGE_BYTES_MAX);
  }
  return isMember || (OF_CLIENTS.has(message.kind) && (message.kind !== 'renew' || isAdmin));
}
