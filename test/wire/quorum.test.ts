/** The quorum engine's messages as bytes: what is sent arrives, and what was never sent hurts nobody. */
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
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
  KIND_NAMES,
  LEARN,
  LEARNED,
  LINE,
  LINE_TOLD,
  LIST,
  LISTED,
  NO_BUNDLE,
  NOTE,
  NOTED,
  OTHER_VIEW,
  META_BYTES_MAX,
  OFFER,
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
  STATUS,
  STATUS_TOLD,
  TELLS_LIVES,
  UNFOLD,
  UNFOLDED,
  UNWAIT,
  VIEW_TOLD,
  WAIT,
  WANTED_TOLD,
  WATCH,
} from '../../src/core/index.ts';
import { BALLOT_TIME_MAX, ballotTime, incarnation, isValidNameBytes, LEASE_NUMBER_MAX } from '../../src/kernel/index.ts';
import { ByteReader, ByteWriter, quorumCodec } from '../../src/wire/index.ts';
import { ROOT } from '../support/tree.ts';

/** The fields of each kind, as `core/leases/quorum/messages.ts` describes them. */
const FIELDS: Readonly<Record<number, readonly string[]>> = {
  [PREPARE]: ['ballot', 'print', 'name'],
  [PROMISED]: ['ballot', 'clock', 'life', 'told'],
  [PROPOSE]: ['ballot', 'token', 'termUs', 'print', 'name', 'meta'],
  [ACCEPTED]: ['ballot', 'clock', 'life'],
  [REFUSED]: ['ballot', 'reason', 'remainingUs', 'clock', 'told'],
  [RELEASE]: ['ballot', 'told', 'name'],
  [RELEASED]: ['ballot', 'clock'],
  [QUERY]: ['print', 'name'],
  [ANSWER]: ['ballot', 'clock', 'life', 'told', 'meta'],
  [WAIT]: ['ballot', 'name'],
  [UNWAIT]: ['name'],
  [FREE]: ['clock'],
  [WATCH]: ['termUs', 'prefix'],
  [LEARN]: ['ballot', 'token', 'termUs', 'name', 'meta'],
  [LEARNED]: ['ballot', 'told', 'name', 'meta'],
  [LIST]: ['token', 'page', 'count', 'print', 'prefix'],
  [LISTED]: ['ballot', 'page', 'count', 'told', 'name', 'meta'],
  [PAGED]: ['token', 'page', 'count', 'clock', 'life'],
  [STATUS]: [],
  [STATUS_TOLD]: ['token', 'reason', 'remainingUs'],
  [BIND]: ['meta'],
  [BOUND]: ['token', 'reason', 'remainingUs'],
  [GO]: ['meta'],
  [GONE]: ['token', 'reason', 'remainingUs'],
  [IN_LINE]: ['clock'],
  [NOTE]: ['life'],
  [NOTED]: ['print', 'life'],
  [OFFER]: ['page', 'count', 'told', 'name'],
  [INVITE]: ['clock'],
  [READY]: ['page', 'count', 'told', 'clock'],
  [LINE]: ['name'],
  [LINE_TOLD]: ['page', 'count', 'clock', 'meta'],
  [VIEW_TOLD]: ['meta'],
  [RENEW]: ['termUs', 'page', 'count', 'print', 'bundle'],
  [RENEWED]: ['page', 'count', 'life', 'bundle', 'sums'],
  [NO_BUNDLE]: ['page', 'count', 'bundle'],
  [UNFOLD]: ['token', 'bundle'],
  [UNFOLDED]: ['token', 'bundle', 'meta'],
  [BUNDLE_LEARNED]: ['holder', 'remainingUs'],
  [WANTED_TOLD]: ['name'],
};
const KINDS = Object.keys(FIELDS).map(Number);

interface Fields {
  readonly kind: number;
  readonly flags: number;
  readonly owner: number;
  readonly lease: number;
  readonly ballot: number;
  readonly token: number;
  readonly termUs: number;
  readonly reason: number;
  readonly holder: number;
  readonly holderLease: number;
  readonly remainingUs: number;
  readonly page: number;
  readonly count: number;
  readonly clock: number;
  readonly bundle: number;
  readonly row: number;
  readonly sumLow: number;
  readonly sumHigh: number;
  readonly print: number;
  readonly life: number;
  readonly roster: Uint8Array;
  readonly name: Uint8Array;
  readonly meta: Uint8Array;
}

const safe = fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 1, 0xffffffff, 0x100000000, Number.MAX_SAFE_INTEGER));
const ballot = fc.integer({ min: 0, max: BALLOT_TIME_MAX });
const word = fc.integer({ min: 0, max: 0xffffffff });
const leaseNumber = fc.integer({ min: 0, max: LEASE_NUMBER_MAX });
const byte = fc.integer({ min: 0, max: 255 });
const names = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 60 })
  .map((text) => new TextEncoder().encode(text))
  .filter((bytes) => isValidNameBytes(bytes, 0, bytes.length));

const messages: fc.Arbitrary<Fields> = fc.record({
  kind: fc.constantFrom(...KINDS),
  flags: byte,
  owner: safe,
  lease: leaseNumber,
  ballot,
  token: safe,
  termUs: safe,
  reason: byte,
  holder: safe,
  holderLease: leaseNumber,
  remainingUs: safe,
  page: word,
  count: word,
  clock: ballot,
  bundle: safe,
  row: word,
  sumLow: word,
  sumHigh: word,
  print: safe,
  life: safe,
  roster: fc.uint8Array({ maxLength: 512 }),
  name: names,
  meta: fc.uint8Array({ maxLength: META_BYTES_MAX }),
});

function messageOf(fields: Fields): QuorumMessage {
  const message = new QuorumMessage();
  const { owner, ballot: time, holder, clock, name, meta, roster, ...rest } = fields;
  Object.assign(message, rest, {
    owner: incarnation(owner),
    ballot: ballotTime(time),
    holder: incarnation(holder),
    clock: ballotTime(clock),
  });
  message.setName(name, 0, name.length);
  message.setMeta(meta);
  message.setRoster(roster);
  return message;
}

function encode(fields: Fields): Uint8Array {
  const writer = new ByteWriter(16);
  quorumCodec().encode(messageOf(fields), writer);
  return writer.bytes.slice(0, writer.length);
}

interface Decoded {
  readonly message: QuorumMessage | null;
  /** What a decoder must not do. */
  readonly faults: readonly string[];
}

/** Between other bytes, as in a frame; those would be read if the decoder read past its end. */
function tryDecode(bytes: Uint8Array): Decoded {
  const frame = new Uint8Array(bytes.length + 20).fill(0x41);
  frame.set(bytes, 10);
  const reader = new ByteReader();
  reader.reset(frame, 10, 10 + bytes.length);
  const message = quorumCodec().decode(reader);
  const faults = reader.at > reader.end ? ['it read past the end'] : [];
  return { message, faults: message ? [...faults, ...faultsOf(message, 10, reader.end)] : faults };
}

function faultsOf(message: QuorumMessage, from: number, to: number): string[] {
  const fields = FIELDS[message.kind] ?? [];
  const { name, nameStart, nameEnd, metaStart, metaEnd, rosterStart, rosterEnd } = message;
  const isOutside = (start: number, end: number): boolean => start < from || start > end || end > to;
  const named = fields.includes('name') || fields.includes('prefix');
  const numbers = [message.owner, message.lease, message.ballot, message.token, message.termUs, message.clock, message.remainingUs];
  return [
    ...(named && isOutside(nameStart, nameEnd) ? ['the name lies outside'] : []),
    ...(fields.includes('name') && !isValidNameBytes(name, nameStart, nameEnd) ? ['the name is none'] : []),
    ...(fields.includes('life') && isOutside(rosterStart, rosterEnd) ? ['the lives lie outside'] : []),
    ...(fields.includes('meta') && isOutside(metaStart, metaEnd) ? ['the metadata lies outside'] : []),
    ...(fields.includes('meta') && metaEnd - metaStart > META_BYTES_MAX ? ['the metadata is too long'] : []),
    ...(numbers.every((number) => Number.isSafeInteger(number) && number >= 0) ? [] : ['a number is none']),
  ];
}

function decode(bytes: Uint8Array): QuorumMessage | null {
  const { message, faults } = tryDecode(bytes);
  if (faults.length > 0) throw new Error(faults.join(', '));
  return message;
}

/** What a kind says; what it does not use means nothing. */
function said(message: QuorumMessage): Record<string, unknown> {
  const fields = FIELDS[message.kind] ?? [];
  const shown: Record<string, unknown> = { kind: message.kind, flags: message.flags, owner: message.owner, lease: message.lease };
  for (const field of [
    'ballot',
    'token',
    'termUs',
    'reason',
    'remainingUs',
    'page',
    'count',
    'clock',
    'print',
    'life',
    'holder',
    'bundle',
  ] as const) {
    if (fields.includes(field)) shown[field] = message[field];
  }
  if (fields.includes('sums')) Object.assign(shown, { sumLow: message.sumLow, sumHigh: message.sumHigh });
  const joins = (message.flags & BUNDLE) !== 0;
  if (joins && (message.kind === PROPOSE || message.kind === ACCEPTED)) shown['row'] = message.row;
  if (joins && message.kind === ACCEPTED) shown['bundle'] = message.bundle;
  if (fields.includes('told') && (message.flags & HAS_LEASE) !== 0) {
    for (const field of ['holder', 'holderLease', 'token', 'remainingUs'] as const) shown[field] = message[field];
  }
  if (fields.includes('name') || fields.includes('prefix')) shown['name'] = message.name.slice(message.nameStart, message.nameEnd);
  if (fields.includes('life') && (message.flags & TELLS_LIVES) !== 0) {
    shown['roster'] = message.roster.slice(message.rosterStart, message.rosterEnd);
  }
  if (fields.includes('meta')) shown['meta'] = message.meta.slice(message.metaStart, message.metaEnd);
  return shown;
}

describe('a message', () => {
  it('of every kind there is has its fields here', () => {
    expect(KINDS).toEqual(KIND_NAMES.map((_, kind) => kind).slice(1));
  });

  it('of a view says which one, and a refusal brings the whole of it', () => {
    const message = new QuorumMessage();
    message.setName(new TextEncoder().encode('r'), 0, 1);
    for (const kind of [PREPARE, PROPOSE, QUERY, LIST, ACCEPTED]) {
      message.kind = kind;
      message.setView({ epoch: 7, id: 1_800_000_000_000_000 });
      const writer = new ByteWriter(16);
      quorumCodec().encode(message, writer);
      expect(decode(writer.bytes.slice(0, writer.length))).toMatchObject({ viewEpoch: 7, viewId: 1_800_000_000_000_000 });
    }
    message.kind = REFUSED;
    message.reason = OTHER_VIEW;
    message.flags = 0;
    message.setMeta(Uint8Array.of(1, 2, 3));
    const writer = new ByteWriter(16);
    quorumCodec().encode(message, writer);
    const { meta, metaStart, metaEnd } = decode(writer.bytes.slice(0, writer.length)) as QuorumMessage;
    expect(meta.slice(metaStart, metaEnd)).toEqual(Uint8Array.of(1, 2, 3));
  });

  it('says the same when it has been bytes', () => {
    fc.assert(
      fc.property(messages, (fields) => {
        const message = decode(encode(fields));
        expect(message && said(message)).toEqual(said(messageOf(fields)));
      }),
      { numRuns: 2000 },
    );
  });

  it('leaves bytes it does not know unread', () => {
    fc.assert(
      fc.property(messages, fc.uint8Array({ minLength: 1, maxLength: 40 }), (fields, more) => {
        const message = decode(Uint8Array.from([...encode(fields), ...more]));
        expect(message && said(message)).toEqual(said(messageOf(fields)));
      }),
    );
  });

  it('that is cut anywhere is none', () => {
    fc.assert(
      fc.property(messages, (fields) => {
        const bytes = encode(fields);
        for (let length = 0; length < Math.min(bytes.length, 200); length++) expect(decode(bytes.subarray(0, length))).toBeNull();
        for (let length = Math.max(0, bytes.length - 50); length < bytes.length; length++)
          expect(decode(bytes.subarray(0, length))).toBeNull();
      }),
      { numRuns: 200 },
    );
  });

  it('with any one byte changed is refused or says something else, and throws nothing', () => {
    fc.assert(
      fc.property(messages, byte, (fields, change) => {
        const bytes = encode({ ...fields, meta: fields.meta.slice(0, 20) });
        for (let at = 0; at < bytes.length; at++) {
          const mutilated = bytes.slice();
          mutilated[at] = (bytes[at] as number) ^ (change || 0x80);
          expect(tryDecode(mutilated).faults).toEqual([]);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('is not made of random bytes by throwing', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.constantFrom(...KINDS), (bytes, kind) => {
        expect(tryDecode(bytes).faults).toEqual([]);
        expect(tryDecode(Uint8Array.from([kind, ...bytes])).faults).toEqual([]);
      }),
      { numRuns: 3000 },
    );
  });
});

const GOOD: Fields = {
  kind: PROPOSE,
  flags: 0,
  owner: 1001,
  lease: 1,
  ballot: 1_800_000_000_000_000,
  token: 1_800_000_000_000_000,
  termUs: 1_000_000,
  reason: 0,
  holder: 0,
  holderLease: 0,
  remainingUs: 0,
  page: 0,
  count: 0,
  clock: 0,
  bundle: 0,
  row: 0,
  sumLow: 0,
  sumHigh: 0,
  print: 1,
  life: 1,
  roster: new Uint8Array(8),
  name: new TextEncoder().encode('name'),
  meta: new Uint8Array(0),
};

describe('what is refused', () => {
  it('are kinds nobody knows', () => {
    for (let kind = 0; kind < 256; kind++) {
      if (KINDS.includes(kind)) continue;
      const bytes = encode(GOOD);
      bytes[0] = kind;
      expect(decode(bytes)).toBeNull();
    }
  });

  it.each(KINDS.filter((kind) => FIELDS[kind]?.includes('name')))('are names that are none, in kind %i', (kind) => {
    expect(decode(encode({ ...GOOD, kind }))).not.toBeNull();
    for (const wrong of [[], [0x0a], [0x61, 0x00], [0x7f], [0xc2, 0x80], [0xff], [0xc3], [0xe2, 0x82], [0xc0, 0xaf], [0xed, 0xa0, 0x80]]) {
      expect(decode(encode({ ...GOOD, kind, name: Uint8Array.from(wrong) }))).toBeNull();
    }
  });

  it('is metadata of more than a kilobyte', () => {
    for (const kind of [PROPOSE, ANSWER, LEARN, LEARNED, LISTED, BIND, GO]) {
      expect(decode(encode({ ...GOOD, kind, meta: new Uint8Array(META_BYTES_MAX) }))).not.toBeNull();
      expect(decode(encode({ ...GOOD, kind, meta: new Uint8Array(META_BYTES_MAX + 1) }))).toBeNull();
    }
  });

  it('are numbers past the safe integers', () => {
    const bytes = encode(GOOD);
    // The owner, in bytes 2 to 9.
    bytes[9] = 0x01;
    expect(decode(bytes)).toBeNull();
    bytes[9] = 0;
    bytes[8] = 0x20;
    expect(decode(bytes)).toBeNull();
    bytes[8] = 0x1f;
    expect(decode(bytes)).not.toBeNull();
  });

  it.each(KINDS.filter((kind) => FIELDS[kind]?.includes('ballot')))('are ballots past belief, in kind %i', (kind) => {
    expect(decode(encode({ ...GOOD, kind, ballot: BALLOT_TIME_MAX }))).not.toBeNull();
    expect(decode(encode({ ...GOOD, kind, ballot: BALLOT_TIME_MAX + 1 }))).toBeNull();
  });

  it.each(KINDS.filter((kind) => FIELDS[kind]?.includes('clock')))('are clocks past belief, in kind %i', (kind) => {
    expect(decode(encode({ ...GOOD, kind, clock: BALLOT_TIME_MAX }))).not.toBeNull();
    expect(decode(encode({ ...GOOD, kind, clock: BALLOT_TIME_MAX + 1 }))).toBeNull();
  });
});

describe('a prefix', () => {
  it('may be empty', () => {
    const message = decode(encode({ ...GOOD, kind: WATCH, name: new Uint8Array(0) }));
    expect(message && said(message)['name']).toEqual(new Uint8Array(0));
  });
});

describe('a million messages', () => {
  it('are written and read without an object for each', () => {
    const script = `
      import { QuorumMessage, PROPOSE, ACCEPTED } from './dist/core/index.js';
      import { ByteReader, ByteWriter, quorumCodec } from './dist/wire/index.js';
      const codec = quorumCodec(), writer = new ByteWriter(), reader = new ByteReader(), message = new QuorumMessage();
      const name = new TextEncoder().encode('jobs/0000000001');
      message.owner = 2 ** 40; message.token = message.ballot = message.clock = 1800000000000000; message.termUs = 15000000;
      message.setName(name, 0, name.length);
      const run = (count) => {
        let sum = 0;
        for (let i = 0; i < count; i++) {
          message.kind = (i & 1) === 0 ? PROPOSE : ACCEPTED;
          message.lease = i & 0xffff;
          writer.reset();
          codec.encode(message, writer);
          reader.reset(writer.bytes, 0, writer.length);
          sum += codec.decode(reader).lease;
        }
        return sum;
      };
      run(300000);
      gc();
      const before = process.memoryUsage().heapUsed;
      run(1000000);
      console.log(process.memoryUsage().heapUsed - before);
    `;
    // No collection comes between, so all that was allocated shows. A boxed number here and there is the engine's; an object, a view
    // or a slice for each message would be a hundred bytes and more.
    const options = ['--expose-gc', '--max-semi-space-size=256', '--min-semi-space-size=256', '--input-type=module', '-e', script];
    const grown = Number(execFileSync(process.execPath, options, { cwd: ROOT, encoding: 'utf8' }));
    expect(grown).toBeLessThan(64_000_000);
  }, 30_000);
});
