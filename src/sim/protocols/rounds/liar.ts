/** What a liar sends in a cell of Flease or PaxosLease: any kind of message, any field anything that its codec carries. */
import { ballotTime } from '../../../kernel/index.ts';
import { ROUND_NAMES, roundKinds, RoundMessage } from '../../../core/index.ts';
import type { Forger } from '../../protocol.ts';
import { LiarNumbers } from '../leases/numbers-of-liars.ts';

/** Whose answers are worth something. */
const ANSWERED: ReadonlySet<number> = new Set([roundKinds.READ, roundKinds.WRITE, roundKinds.ROUND_RELEASE]);
const FLAGS = 64;

/** `highestAt` is the ballot of an instant: Flease's are buckets of time. */
export function roundForger(
  resources: readonly Uint8Array[],
  aheadUsMax: number,
  highestAt: (wallUs: number) => number,
): Forger<RoundMessage> {
  const lie: Forger<RoundMessage>['lie'] = (overheard, ground) => {
    const numbers = new LiarNumbers(ground, aheadUsMax, overheard === null);
    const message = overheard ?? new RoundMessage();
    const ballot = (heard: number): ReturnType<typeof ballotTime> =>
      ballotTime(numbers.either(numbers.time(heard), [heard + 1, highestAt(ground.wallUs), highestAt(ground.wallUs + aheadUsMax)]));
    message.kind = numbers.kind(message.kind, overheard === null, ROUND_NAMES.flease.length - 1);
    if (numbers.isChanged) message.flags = ground.choose(FLAGS);
    if (message.kind === roundKinds.WRITE && numbers.one(2)) message.flags |= roundKinds.HAS_VALUE;
    // Most messages in another's name are not heard.
    message.owner = numbers.one(3) ? ground.boot.incarnation : numbers.who(message.owner);
    message.lease = numbers.small(message.lease);
    message.ballot = ballot(message.ballot);
    message.above = ballot(message.above);
    message.ownBallot = ballot(message.ownBallot);
    message.written = ballot(message.written);
    message.clockUs = numbers.time(message.clockUs);
    message.token = numbers.time(message.token);
    message.untilUs = numbers.one(2) ? numbers.time(message.untilUs) : numbers.span(message.untilUs);
    message.holder = numbers.who(message.holder);
    message.holderLease = numbers.small(message.holderLease);
    message.writer = numbers.who(message.writer);
    numbers.words(message, resources);
    return message;
  };
  const pleasing = (asked: RoundMessage): RoundMessage | null => {
    if (!ANSWERED.has(asked.kind)) return null;
    // Each question is followed by the kind of its answer, here with no value of another.
    asked.kind++;
    asked.flags = 0;
    return asked;
  };
  return { lie, pleasing };
}
