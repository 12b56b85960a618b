/** Names and metadata on the wire: their length, then their bytes. Names and metadata that are read point into the frame. */
import { isValidNameBytes } from '../kernel/index.ts';
import { META_BYTES_MAX, type NamedMessage } from '../core/index.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';

/** More members than a cell may have. */
const ROSTER_BYTES_MAX = 1024;

export function writeName({ name, nameStart, nameEnd }: NamedMessage, out: ByteWriter): void {
  out.u8(nameEnd - nameStart);
  out.raw(name, nameStart, nameEnd);
}

/** False if it is no name. A prefix may be empty, and end within a character. */
export function readName(message: NamedMessage, isPrefix: boolean, input: ByteReader): boolean {
  const length = input.u8();
  const start = input.skip(length);
  message.setName(input.bytes, start, start + length);
  return input.failed || isPrefix || isValidNameBytes(input.bytes, start, start + length);
}

export function writeMeta({ meta, metaStart, metaEnd }: NamedMessage, out: ByteWriter): void {
  out.u16(metaEnd - metaStart);
  out.raw(meta, metaStart, metaEnd);
}

/** Which life votes; with it, behind `flag`, what the voter knows of all lives. */
export function writeLife({ life, flags, roster, rosterStart, rosterEnd }: NamedMessage, flag: number, out: ByteWriter): void {
  out.u53(life);
  if ((flags & flag) === 0) return;
  out.u16(rosterEnd - rosterStart);
  out.raw(roster, rosterStart, rosterEnd);
}

/** False if it is too long. */
export function readLife(message: NamedMessage, flag: number, input: ByteReader): boolean {
  message.life = input.u53();
  const length = (message.flags & flag) === 0 ? 0 : input.u16();
  const start = input.skip(length);
  message.roster = input.bytes;
  message.rosterStart = start;
  message.rosterEnd = start + length;
  return length <= ROSTER_BYTES_MAX;
}

/** False if it is too long. */
export function readMeta(message: NamedMessage, input: ByteReader): boolean {
  const length = input.u16();
  const start = input.skip(length);
  message.meta = input.bytes;
  message.metaStart = start;
  message.metaEnd = start + length;
  return length <= META_BYTES_MAX;
}
