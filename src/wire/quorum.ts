/**
 * The quorum engine's messages on the wire: a byte of kind, the fields that kind uses in a fixed order,
 * then name and metadata with their lengths. Decoding gives one pooled record whose name points into the
 * frame; neither direction makes an object for a message.
 */
import { BALLOT_TIME_MAX, ballotTime, LEASE_NUMBER_MAX, NOBODY, type Incarnation } from '../kernel/index.ts';
import {
  ACCEPTED,
  ANSWER,
  BIND,
  BOUND,
  BUNDLE,
  BUNDLE_LEARNED,
  FREE,
  GO,
  GONE,
  HAS_LEASE,
  IN_LINE,
  INVITE,
  LATER,
  LEARN,
  LEARNED,
  LINE,
  LINE_TOLD,
  LIST,
  LISTED,
  MODED,
  NO_BUNDLE,
  NOTE,
  NOTED,
  OFFER,
  OTHER_VIEW,
  PAGED,
  PREPARE,
  PROMISED,
  PROPOSE,
  QUERY,
  QuorumMessage,
  READY,
  REFUSED,
  RELEASE,
  RELEASED,
  RENEW,
  RENEWED,
  SLOTS_MAX,
  slotOf,
  STATUS,
  STATUS_TOLD,
  TELLS_LIVES,
  UNFOLD,
  UNFOLDED,
  UNWAIT,
  VIEW_TOLD,
  VIEWED,
  WAIT,
  WANTED_TOLD,
  WATCH,
} from '../core/index.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';
import type { Codec } from './codec.ts';
import { readLife, readMeta, readName, writeLife, writeMeta, writeName } from './named.ts';

// Which fields a kind carries, besides kind, owner, lease and flags, which all do.
const BALLOT = 1;
const TOKEN = 2;
const TERM = 4;
const REASON = 8;
const LEASE_TOLD = 16;
const CLOCK = 32;
const NAME = 64;
const META = 128;
/** A name that may be empty: a prefix. */
const PREFIX = 256;
/** Page and count. */
const PAGE = 512;
/** What the asker knows of the members' lives, as a fingerprint. */
const PRINT = 1024;
/** Which life of a member says this. */
const LIFE = 2048;
/** For how long it has been as the message tells. */
const STEADY = 4096;
/** Which sending of a page. */
const SENDING = 8192;
/** Of a release as of a later time: how much later. */
const AFTER = 16384;
/** The mode, where it is not exclusive; what else belongs to it. At the end: versions that know no modes leave it unread. */
const MODE = 32768;

/** Epoch and id of a view, once there was another than the first. */
const VIEW = 65536;
/** Metadata, of one reason only: the view of the refusing member. */
const VIEW_META = 131072;
/** The number of a bundle. */
const BUNDLE_NUMBER = 262144;
/** The digest of a bundle, with the count of a page. */
const SUMS = 524288;
/** With a flag, at the very end: the row of a renewal that may join a bundle, and of a vote that has, whose number follows. */
const JOINS = 1048576;
const JOINED = 2097152;
/** The holder, and for how long. */
const HOLDER = 4194304;

const FIELDS: readonly number[] = fieldTable();

function fieldTable(): number[] {
  const fields: number[] = [];
  fields[PREPARE] = BALLOT | PRINT | NAME | VIEW;
  fields[PROMISED] = BALLOT | CLOCK | LIFE | LEASE_TOLD;
  fields[PROPOSE] = BALLOT | TOKEN | TERM | PRINT | NAME | META | MODE | VIEW | JOINS;
  fields[ACCEPTED] = BALLOT | CLOCK | LIFE | VIEW | JOINS | JOINED;
  fields[REFUSED] = BALLOT | REASON | CLOCK | LEASE_TOLD | MODE | VIEW_META;
  // To an heir: whose proposal it is for.
  fields[RELEASE] = BALLOT | AFTER | LEASE_TOLD | NAME | MODE;
  fields[RELEASED] = BALLOT | CLOCK;
  fields[QUERY] = PRINT | NAME | VIEW;
  fields[ANSWER] = BALLOT | CLOCK | LIFE | LEASE_TOLD | STEADY | META | MODE;
  fields[WAIT] = BALLOT | NAME | MODE;
  fields[UNWAIT] = NAME;
  fields[FREE] = CLOCK | MODE;
  fields[WATCH] = TERM | PREFIX;
  fields[LEARN] = BALLOT | TOKEN | TERM | NAME | META | MODE;
  fields[LEARNED] = BALLOT | LEASE_TOLD | NAME | META | MODE;
  fields[LIST] = TOKEN | PAGE | PRINT | PREFIX | VIEW;
  fields[LISTED] = BALLOT | PAGE | SENDING | LEASE_TOLD | LIFE | STEADY | NAME | META | MODE;
  fields[PAGED] = TOKEN | PAGE | SENDING | CLOCK | LIFE | STEADY;
  fields[STATUS] = 0;
  fields[STATUS_TOLD] = TOKEN | REASON | VIEW;
  fields[BOUND] = fields[GONE] = TOKEN | REASON;
  fields[BIND] = fields[GO] = fields[VIEW_TOLD] = META;
  fields[IN_LINE] = CLOCK;
  fields[NOTE] = LIFE;
  fields[NOTED] = PRINT | LIFE;
  fields[OFFER] = PAGE | LEASE_TOLD | NAME | MODE;
  fields[INVITE] = CLOCK | MODE;
  fields[READY] = PAGE | LEASE_TOLD | CLOCK;
  fields[LINE] = NAME;
  fields[LINE_TOLD] = PAGE | CLOCK | META;
  fields[RENEW] = TERM | PAGE | PRINT | BUNDLE_NUMBER | VIEW;
  fields[RENEWED] = PAGE | LIFE | BUNDLE_NUMBER | SUMS;
  fields[NO_BUNDLE] = PAGE | BUNDLE_NUMBER;
  fields[UNFOLD] = TOKEN | BUNDLE_NUMBER;
  fields[UNFOLDED] = TOKEN | BUNDLE_NUMBER | META;
  fields[BUNDLE_LEARNED] = HOLDER;
  fields[WANTED_TOLD] = NAME;
  return fields;
}

class QuorumCodec implements Codec<QuorumMessage> {
  readonly #message = new QuorumMessage();

  encode(message: QuorumMessage, out: ByteWriter): void {
    const fields = FIELDS[message.kind] ?? 0;
    out.u8(message.kind);
    out.u8(message.flags);
    out.u53(message.owner);
    out.u53(message.lease);
    if (fields & BALLOT) out.u53(message.ballot);
    if (fields & TOKEN) out.u53(message.token);
    if (fields & TERM || (fields & AFTER && message.flags & LATER)) out.u53(message.termUs);
    if (fields & PAGE) {
      out.u32(message.page);
      out.u32(message.count);
    }
    if (fields & REASON) {
      out.u8(message.reason);
      out.u53(message.remainingUs);
    }
    if (fields & LEASE_TOLD && message.flags & HAS_LEASE) {
      out.u53(message.holder);
      out.u53(message.holderLease);
      out.u53(message.token);
      if (!(fields & REASON)) out.u53(message.remainingUs);
    }
    if (fields & HOLDER) {
      out.u53(message.holder);
      out.u53(message.remainingUs);
    }
    if (fields & BUNDLE_NUMBER) out.u53(message.bundle);
    if (fields & SUMS) {
      out.u32(message.sumLow);
      out.u32(message.sumHigh);
    }
    if (fields & CLOCK) out.u53(message.clock);
    if (fields & STEADY) out.u53(message.steadyUs);
    if (fields & SENDING) out.u53(message.sending);
    if (fields & PRINT) out.u53(message.print);
    if (fields & LIFE) writeLife(message, TELLS_LIVES, out);
    if (fields & (NAME | PREFIX)) writeName(message, out);
    if (fields & META) writeMeta(message, out);
    if (fields & MODE && message.flags & MODED) {
      out.u32(message.mode);
      out.u32(message.slots);
      out.u16(message.freeSlots.length);
      out.raw(message.freeSlots, 0, message.freeSlots.length);
    }
    if (fields & VIEW && message.flags & VIEWED) {
      out.u53(message.viewEpoch);
      out.u53(message.viewId);
    }
    if (fields & VIEW_META && message.reason === OTHER_VIEW) writeMeta(message, out);
    if (fields & JOINS && message.flags & BUNDLE) {
      out.u32(message.row);
      if (fields & JOINED) out.u53(message.bundle);
    }
  }

  decode(input: ByteReader): QuorumMessage | null {
    const message = this.#message;
    const kind = input.u8();
    const fields = FIELDS[kind];
    if (fields === undefined) return null;
    message.kind = kind;
    message.flags = input.u8();
    message.owner = input.u53() as Incarnation;
    message.lease = input.u53();
    // What the kind does not carry is nothing, not what the last message had there.
    message.ballot = ballotTime(fields & BALLOT ? input.u53() : 0);
    message.token = fields & TOKEN ? input.u53() : 0;
    message.termUs = fields & TERM || (fields & AFTER && message.flags & LATER) ? input.u53() : 0;
    message.page = fields & PAGE ? input.u32() : 0;
    message.count = fields & PAGE ? input.u32() : 0;
    message.reason = fields & REASON ? input.u8() : 0;
    message.remainingUs = fields & REASON ? input.u53() : 0;
    if (fields & LEASE_TOLD && message.flags & HAS_LEASE) {
      message.holder = input.u53() as Incarnation;
      message.holderLease = input.u53();
      message.token = input.u53();
      if (!(fields & REASON)) message.remainingUs = input.u53();
    } else {
      message.holder = fields & HOLDER ? (input.u53() as Incarnation) : NOBODY;
      message.holderLease = 0;
      if (fields & HOLDER) message.remainingUs = input.u53();
    }
    message.bundle = fields & BUNDLE_NUMBER ? input.u53() : 0;
    message.sumLow = fields & SUMS ? input.u32() : 0;
    message.sumHigh = fields & SUMS ? input.u32() : 0;
    message.clock = ballotTime(fields & CLOCK ? input.u53() : 0);
    message.steadyUs = fields & STEADY ? input.u53() : 0;
    message.sending = fields & SENDING ? input.u53() : 0;
    message.print = fields & PRINT ? input.u53() : 0;
    if ((fields & LIFE) === 0) message.noLife();
    else if (!readLife(message, TELLS_LIVES, input)) return null;
    if ((fields & (NAME | PREFIX)) === 0) message.noName();
    else if (!readName(message, (fields & PREFIX) !== 0, input)) return null;
    if ((fields & META) === 0) message.setMeta(undefined);
    else if (!readMeta(message, input)) return null;
    if ((fields & MODE) === 0 || (message.flags & MODED) === 0) message.setMode(0);
    else if (!readMode(message, input)) return null;
    const isViewed = (fields & VIEW) !== 0 && (message.flags & VIEWED) !== 0;
    message.viewEpoch = isViewed ? input.u53() : 0;
    message.viewId = isViewed ? input.u53() : 0;
    if (fields & VIEW_META && message.reason === OTHER_VIEW && !readMeta(message, input)) return null;
    const joins = (fields & JOINS) !== 0 && (message.flags & BUNDLE) !== 0;
    message.row = joins ? input.u32() : 0;
    if (joins && fields & JOINED) message.bundle = input.u53();
    return input.failed || !isBelievable(message, fields) ? null : message;
  }
}

/** False if there are more slots than there may be. */
function readMode(message: QuorumMessage, input: ByteReader): boolean {
  const mode = input.u32();
  message.setMode(mode, input.u32());
  const length = input.u16();
  const start = input.skip(length);
  if (length > 0 && !input.failed) message.freeSlots = Uint8Array.prototype.slice.call(input.bytes, start, start + length);
  return slotOf(mode) < SLOTS_MAX && message.slots <= SLOTS_MAX && length <= SLOTS_MAX / 8;
}

/** A ballot from beyond the year 2200 would take the numbers of tokens with it; a lease number beyond its bits would be taken for another. */
function isBelievable({ ballot, clock, lease, holderLease }: QuorumMessage, fields: number): boolean {
  if (lease > LEASE_NUMBER_MAX || holderLease > LEASE_NUMBER_MAX) return false;
  return ((fields & BALLOT) === 0 || ballot <= BALLOT_TIME_MAX) && ((fields & CLOCK) === 0 || clock <= BALLOT_TIME_MAX);
}

/** A codec has a record of its own: each reader of a connection needs one. */
export function quorumCodec(): Codec<QuorumMessage> {
  return new QuorumCodec();
}
