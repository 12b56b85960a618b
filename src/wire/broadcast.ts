/** The messages of atomic broadcast: a byte for the kind, then numbers in eight bytes, and bytes with their length in four before them. Consensus is in lanes of its own. */
import {
  BROADCAST_CONSENSUS_LANE,
  BROADCAST_FAST_LANE,
  BROADCAST_OWN_LANE,
  type BroadcastMessage,
  type BroadcastOwnMessage,
  type BroadcastStanding,
  type FastCtMessage,
  type LogPiece,
  CONSENSUS_LANE,
  LEASE_LANE,
} from '../core/index.ts';
import type { Incarnation } from '../kernel/index.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';
import type { Codec } from './codec.ts';
import { consensusCodec } from './consensus.ts';
import { intervalCodec } from './intervals.ts';
import { lanesCodec } from './lanes.ts';

/** These numbers never change. */
const KINDS = [
  'publish',
  'published',
  'look',
  'end',
  'read',
  'forget',
  'page',
  'gone',
  'copy',
  'copied',
  'fetch',
  'part',
  'epoch',
  'found',
  'founded',
  'begin',
  'begun',
  'renew',
  'renewed',
  'survey',
  'surveyed',
] as const satisfies readonly BroadcastOwnMessage['kind'][];
/** In this order for ever. */
const STANDINGS = [
  'reading',
  'blank',
  'asking',
  'abstaining',
  'behind',
  'ready',
  'failed',
  'silent',
] as const satisfies readonly BroadcastStanding[];
/** More pieces than a frame has. */
const PIECES_MAX = 65_536;

type Kind = (typeof KINDS)[number];
type Of<K extends Kind> = Extract<BroadcastOwnMessage, { readonly kind: K }>;

const ownCodec: Codec<BroadcastOwnMessage> = {
  encode(message: BroadcastOwnMessage, out: ByteWriter): void {
    out.u8(KINDS.indexOf(message.kind));
    writeBody(message, out);
  },

  decode(input: ByteReader): BroadcastOwnMessage | null {
    const kind = KINDS[input.u8()];
    if (kind === undefined || input.failed) return null;
    const message = READERS[kind](input);
    return input.failed ? null : message;
  },
};

/** Whether the message that begins here is a mere question how a member stands. */
export function isSurvey(bytes: Uint8Array, start: number): boolean {
  return bytes[start] === BROADCAST_OWN_LANE && bytes[start + 1] === KINDS.indexOf('survey');
}

/** A codec of its own for each side: it hands out the same record every time. Messages of consensus have their epoch behind the lane. */
export function broadcastCodec(): Codec<BroadcastMessage> {
  const fastCodec = lanesCodec<FastCtMessage>({ [LEASE_LANE]: intervalCodec, [CONSENSUS_LANE]: consensusCodec });
  const read: { lane: number; epoch: number; message: unknown } = { lane: 0, epoch: 0, message: null };
  return {
    encode(message, out) {
      out.u8(message.lane);
      if (message.lane === BROADCAST_OWN_LANE) return ownCodec.encode(message.message, out);
      out.u53(message.epoch);
      if (message.lane === BROADCAST_FAST_LANE) return fastCodec.encode(message.message, out);
      return consensusCodec.encode(message.message, out);
    },
    decode(input) {
      read.lane = input.u8();
      if (input.failed || read.lane > BROADCAST_CONSENSUS_LANE) return null;
      read.epoch = read.lane === BROADCAST_OWN_LANE ? 0 : input.u53();
      const codec = read.lane === BROADCAST_OWN_LANE ? ownCodec : read.lane === BROADCAST_FAST_LANE ? fastCodec : consensusCodec;
      read.message = codec.decode(input);
      return read.message === null || input.failed ? null : (read as BroadcastMessage);
    },
  };
}

function writeBody(message: BroadcastOwnMessage, out: ByteWriter): void {
  switch (message.kind) {
    case 'publish':
      return writeBytes(message.group, out);
    case 'published':
      return writeNumbers([message.origin, message.first, message.count, message.position, message.epoch], out);
    case 'look':
    case 'survey':
      return;
    case 'surveyed':
      out.u8(STANDINGS.indexOf(message.standing));
      writeNumbers([message.epoch, message.first, message.last], out);
      return writeMembers(message.without, out);
    case 'end':
      return writeNumbers([message.first, message.last, message.epoch], out);
    case 'read':
      writeNumbers([message.reader, message.after, message.bytesMax], out);
      out.u8(Number(message.name !== null));
      return message.name === null ? undefined : writeBytes(message.name, out);
    case 'forget':
      return out.u53(message.reader);
    case 'page':
      writeNumbers([message.reader, message.after, message.upTo, message.epoch], out);
      return writePieces(message.pieces, out);
    case 'gone':
      return writeNumbers([message.reader, message.after, message.first], out);
    case 'copy':
      return out.u53(message.after);
    case 'copied':
      writeNumbers([message.after, message.first], out);
      return writePieces(message.pieces, out);
    case 'fetch':
      writeNumbers([message.after, message.position, message.at], out);
      return writeBytes(message.name, out);
    case 'part':
      writeNumbers([message.position, message.at, message.size], out);
      writeBytes(message.name, out);
      return writeBytes(message.bytes, out);
    case 'epoch':
      return out.u53(message.epoch);
    case 'found':
      return out.u53(message.act);
    case 'founded':
      return writeNumbers(
        [message.act, message.life, message.epoch, message.logged, message.position, message.decided, message.votesFrom],
        out,
      );
    case 'begin':
      return writeNumbers([message.act, message.life, message.epoch, message.start, message.position], out);
    case 'begun':
      return writeNumbers([message.act, message.epoch], out);
    case 'renew':
      return out.u53(message.waitUs);
    default:
      out.u8(Number(message.ok));
      out.u53(message.epoch);
      writeMembers(message.absent, out);
      return writeMembers(message.barred, out);
  }
}

const READERS: { readonly [K in Kind]: (input: ByteReader) => Of<K> } = {
  publish: (input) => ({ kind: 'publish', group: readBytes(input) }),
  published: (input) => ({
    kind: 'published',
    origin: input.u53() as Incarnation,
    first: input.u53(),
    count: input.u53(),
    position: input.u53(),
    epoch: readAdded(input),
  }),
  look: () => ({ kind: 'look' }),
  survey: () => ({ kind: 'survey' }),
  surveyed: (input) => {
    const standing = STANDINGS[input.u8()];
    if (standing === undefined) input.failed = true;
    const [epoch, first, last] = [input.u53(), input.u53(), input.u53()];
    return { kind: 'surveyed', standing: standing ?? 'failed', epoch, first, last, without: readMembers(input) };
  },
  end: (input) => ({ kind: 'end', first: input.u53(), last: input.u53(), epoch: readAdded(input) }),
  read: (input) => {
    const [reader, after, bytesMax] = [input.u53(), input.u53(), input.u53()];
    return { kind: 'read', reader, after, bytesMax, name: input.u8() === 1 ? readBytes(input) : null };
  },
  forget: (input) => ({ kind: 'forget', reader: input.u53() }),
  page: (input) => ({
    kind: 'page',
    reader: input.u53(),
    after: input.u53(),
    upTo: input.u53(),
    epoch: input.u53(),
    pieces: readPieces(input),
  }),
  gone: (input) => ({ kind: 'gone', reader: input.u53(), after: input.u53(), first: input.u53() }),
  copy: (input) => ({ kind: 'copy', after: input.u53() }),
  copied: (input) => ({ kind: 'copied', after: input.u53(), first: input.u53(), pieces: readPieces(input) }),
  fetch: (input) => ({ kind: 'fetch', after: input.u53(), position: input.u53(), at: input.u53(), name: readBytes(input) }),
  part: (input) => ({
    kind: 'part',
    position: input.u53(),
    at: input.u53(),
    size: input.u53(),
    name: readBytes(input),
    bytes: readBytes(input),
  }),
  epoch: (input) => ({ kind: 'epoch', epoch: input.u53() }),
  found: (input) => ({ kind: 'found', act: input.u53() }),
  founded: (input) => ({
    kind: 'founded',
    act: input.u53(),
    life: input.u53() as Incarnation,
    epoch: input.u53(),
    logged: input.u53(),
    position: input.u53(),
    decided: input.u53(),
    votesFrom: input.u53(),
  }),
  begin: (input) => ({
    kind: 'begin',
    act: input.u53(),
    life: input.u53() as Incarnation,
    epoch: input.u53(),
    start: input.u53(),
    position: input.u53(),
  }),
  begun: (input) => ({ kind: 'begun', act: input.u53(), epoch: input.u53() }),
  renew: (input) => ({ kind: 'renew', waitUs: input.u53() }),
  renewed: (input) => ({
    kind: 'renewed',
    ok: input.u8() === 1,
    epoch: input.u53(),
    absent: readMembers(input),
    barred: readMembers(input),
  }),
};

function writeNumbers(numbers: readonly number[], out: ByteWriter): void {
  for (const number of numbers) out.u53(number);
}

/** A number at the end of a message that earlier versions do not write. */
function readAdded(input: ByteReader): number {
  return input.at < input.end ? input.u53() : 0;
}

function writeBytes(bytes: Uint8Array, out: ByteWriter): void {
  out.u32(bytes.length);
  out.raw(bytes, 0, bytes.length);
}

/** A view into the frame: a core that keeps it copies it. */
function readBytes(input: ByteReader): Uint8Array {
  const length = input.u32();
  const start = input.skip(length);
  return input.failed ? input.bytes.subarray(0, 0) : input.bytes.subarray(start, start + length);
}

function writeMembers(members: readonly number[], out: ByteWriter): void {
  out.u8(members.length);
  for (const member of members) out.u8(member);
}

function readMembers(input: ByteReader): number[] {
  return Array.from({ length: input.u8() }, () => input.u8());
}

function writePieces(pieces: readonly LogPiece[], out: ByteWriter): void {
  out.u32(pieces.length);
  for (const { instance, position, groups } of pieces) {
    writeNumbers([instance, position], out);
    writeBytes(groups, out);
  }
}

function readPieces(input: ByteReader): LogPiece[] {
  const pieces: LogPiece[] = [];
  let left = input.u32();
  if (left > PIECES_MAX) input.failed = true;
  for (; left > 0 && !input.failed; left--) pieces.push({ instance: input.u53(), position: input.u53(), groups: readBytes(input) });
  return pieces;
}
