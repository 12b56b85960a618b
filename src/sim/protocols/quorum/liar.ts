/** What a liar sends in a cell of the quorum engine: any kind of message, any field anything that its codec carries. */
import { ballotTime } from '../../../kernel/index.ts';
import { KIND_NAMES, PREPARE, PROPOSE, QUERY, QuorumMessage, RELEASE } from '../../../core/index.ts';
import type { Forger } from '../../protocol.ts';
import { LiarNumbers } from '../leases/numbers-of-liars.ts';

/** Whose answers are worth something. */
const ANSWERED: ReadonlySet<number> = new Set([PREPARE, PROPOSE, RELEASE, QUERY]);
const FLAGS = 64;

export function quorumForger(resources: readonly Uint8Array[], aheadUsMax: number): Forger<QuorumMessage> {
  const lie: Forger<QuorumMessage>['lie'] = (overheard, ground) => {
    const numbers = new LiarNumbers(ground, aheadUsMax, overheard === null);
    const message = overheard ?? new QuorumMessage();
    message.kind = numbers.kind(message.kind, overheard === null, KIND_NAMES.length - 1);
    // Most messages in another's name are not heard.
    message.owner = numbers.one(3) ? ground.boot.incarnation : numbers.who(message.owner);
    message.lease = numbers.small(message.lease);
    message.ballot = ballotTime(numbers.time(message.ballot));
    message.clock = ballotTime(numbers.time(message.clock));
    message.token = numbers.time(message.token);
    message.termUs = numbers.span(message.termUs);
    message.remainingUs = numbers.span(message.remainingUs);
    message.holder = numbers.who(message.holder);
    message.holderLease = numbers.small(message.holderLease);
    message.page = numbers.small(message.page);
    message.print = numbers.small(message.print);
    message.life = numbers.time(message.life);
    message.count = numbers.small(message.count);
    if (numbers.isChanged) message.flags = ground.choose(FLAGS);
    numbers.words(message, resources);
    return message;
  };
  const pleasing = (asked: QuorumMessage): QuorumMessage | null => {
    if (!ANSWERED.has(asked.kind)) return null;
    // Each question is followed by the kind of its answer.
    asked.kind++;
    asked.flags = 0;
    asked.clock = asked.ballot;
    return asked;
  };
  return { lie, pleasing };
}
