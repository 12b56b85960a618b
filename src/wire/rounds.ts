/**
 * The messages of Flease and PaxosLease on the wire: a byte of kind, the fields that kind uses in a fixed order, then
 * name and metadata with their lengths. Decoding gives one pooled record whose name points into the frame.
 */
import { BALLOT_TIME_MAX, ballotTime, LEASE_NUMBER_MAX, type Incarnation } from '../kernel/index.ts';
import { roundKinds, RoundMessage } from '../core/index.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';
import type { Codec } from './codec.ts';
import { readMeta, readName, writeMeta, writeName } from './named.ts';

// Which fields a kind carries, besides kind, flags, owner, lease, ballot and clock, which all do.
const VALUE = 1;
const WRITTEN = 2;
const REASON = 4;
const UNTIL = 8;
const NAME = 16;
/** A name that may be empty: a prefix. */
const PREFIX = 32;

const FIELDS: readonly number[] = fieldTable();

function fieldTable(): number[] {
  const fields: number[] = [];
  fields[roundKinds.READ] = NAME;
  fields[roundKinds.ACK_READ] = VALUE | WRITTEN;
  fields[roundKinds.WRITE] = VALUE | NAME;
  fields[roundKinds.ACK_WRITE] = 0;
  fields[roundKinds.NACK] = REASON | VALUE;
  fields[roundKinds.ROUND_RELEASE] = UNTIL | NAME;
  fields[roundKinds.ACK_RELEASE] = 0;
  fields[roundKinds.ROUND_LEARN] = VALUE | NAME;
  fields[roundKinds.ROUND_WATCH] = PREFIX;
  return fields;
}

class RoundCodec implements Codec<RoundMessage> {
  readonly #message = new RoundMessage();

  encode(message: RoundMessage, out: ByteWriter): void {
    const fields = FIELDS[message.kind] ?? 0;
    out.u8(message.kind);
    out.u8(message.flags);
    out.u53(message.owner);
    out.u53(message.lease);
    out.u53(message.ballot);
    out.u53(Math.max(0, message.clockUs));
    if (fields & REASON) {
      out.u8(message.reason);
      out.u53(message.above);
    }
    if (fields & UNTIL) out.u53(Math.max(0, message.untilUs));
    if (fields & VALUE && message.flags & roundKinds.HAS_VALUE) {
      out.u53(message.holder);
      out.u53(message.holderLease);
      out.u53(message.token);
      out.u53(Math.max(0, message.untilUs));
      out.u53(message.ownBallot);
      writeMeta(message, out);
    }
    if (fields & WRITTEN && message.flags & (roundKinds.HAS_VALUE | roundKinds.LOOKS)) {
      out.u53(message.written);
      out.u53(message.writer);
    }
    if (fields & (NAME | PREFIX)) writeName(message, out);
  }

  decode(input: ByteReader): RoundMessage | null {
    const message = this.#message;
    const kind = input.u8();
    const fields = FIELDS[kind];
    if (fields === undefined) return null;
    message.kind = kind;
    message.flags = input.u8();
    message.owner = input.u53() as Incarnation;
    message.lease = input.u53();
    message.ballot = ballotTime(input.u53());
    message.clockUs = input.u53();
    // What the kind does not carry is nothing, not what the last message had there.
    message.reason = fields & REASON ? input.u8() : 0;
    message.above = ballotTime(fields & REASON ? input.u53() : 0);
    message.untilUs = fields & UNTIL ? input.u53() : 0;
    const hasValue = (fields & VALUE) !== 0 && (message.flags & roundKinds.HAS_VALUE) !== 0;
    if (!hasValue) message.flags &= ~roundKinds.HAS_VALUE;
    message.holder = (hasValue ? input.u53() : 0) as Incarnation;
    message.holderLease = hasValue ? input.u53() : 0;
    message.token = hasValue ? input.u53() : 0;
    if (hasValue) message.untilUs = input.u53();
    message.ownBallot = ballotTime(hasValue ? input.u53() : 0);
    if (!hasValue) message.setMeta(undefined);
    else if (!readMeta(message, input)) return null;
    const hasWritten = (fields & WRITTEN) !== 0 && (message.flags & (roundKinds.HAS_VALUE | roundKinds.LOOKS)) !== 0;
    message.written = ballotTime(hasWritten ? input.u53() : 0);
    message.writer = (hasWritten ? input.u53() : 0) as Incarnation;
    if ((fields & (NAME | PREFIX)) === 0) message.noName();
    else if (!readName(message, (fields & PREFIX) !== 0, input)) return null;
    return input.failed || !isBelievable(message) ? null : message;
  }
}

/** Ballots and tokens from beyond the year 2200 would take all later ballots and tokens with them; a lease number beyond its bits would be taken for another. */
function isBelievable({ ballot, above, token, written, ownBallot, lease, holderLease }: RoundMessage): boolean {
  if (lease > LEASE_NUMBER_MAX || holderLease > LEASE_NUMBER_MAX) return false;
  return Math.max(ballot, above, token, written, ownBallot) <= BALLOT_TIME_MAX;
}

/** A codec has a record of its own: each reader of a connection needs one. */
export function roundCodec(): Codec<RoundMessage> {
  return new RoundCodec();
}
