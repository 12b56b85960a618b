/**
 * The messages of Flease and PaxosLease: both papers ask a quorum twice, so both are served by one flat,
 * pooled record. Which fields a kind uses is said here and encoded in `wire/rounds.ts`; the others are left
 * over from earlier use and mean nothing. `NAMES` has each paper's own word for a kind.
 */
import { ballotTime, NOBODY, type BallotTime, type Incarnation } from '../../../kernel/index.ts';
import { NamedMessage } from '../named-message.ts';

/** READ(k), a prepare request: what do you have, and will you refuse lower ballots from here on? */
export const READ = 1;
/** ackREAD, a prepare response: what the acceptor has, or that it has nothing. */
export const ACK_READ = 2;
/** WRITE(k, λ), a propose request. */
export const WRITE = 3;
/** ackWRITE, a propose response: a vote. */
export const ACK_WRITE = 4;
/** A refusal of READ or WRITE, or of ROUND_WATCH, with its reason and the ballot to beat. Never a vote (rule 5). */
export const NACK = 5;
/** The owner's lease ends now, or at a stated time: Flease writes an expired lease, PaxosLease proposes a release. */
export const ROUND_RELEASE = 6;
export const ACK_RELEASE = 7;
/** From an owner to learners. */
export const ROUND_LEARN = 8;
/** From a learner that is no member to the members: pass on what you learn of names with this prefix. Carries as lease which of its prefixes that is. */
export const ROUND_WATCH = 9;

/** Why an acceptor refused. */
export const NACK_OUTBID = 1;
export const NACK_HELD = 2;
export const NACK_SILENT = 3;
/** The token is not above what this acceptor has seen. */
export const NACK_LOW = 4;
/** The lease would end later than this acceptor's restart silence covers. */
export const NACK_TOO_LONG = 5;
/** The asker's clock is further off than the cell was told clocks may be. */
export const NACK_SKEWED = 6;
/** Of a ROUND_WATCH, whose number it carries as lease: too many watch already. */
export const NACK_NO_WATCH = 7;
/** Ballot or token are further ahead of this acceptor's wall clock than it believes. */
export const NACK_AHEAD = 8;
export const ROUND_REASONS: readonly string[] = ['', 'outbid', 'held', 'silent', 'low', 'too-long', 'skewed', 'no-watch', 'ahead'];

/** Flags. */
export const HAS_VALUE = 1;
/** The value written is the asker's own lease, renewed. */
export const RENEWS_OWN = 2;
/** Of a NACK: it answers a READ. */
export const FOR_READ = 4;
/** Of a ROUND_RELEASE: the sender does not wait for the answer. */
export const NO_ANSWER = 8;
/** Of a ROUND_LEARN: the lease is given back at the time stated. */
export const LETS_GO = 16;
/** Of a ROUND_LEARN: it was passed on by a member. */
export const PASSED_ON = 32;
/** Of a READ and its answer: it is a look-up, and the answer tells the last value also where that has ended. */
export const LOOKS = 64;

export class RoundMessage extends NamedMessage {
  ballot: BallotTime = ballotTime(0);
  /** The sender's wall clock when this was sent. */
  clockUs = 0;
  reason = 0;
  /** Of a NACK: the ballot to beat, or the token to be above. */
  above: BallotTime = ballotTime(0);
  /** The lease in question: its owner and the owner's number for it, which no other writer changes (rule 9). */
  holder: Incarnation = NOBODY;
  holderLease = 0;
  token = 0;
  /** Where times are absolute, when the lease ends by its owner's wall clock; otherwise how long it lasts from now. */
  untilUs = 0;
  /** The owner's ballot when it last wrote its lease. A helper passes it on. */
  ownBallot: BallotTime = ballotTime(0);
  /** The ballot with which the value was written, by its owner or a helper. With LOOKS the ballot of the last value, also where that has ended. */
  written: BallotTime = ballotTime(0);
  writer: Incarnation = NOBODY;

  setValue(value: LeaseValue): void {
    this.flags |= HAS_VALUE;
    this.holder = value.holder;
    this.holderLease = value.holderLease;
    this.token = value.token;
    this.untilUs = value.untilUs;
    this.ownBallot = value.ownBallot;
    this.setMeta(value.meta);
  }

  value(): LeaseValue | null {
    if ((this.flags & HAS_VALUE) === 0) return null;
    const { holder, holderLease, token, untilUs, ownBallot, metaStart, metaEnd } = this;
    return { holder, holderLease, token, untilUs, ownBallot, meta: metaEnd > metaStart ? this.meta.slice(metaStart, metaEnd) : undefined };
  }
}

/** What the register of a name holds: λ of Flease, the accepted proposal's value of PaxosLease. */
export interface LeaseValue {
  readonly holder: Incarnation;
  readonly holderLease: number;
  readonly token: number;
  readonly untilUs: number;
  readonly ownBallot: BallotTime;
  readonly meta: Uint8Array | undefined;
}

/** Whether two values are the same lease. Its end may differ: it was renewed in between. */
export function isSameLease(a: LeaseValue, b: LeaseValue): boolean {
  return a.holder === b.holder && a.holderLease === b.holderLease;
}

/** Whether the message speaks for its sender: then its owner must be the sender's own incarnation. */
export function isRoundRequest({ kind, flags }: RoundMessage): boolean {
  return (
    kind === READ || kind === WRITE || kind === ROUND_RELEASE || kind === ROUND_WATCH || (kind === ROUND_LEARN && (flags & PASSED_ON) === 0)
  );
}

const FLEASE_NAMES = ['', 'READ', 'ackREAD', 'WRITE', 'ackWRITE', 'nack', 'WRITE ⊥', 'ackWRITE ⊥', 'learn', 'watch'];
const PAXOSLEASE_NAMES = [
  '',
  'prepare request',
  'prepare response',
  'propose request',
  'propose response',
  'nack',
  'propose release',
  'release response',
  'learn',
  'watch',
];
/** For people: the papers' own words. */
export const ROUND_NAMES: Readonly<Record<'flease' | 'paxoslease', readonly string[]>> = {
  flease: FLEASE_NAMES,
  paxoslease: PAXOSLEASE_NAMES,
};
