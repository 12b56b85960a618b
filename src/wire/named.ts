/** Names and metadata on the wire: their length, then their bytes. What is read points into the frame. */
import { isValidNameBytes } from '../kernel/index.ts';
import { META_BYTES_MAX, type NamedMessage } from '../core/index.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';

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

/** False if it is too long. */
export function readMeta(message: NamedMessage, input: ByteReader): boolean {
  const length = input.u16();
  const start = input.skip(length);
  message.meta = input.bytes;
  message.metaStart = start;
  message.metaEnd = start + length;
  return length <= META_BYTES_MAX;
}
