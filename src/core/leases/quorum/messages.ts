/**
 * The messages of the quorum engine: one flat record for all kinds, so that it can be pooled. Which
 * fields a kind uses is said here and encoded in `wire/quorum.ts`; the others are left over from
 * earlier use and mean nothing.
 */
import { ballotTime, NOBODY, type BallotTime, type Incarnation } from '../../../kernel/index.ts';
import { NamedMessage } from '../named-message.ts';

/** From a proposer to acceptors: may I? Carries name, lease and ballot. */
export const PREPARE = 1;
/** The acceptor answers: you may propose. Carries lease, ballot, clock. */
export const PROMISED = 2;
/** From a proposer to acceptors: vote for me. Carries name, lease, ballot, token, term, metadata. */
export const PROPOSE = 3;
/** A vote. Carries lease, ballot, clock, and whether the name has a watcher. */
export const ACCEPTED = 4;
/** A refusal of PREPARE or PROPOSE, or of WAIT or WATCH, with its reason. A refusal is never a vote. */
export const REFUSED = 5;
/** From a holder, or a proposer whose attempt failed: forget my vote if its ballot is at most this one; with LATER, when so much has passed (as term). */
export const RELEASE = 6;
export const RELEASED = 7;
/**
 * A question: which process holds this? Carries name, lease (the number of the question). The answer tells the ballot of the vote (the newest metadata counts), and since when
 * the answer has been true.
 */
export const QUERY = 8;
export const ANSWER = 9;
/** Queue me. Carries name, lease, ballot (the ticket). */
export const WAIT = 10;
/** Take me out of the queue. */
export const UNWAIT = 11;
/** From an acceptor to a waiter: here it is free, and it is your turn. */
export const FREE = 12;
/** From a learner to acceptors: tell me of names with this prefix. Carries as lease which of its prefixes that is. */
export const WATCH = 13;
/** From a holder to acceptors that said the name is watched: pass this on. Carries token, term, metadata, and the ballot that published it. */
export const LEARN = 14;
/** The passing on. */
export const LEARNED = 15;
/** What do you have under this prefix? Carries the prefix, lease (the number of the question), page, and as token where to go on. */
export const LIST = 16;
/** One lease of a page. */
export const LISTED = 17;
/** The end of a page. Carries how many were on it, as token where the next begins (0 when it was the last), and since when no vote under the prefix has run out. */
export const PAGED = 18;
/** From any node to members: your life, and your standing? Carries the number of the question. */
export const STATUS = 19;
/** Carries the member's incarnation (as token), how long it will be silent, and what keeps it from a bootstrap (as reason). */
export const STATUS_TOLD = 20;
/** From a bootstrap to members: will you end your silence with these lives of the members (as metadata), and no others? */
export const BIND = 21;
export const BOUND = 22;
/** All are bound: end your silence. */
export const GO = 23;
export const GONE = 24;
/** From an acceptor to a waiter: you stand in line here. */
export const IN_LINE = 25;
/** From a member to the others: note which life of me this is. Carries its life, and its roster. */
export const NOTE = 26;
/** Noted, or not: then another process of that member has this life or a later one. Names the life that was asked about. */
export const NOTED = 27;
/** From a member: this is the view I am in. Carries it as metadata. */
export const VIEW_TOLD = 33;

/** From a holder to its voters: I would hand it over. Carries the number of the offer (as page), and the heir unless the head of the line is meant. */
export const OFFER = 28;
/** From an acceptor to the waiter that a lease is offered to: propose, and say that your proposal may wait. Carries the mode that comes free. */
export const INVITE = 29;
/** From an acceptor to the holder that offers: this proposal of the heir waits for your release. Without an heir, if there is no waiter here. */
export const READY = 30;
/** A question: which requests wait for this? Carries name, lease (the number of the question). */
export const LINE = 31;
/** How many wait, and as metadata the first of them. */
export const LINE_TOLD = 32;

/** From a holder to voters: renew this bundle. Carries its number (0 if it has none there), the round (as page), term, and what the holder takes to be in it. */
export const RENEW = 34;
/** A vote for all leases of the bundle. Carries number and round, and whether the voter has the same contents. */
export const RENEWED = 35;
/** There is no such bundle, or it has run out. */
export const NO_BUNDLE = 36;
/** Asks for a bundle's contents. Carries its number, and as token where to go on. */
export const UNFOLD = 37;
/** As metadata some entries of the bundle, and as token where the next begin; 0 when these were the last. */
export const UNFOLDED = 38;
/** To watchers: a holder has renewed one of its bundles. Carries the holder, and for how long. */
export const BUNDLE_LEARNED = 39;
/** From an acceptor to the holder of a lease in a bundle: a waiter stands in line for it. Carries name and lease. */
export const WANTED_TOLD = 40;
const LAST_KIND = WANTED_TOLD;

/** Why an acceptor refused. */
export const HELD = 1;
export const QUEUED = 2;
export const OUTBID = 3;
export const LOW = 4;
export const SILENT = 5;
/** The term is above what this acceptor was told is the longest: its memory would not cover it. */
export const TOO_LONG = 6;
/** Of a WAIT, whose ticket it carries as ballot: too many wait already. */
export const NO_PLACE = 7;
/** Of a WATCH, whose number it carries as lease: too many watch already. */
export const NO_WATCH = 8;
/** The ballot is further ahead of this acceptor's wall clock, which comes with the refusal, than it believes. */
export const AHEAD = 9;
/** Of a PROPOSE: its owner has as many leases here as it may have. */
export const NO_ROOM = 10;
/** Of a WAIT of a reader to have its lease alone: another reader waits for the same, and neither would let go. */
export const UPGRADING = 11;
/** It was asked in another view than this acceptor is in, which comes with the refusal, as metadata. */
export const OTHER_VIEW = 12;
export const REASONS: readonly string[] = [
  '',
  'held',
  'queued',
  'outbid',
  'low',
  'silent',
  'too-long',
  'no-place',
  'no-watch',
  'ahead',
  'no-room',
  'upgrading',
  'other-view',
];

/** Flags. */
export const RENEWS = 1;
export const WATCHED = 2;
export const HAS_LEASE = 4;
export const LET_GO = 8;
/** Of a release, and of a waiter that was told where it stands: the sender does not wait for the answer. */
export const QUIET = 16;
/** Of a refusal: it answers a PREPARE, not the PROPOSE of the same ballot. */
export const FOR_PREPARE = 32;
/** Of anything about a lease that is not exclusive, or is to be one of several slots: the mode comes at its end, and what else belongs to that. */
export const MODED = 2;
/** Of a PROPOSE: where others are in its way, it may wait for the release that was offered. A release to an heir has the heir's proposal with HAS_LEASE. */
export const PARK = 64;
/** Of a WAIT: it holds the name as a reader, and waits to have it alone. */
export const UPGRADES = 1;
/** Of a vote: a waiter stands in line for the name. */
export const WANTED = 1;
/** Of a release: its holder goes on for a term that comes with it. */
export const LATER = 1;
/** Of a request to voters, once the view of the cell has changed: its view. Of a vote on the lease of views: which view its member has stored. */
export const VIEWED = 16;
/** Of a renewal: the vote may join a bundle; what its asker knows the lease by comes at the end. Of a vote: it has, and which. Of a word to learners: its holder renews it in one. */
export const BUNDLE = 32;
/** Of a vote in an answer: it was read back from a disk, and not renewed since. Its lease may have been given back before. */
export const READ_BACK = 128;

const NO_SLOTS = new Uint8Array(0);

export class QuorumMessage extends NamedMessage {
  ballot: BallotTime = ballotTime(0);
  token = 0;
  termUs = 0;
  reason = 0;
  /** Of the lease an acceptor tells about. */
  holder: Incarnation = NOBODY;
  holderLease = 0;
  remainingUs = 0;
  /** For how long it has been as this tells: since when the vote is there, or, where there is none, since when none has run out. */
  steadyUs = 0;
  /** Which page of a listing, as its asker counts them. */
  page = 0;
  /** How many leases were on it. */
  count = 0;
  /** How the lease is held, or asked for. */
  mode = 0;
  /** Any of so many slots is wanted; 0 if no slot is. */
  slots = 0;
  /** The slots that are free at a voter, as bits; empty if it does not tell. */
  freeSlots: Uint8Array = NO_SLOTS;
  /** Which sending of the page: what belongs to two of them is not put together. Rises. */
  sending = 0;
  /** Epoch and id of a view. */
  viewEpoch = 0;
  viewId = 0;
  /** The number of a bundle. */
  bundle = 0;
  /** By which the asker of a renewal knows its lease. */
  row = 0;
  /** With `count`, the digest of a bundle. */
  sumLow = 0;
  sumHigh = 0;
  /** How high ballots are, as the acceptor tells: a proposer goes above it. With LOW the floor of the name, with AHEAD the acceptor's wall clock. */
  clock: BallotTime = ballotTime(0);

  setView({ epoch, id }: { readonly epoch: number; readonly id: number }): void {
    this.viewEpoch = epoch;
    this.viewId = id;
    if (epoch > 0) this.flags |= VIEWED;
  }

  /** The mode of its lease, where that is not exclusive, and the slots. */
  setMode(mode: number, slots = 0): void {
    this.mode = mode;
    this.slots = slots;
    if (mode !== 0 || slots !== 0) this.flags |= MODED;
    if (this.freeSlots.length > 0) this.freeSlots = NO_SLOTS;
  }
}

const ASKING = [PREPARE, PROPOSE, RELEASE, QUERY, WAIT, UNWAIT, WATCH, LEARN, LIST, STATUS, BIND, GO, NOTE, OFFER, LINE, VIEW_TOLD];
const REQUESTS: readonly boolean[] = Array.from({ length: LAST_KIND + 1 }, (_, kind) => [...ASKING, RENEW, UNFOLD].includes(kind));

/** Whether the message speaks for its sender: then its owner must be the sender's own incarnation. All others are answers. */
export function isRequest({ kind }: QuorumMessage): boolean {
  return REQUESTS[kind] === true;
}

/** Whether older lives are to be left out: it counts towards a quorum. */
export function isCounted({ kind }: QuorumMessage): boolean {
  return kind === ACCEPTED || kind === PROMISED || kind === ANSWER || kind === LISTED || kind === PAGED || kind === RENEWED;
}

/** Whether only members, and processes that know their secret, may send it. */
export function isForMembers({ kind }: QuorumMessage): boolean {
  return kind === BIND || kind === GO;
}

/** For people. */
export const KIND_NAMES: readonly string[] = [
  '',
  'PREPARE',
  'PROMISED',
  'PROPOSE',
  'ACCEPTED',
  'REFUSED',
  'RELEASE',
  'RELEASED',
  'QUERY',
  'ANSWER',
  'WAIT',
  'UNWAIT',
  'FREE',
  'WATCH',
  'LEARN',
  'LEARNED',
  'LIST',
  'LISTED',
  'PAGED',
  'STATUS',
  'STATUS_TOLD',
  'BIND',
  'BOUND',
  'GO',
  'GONE',
  'IN_LINE',
  'NOTE',
  'NOTED',
  'OFFER',
  'INVITE',
  'READY',
  'LINE',
  'LINE_TOLD',
  'VIEW_TOLD',
  'RENEW',
  'RENEWED',
  'NO_BUNDLE',
  'UNFOLD',
  'UNFOLDED',
  'BUNDLE_LEARNED',
  'WANTED_TOLD',
];
