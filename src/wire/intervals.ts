/** The messages of interval leases: a byte for the kind, then numbers in eight bytes, names and lists with their length before them. */
import { decodeName, encodeName, type Incarnation } from '../kernel/index.ts';
import { isInterval, type CopiedPiece, type CopyCursor, type DiskPhase, type IntervalMessage } from '../core/index.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';
import type { Codec } from './codec.ts';

const KINDS = [
  'lease',
  'ack',
  'nack',
  'withdraw',
  'withdrawn',
  'hello',
  'known',
  'note',
  'noted',
  'copy',
  'page',
  'found',
  'founded',
  'begin',
  'begun',
  'look',
  'standing',
] as const satisfies readonly IntervalMessage['kind'][];
const REASONS = ['overlap', 'limit'] as const;
const PHASES = ['reading', 'blank', 'founding', 'joining', 'ready', 'failed'] as const satisfies readonly DiskPhase[];
/** More pieces than a page has. */
const PIECES_MAX = 4096;

type Of<Kind extends IntervalMessage['kind']> = Extract<IntervalMessage, { kind: Kind }>;

export const intervalCodec: Codec<IntervalMessage> = {
  encode(message: IntervalMessage, out: ByteWriter): void {
    out.u8(KINDS.indexOf(message.kind));
    writeBody(message, out);
  },

  decode(input: ByteReader): IntervalMessage | null {
    const kind = KINDS[input.u8()];
    if (kind === undefined || input.failed) return null;
    const message = READERS[kind](input);
    return input.failed ? null : message;
  },
};

function writeBody(message: IntervalMessage, out: ByteWriter): void {
  switch (message.kind) {
    case 'lease':
    case 'withdraw':
      writeNumbers([message.incarnation, message.counter, message.from, message.to, message.closed], out);
      return writeSpace(message.space, out);
    case 'ack':
    case 'withdrawn':
      writeNumbers([message.incarnation, message.counter], out);
      return writeGenerations(message.generations, out);
    case 'nack':
      writeNumbers([message.incarnation, message.counter, message.overlapFrom, message.overlapTo, Math.max(0, message.next)], out);
      out.u8(REASONS.indexOf(message.why) + REASONS.length * Number(message.next >= 0));
      return writeGenerations(message.generations, out);
    case 'hello':
      return out.u53(message.asker);
    case 'look':
      return;
    case 'standing':
      out.u8(PHASES.indexOf(message.phase));
      return writeNumbers([message.generation, message.noted, message.copied, message.needed], out);
    case 'known':
      writeNumbers([message.asker, message.founding, message.start], out);
      writeGenerations(message.disks, out);
      return writeGenerations(message.generations, out);
    case 'note':
      return out.u53(message.generation);
    case 'noted':
      out.u53(message.generation);
      return writeGenerations(message.generations, out);
    case 'copy':
      out.u53(message.generation);
      return writeCursor(message, out);
    case 'page':
      return writePage(message, out);
    case 'found':
      return writeNumbers([message.founding, message.round, message.start], out);
    case 'founded':
      writeNumbers([message.founding, message.round, message.disk, message.start], out);
      return out.u8(Number(message.isReady));
    case 'begin':
      writeNumbers([message.founding, message.start], out);
      return writeGenerations(message.disks, out);
    case 'begun':
      return writeNumbers([message.founding, message.start], out);
  }
}

const READERS: { readonly [Kind in IntervalMessage['kind']]: (input: ByteReader) => Of<Kind> | null } = {
  lease: (input) => readRequest('lease', input),
  withdraw: (input) => readRequest('withdraw', input),
  ack: (input) => ({ kind: 'ack', ...readKey(input), generations: readGenerations(input) }),
  withdrawn: (input) => ({ kind: 'withdrawn', ...readKey(input), generations: readGenerations(input) }),
  nack(input) {
    const key = readKey(input);
    const [overlapFrom, overlapTo, next] = [input.u53(), input.u53(), input.u53()];
    const flags = input.u8();
    const why = REASONS[flags % REASONS.length];
    const generations = readGenerations(input);
    if (why === undefined || flags >= 2 * REASONS.length) return null;
    return { kind: 'nack', ...key, why, overlapFrom, overlapTo, next: flags < REASONS.length ? -1 : next, generations };
  },
  hello: (input) => ({ kind: 'hello', asker: input.u53() }),
  known: (input) => ({
    kind: 'known',
    asker: input.u53(),
    founding: input.u53(),
    start: input.u53(),
    disks: readGenerations(input),
    generations: readGenerations(input),
  }),
  note: (input) => ({ kind: 'note', generation: input.u53() }),
  noted: (input) => ({ kind: 'noted', generation: input.u53(), generations: readGenerations(input) }),
  copy(input) {
    const generation = input.u53();
    const cursor = readCursor(input);
    return cursor && { kind: 'copy', generation, ...cursor };
  },
  page: readPage,
  found: (input) => ({ kind: 'found', founding: input.u53(), round: input.u53(), start: input.u53() }),
  founded(input) {
    const [founding, round, disk, start] = [input.u53(), input.u53(), input.u53(), input.u53()];
    return { kind: 'founded', founding, round, disk, start, isReady: input.u8() === 1 };
  },
  begin: (input) => ({ kind: 'begin', founding: input.u53(), start: input.u53(), disks: readGenerations(input) }),
  begun: (input) => ({ kind: 'begun', founding: input.u53(), start: input.u53() }),
  look: () => ({ kind: 'look' }),
  standing(input) {
    const phase = PHASES[input.u8()];
    const [generation, noted, copied, needed] = [input.u53(), input.u53(), input.u53(), input.u53()];
    return phase === undefined ? null : { kind: 'standing', phase, generation, noted, copied, needed };
  },
};

function readRequest<Kind extends 'lease' | 'withdraw'>(kind: Kind, input: ByteReader): Of<Kind> | null {
  const key = readKey(input);
  const [from, to, closed] = [input.u53(), input.u53(), input.u53()];
  const space = readSpace(input);
  if (!space || !isInterval(from, to)) return null;
  return { kind, ...key, from, to, closed, space } as Of<Kind>;
}

function writePage({ generation, pieces, next, generations, ...cursor }: Of<'page'>, out: ByteWriter): void {
  out.u53(generation);
  writeCursor(cursor, out);
  writeGenerations(generations, out);
  out.u8(Number(next !== null));
  if (next) writeCursor(next, out);
  out.u16(pieces.length);
  for (const { space, from, to, incarnation, counter } of pieces) {
    writeNumbers([from, to, incarnation, counter], out);
    writeSpace(space, out);
  }
}

function readPage(input: ByteReader): Of<'page'> | null {
  const generation = input.u53();
  const cursor = readCursor(input);
  const generations = readGenerations(input);
  const next = input.u8() === 1 ? readCursor(input) : undefined;
  const count = input.u16();
  if (cursor === null || next === null || count > PIECES_MAX) return null;
  const pieces: CopiedPiece[] = [];
  for (let i = 0; i < count && !input.failed; i++) {
    const [from, to, incarnation, counter] = [input.u53(), input.u53(), input.u53() as Incarnation, input.u53()];
    const space = readSpace(input);
    if (!space || !isInterval(from, to)) return null;
    pieces.push({ space, from, to, incarnation, counter });
  }
  return { kind: 'page', generation, ...cursor, pieces, next: next ?? null, generations };
}

function writeNumbers(numbers: readonly number[], out: ByteWriter): void {
  for (const number of numbers) out.u53(number);
}

function readKey(input: ByteReader): { readonly incarnation: Incarnation; readonly counter: number } {
  return { incarnation: input.u53() as Incarnation, counter: input.u53() };
}

/** A cursor may be before all spaces. */
function writeCursor({ space, from }: CopyCursor, out: ByteWriter): void {
  out.u53(from);
  writeSpace(space, out);
}

function readCursor(input: ByteReader): CopyCursor | null {
  const from = input.u53();
  const space = readSpace(input);
  return space === null ? null : { space, from };
}

function writeSpace(space: string, out: ByteWriter): void {
  const bytes = space === '' ? new Uint8Array(0) : encodeName(space);
  out.u8(bytes.length);
  out.raw(bytes, 0, bytes.length);
}

/** Null if it is no name; '' if there is none. */
function readSpace(input: ByteReader): string | null {
  const length = input.u8();
  const start = input.skip(length);
  if (input.failed) return null;
  return length === 0 ? '' : decodeName(input.bytes, start, start + length);
}

function writeGenerations(generations: readonly number[], out: ByteWriter): void {
  out.u8(generations.length);
  writeNumbers(generations, out);
}

function readGenerations(input: ByteReader): number[] {
  const count = input.u8();
  const generations: number[] = [];
  for (let i = 0; i < count && !input.failed; i++) generations.push(input.u53());
  return generations;
}
