/**
 * Readers on plain registers (rule 16): when a reader may write its name beside others, and what its read-back means. The newest name in x may be a void write that
 * landed late over a writer's name, so no reader joins on a name alone: a reader that read its own name back says so in y, and others go by that.
 */
import { ballotTime, type BallotTime, type LeaseMode } from '../../../kernel/index.ts';
import { isSameUid, isUnreadable, type Found, type NameRecord, type Statement, type Uid } from './contents.ts';

/** What a contender finds after its write. */
export type ReadBack =
  /** Its own name. */
  | 'mine'
  /** The name of a reader that holds: it came after ours, and so did its statement. */
  | 'joined'
  /** The name of a reader that may come to hold. */
  | 'again'
  | 'lost';

interface ReaderRules {
  readonly joinsOnStatement: boolean;
}

interface ReaderTokens {
  readersToken(least: number): number;
}

/** Whether a reader may join the writer of this name. */
export function isOpenToReaders(x: NameRecord, y: Found<Statement>, { joinsOnStatement }: ReaderRules): boolean {
  if (x.mode !== 'shared') return false;
  return !joinsOnStatement || (y !== null && !isUnreadable(y) && y.said === 'shared' && isSameUid(x, y));
}

export function readBackOf(
  mode: LeaseMode,
  mine: Uid,
  { x, y }: { readonly x: Found<NameRecord>; readonly y: Found<Statement> },
  rules: ReaderRules,
): ReadBack {
  if (x === null || isUnreadable(x)) return 'lost';
  if (isSameUid(x, mine)) return 'mine';
  if (mode !== 'shared' || x.mode !== 'shared') return 'lost';
  return isOpenToReaders(x, y, rules) ? 'joined' : 'again';
}

/** The token of the claim that was found to hold. Writers may have held between a reader's write and the name that it joins: that name's token is above theirs. */
export function tokenOf(found: ReadBack, drawn: BallotTime, x: Found<NameRecord>, desk: ReaderTokens): BallotTime {
  const isOld = found === 'joined' && x !== null && !isUnreadable(x) && x.token > drawn;
  return isOld ? ballotTime(desk.readersToken(x.token)) : drawn;
}

/** Whether the writer of this name has stated that it stopped. */
export function isReleased(x: NameRecord | null, y: Found<Statement>): boolean {
  return x !== null && y !== null && !isUnreadable(y) && y.said === 'released' && isSameUid(x, y);
}
