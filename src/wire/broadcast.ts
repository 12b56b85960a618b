/** The messages of atomic broadcast: a byte for the kind, then numbers in eight bytes, and bytes with their length in four before them. Consensus is in lanes of its own. */
import {
  BROADCAST_CONSENSUS_LANE,
  BROADCAST_FAST_LANE,
  BROADCAST_OWN_LANE,
  type BroadcastMessage,
  type BroadcastOwnMessage,
  type FastCtMessage,
  type LogPiece,
  CONSENSUS_LANE,
  LEASE_LANE,
} from '../core/index.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';
import type { Codec } from './codec.ts';
import { consensusCodec } from './consensus.ts';
import { intervalCodec } from './intervals.ts';
import { lanesCodec } from './lanes.ts';

/** Numbers stay what they are for ever. */
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
] as const satisfies readonly BroadcastOwnMessage['kind'][];
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

/** A codec of its own for each side: it hands out the same record every time. */
export function broadcastCodec(): Codec<BroadcastMessage> {
  return lanesCodec<BroadcastMessage>({
    [BROADCAST_OWN_LANE]: ownCodec,
    [BROADCAST_FAST_LANE]: lanesCodec<FastCtMessage>({ [LEASE_LANE]: intervalCodec, [CONSENSUS_LANE]: consensusCodec }),
    [BROADCAST_CONSENSUS_LANE]: consensusCodec,
  });
}

function writeBody(message: BroadcastOwnMessage, out: ByteWriter): void {
  switch (message.kind) {
    case 'publish':
      return writeBytes(message.group, out);
    case 'published':
      return writeNumbers([message.first, message.count, message.position], out);
    case 'look':
      return;
    case 'end':
      return writeNumbers([message.first, message.last], out);
    case 'read':
      writeNumbers([message.reader, message.after, message.bytesMax], out);
      out.u8(Number(message.name !== null));
      return message.name === null ? undefined : writeBytes(message.name, out);
    case 'forget':
      return out.u53(message.reader);
    case 'page':
      writeNumbers([message.reader, message.after, message.upTo], out);
      return writePieces(message.pieces, out);
    case 'gone':
      return writeNumbers([message.reader, message.after, message.first], out);
    case 'copy':
      return out.u53(message.after);
    case 'copied':
      writeNumbers([message.after, message.first], out);
      return writePieces(message.pieces, out);
    case 'fetch':
      return writeNumbers([message.after, message.position, message.at], out);
    default:
      writeNumbers([message.position, message.at, message.size], out);
      return writeBytes(message.bytes, out);
  }
}

const READERS: { readonly [K in Kind]: (input: ByteReader) => Of<K> } = {
  publish: (input) => ({ kind: 'publish', group: readBytes(input) }),
  published: (input) => ({ kind: 'published', first: input.u53(), count: input.u53(), position: input.u53() }),
  look: () => ({ kind: 'look' }),
  end: (input) => ({ kind: 'end', first: input.u53(), last: input.u53() }),
  read: (input) => {
    const [reader, after, bytesMax] = [input.u53(), input.u53(), input.u53()];
    return { kind: 'read', reader, after, bytesMax, name: input.u8() === 1 ? readBytes(input) : null };
  },
  forget: (input) => ({ kind: 'forget', reader: input.u53() }),
  page: (input) => ({ kind: 'page', reader: input.u53(), after: input.u53(), upTo: input.u53(), pieces: readPieces(input) }),
  gone: (input) => ({ kind: 'gone', reader: input.u53(), after: input.u53(), first: input.u53() }),
  copy: (input) => ({ kind: 'copy', after: input.u53() }),
  copied: (input) => ({ kind: 'copied', after: input.u53(), first: input.u53(), pieces: readPieces(input) }),
  fetch: (input) => ({ kind: 'fetch', after: input.u53(), position: input.u53(), at: input.u53() }),
  part: (input) => ({ kind: 'part', position: input.u53(), at: input.u53(), size: input.u53(), bytes: readBytes(input) }),
};

function writeNumbers(numbers: readonly number[], out: ByteWriter): void {
  for (const number of numbers) out.u53(number);
}

function writeBytes(bytes: Uint8Array, out: ByteWriter): void {
  out.u32(bytes.length);
  out.raw(bytes, 0, bytes.length);
}

/** A view of what came: a core that keeps it copies it. */
function readBytes(input: ByteReader): Uint8Array {
  const length = input.u32();
  const start = input.skip(length);
  return input.failed ? input.bytes.subarray(0, 0) : input.bytes.subarray(start, start + length);
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
