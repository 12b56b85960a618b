/** The messages of Flease and PaxosLease as bytes: what is sent arrives, and what was never sent hurts nobody. */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { META_BYTES_MAX, ROUND_NAMES, roundKinds, RoundMessage } from '../../src/core/index.ts';
import { BALLOT_TIME_MAX, ballotTime, incarnation, isValidNameBytes, LEASE_NUMBER_MAX } from '../../src/kernel/index.ts';
import { ByteReader, ByteWriter, roundCodec } from '../../src/wire/index.ts';

const {
  READ,
  ACK_READ,
  WRITE,
  ACK_WRITE,
  NACK,
  ROUND_RELEASE: RELEASE,
  ACK_RELEASE,
  ROUND_LEARN: LEARN,
  ROUND_WATCH: WATCH,
  HAS_VALUE,
} = roundKinds;

/** The fields of each kind, besides those that all have. */
const FIELDS: Readonly<Record<number, readonly string[]>> = {
  [READ]: ['name'],
  [ACK_READ]: ['value', 'written'],
  [WRITE]: ['value', 'name'],
  [ACK_WRITE]: [],
  [NACK]: ['reason', 'value'],
  [RELEASE]: ['until', 'name'],
  [ACK_RELEASE]: [],
  [LEARN]: ['value', 'name'],
  [WATCH]: ['name'],
};
const KINDS = Object.keys(FIELDS).map(Number);

const safe = fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 1, 0xffffffff, 0x100000000, Number.MAX_SAFE_INTEGER));
const ballot = fc.integer({ min: 0, max: BALLOT_TIME_MAX });
const leaseNumber = fc.integer({ min: 0, max: LEASE_NUMBER_MAX });
const byte = fc.integer({ min: 0, max: 255 });
const names = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 60 })
  .map((text) => new TextEncoder().encode(text))
  .filter((bytes) => isValidNameBytes(bytes, 0, bytes.length));

const messages = fc
  .record({
    kind: fc.constantFrom(...KINDS),
    flags: byte,
    owner: safe,
    lease: leaseNumber,
    ballot,
    clockUs: safe,
    reason: byte,
    above: ballot,
    holder: safe,
    holderLease: leaseNumber,
    token: ballot,
    untilUs: safe,
    ownBallot: ballot,
    written: ballot,
    writer: safe,
    name: names,
    meta: fc.uint8Array({ maxLength: META_BYTES_MAX }),
  })
  .map(({ owner, holder, writer, name, meta, ...rest }) => {
    const message = new RoundMessage();
    Object.assign(message, rest, { owner: incarnation(owner), holder: incarnation(holder), writer: incarnation(writer) });
    message.setName(name, 0, name.length);
    message.setMeta(meta);
    return message;
  });

function encode(message: RoundMessage): Uint8Array {
  const writer = new ByteWriter(16);
  roundCodec().encode(message, writer);
  return writer.bytes.slice(0, writer.length);
}

/** Between other bytes, as in a frame; those would be read if the decoder read past its end. */
function decode(bytes: Uint8Array): RoundMessage | null {
  const frame = new Uint8Array(bytes.length + 20).fill(0x41);
  frame.set(bytes, 10);
  const reader = new ByteReader();
  reader.reset(frame, 10, 10 + bytes.length);
  const message = roundCodec().decode(reader);
  if (reader.at > reader.end) throw new Error('it read past the end');
  return message;
}

/** What a kind says; what it does not use means nothing. */
function said(message: RoundMessage): Record<string, unknown> {
  const fields = FIELDS[message.kind] ?? [];
  const { kind, flags, owner, lease, ballot: time, clockUs } = message;
  const hasValue = fields.includes('value') && (flags & HAS_VALUE) !== 0;
  const shown: Record<string, unknown> = { kind, flags: hasValue ? flags : flags & ~HAS_VALUE, owner, lease, ballot: time, clockUs };
  if (fields.includes('reason')) Object.assign(shown, { reason: message.reason, above: message.above });
  if (fields.includes('until')) shown['untilUs'] = message.untilUs;
  if (hasValue) {
    const { holder, holderLease, token, untilUs, ownBallot, meta, metaStart, metaEnd } = message;
    Object.assign(shown, { holder, holderLease, token, untilUs, ownBallot, meta: meta.slice(metaStart, metaEnd) });
    if (fields.includes('written')) Object.assign(shown, { written: message.written, writer: message.writer });
  }
  if (fields.includes('name')) shown['name'] = message.name.slice(message.nameStart, message.nameEnd);
  return shown;
}

describe('a message of Flease or PaxosLease', () => {
  it('of every kind there is has its fields here, and a name in both papers', () => {
    expect(KINDS).toEqual(ROUND_NAMES.flease.map((_, kind) => kind).slice(1));
    expect(ROUND_NAMES.paxoslease.length).toBe(ROUND_NAMES.flease.length);
  });

  it('says the same when it has been bytes', () => {
    fc.assert(
      fc.property(messages, (message) => {
        const arrived = decode(encode(message));
        expect(arrived && said(arrived)).toEqual(said(message));
      }),
    );
  });

  it('that was cut short is refused', () => {
    fc.assert(
      fc.property(messages, fc.nat(), (message, at) => {
        const bytes = encode(message);
        expect(decode(bytes.subarray(0, at % bytes.length))).toBeNull();
      }),
    );
  });

  it('of a kind that does not exist is refused', () => {
    fc.assert(
      fc.property(
        messages,
        byte.filter((kind) => !KINDS.includes(kind)),
        (message, kind) => {
          const bytes = encode(message);
          bytes[0] = kind;
          expect(decode(bytes)).toBeNull();
        },
      ),
    );
  });

  it('with a ballot or token from beyond belief is refused', () => {
    const message = new RoundMessage();
    message.kind = READ;
    message.setName(new TextEncoder().encode('r'), 0, 1);
    message.ballot = ballotTime(BALLOT_TIME_MAX);
    expect(decode(encode(message))).not.toBeNull();
    message.ballot = (BALLOT_TIME_MAX + 1) as typeof message.ballot;
    expect(decode(encode(message))).toBeNull();
  });

  it('whose bytes were changed is refused, or one that could have been sent', () => {
    fc.assert(
      fc.property(messages, fc.nat(), byte, (message, at, value) => {
        const bytes = encode(message);
        bytes[at % bytes.length] = value;
        const arrived = decode(bytes);
        if (arrived === null) return;
        const { name, nameStart, nameEnd, metaStart, metaEnd } = arrived;
        expect(metaEnd - metaStart).toBeLessThanOrEqual(META_BYTES_MAX);
        const isNamed = FIELDS[arrived.kind]?.includes('name') === true && arrived.kind !== WATCH;
        expect(!isNamed || isValidNameBytes(name, nameStart, nameEnd)).toBe(true);
        expect([arrived.owner, arrived.ballot, arrived.clockUs, arrived.token].every(Number.isSafeInteger)).toBe(true);
      }),
    );
  });
});
