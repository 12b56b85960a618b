/** What a liar sends in a cell of the quorum engine: any kind of message, any field anything that its codec carries. */
import { ballotTime, encodeName } from '../../../kernel/index.ts';
import { KIND_NAMES, PREPARE, PROPOSE, QUERY, QuorumMessage, RELEASE } from '../../../core/index.ts';
import type { Forger } from '../../liar.ts';
import { LiarNumbers } from '../leases/numbers-of-liars.ts';

/** Names nobody else asks for: enough of them that a table which kept them all would be noticed. */
const NAMES = 100_000;
/** Whose answers are worth something. */
const ANSWERED: ReadonlySet<number> = new Set([PREPARE, PROPOSE, RELEASE, QUERY]);
const FLAGS = 64;
const REASONS = 11;

export function quorumForger(resources: readonly Uint8Array[], aheadUsMax: number): Forger<QuorumMessage> {
  const lie: Forger<QuorumMessage>['lie'] = (overheard, ground) => {
    const numbers = new LiarNumbers(ground, aheadUsMax, overheard === null);
    const message = overheard ?? new QuorumMessage();
    if (overheard === null || numbers.one(4)) message.kind = 1 + ground.choose(KIND_NAMES.length - 1);
    // Whoever heard the question can answer it, and a vote can be given back.
    else if (numbers.one(2)) message.kind = Math.min(message.kind + (numbers.one(2) ? 1 : 3), KIND_NAMES.length - 1);
    // Most of what is said in another's name is not heard.
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
    if (numbers.isChanged) message.reason = ground.choose(REASONS);
    if (message.nameEnd === message.nameStart || numbers.isChanged) {
      const name = resources[ground.choose(resources.length + 1)] ?? encodeName(`x${ground.choose(NAMES)}`);
      message.setName(name, 0, name.length);
    }
    if (numbers.isChanged) message.setMeta(Uint8Array.from({ length: ground.choose(64) }, () => ground.choose(256)));
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
