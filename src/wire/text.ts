/** Short texts in messages: a byte of length, then UTF-8. Every text keeps to the rules for names. */
import { decodeName, encodeName } from '../kernel/index.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';

export function writeText(out: ByteWriter, text: string): void {
  const bytes = encodeName(text);
  out.u8(bytes.length);
  out.raw(bytes, 0, bytes.length);
}

export function readText(input: ByteReader): string | null {
  const length = input.u8();
  const start = input.skip(length);
  return input.failed ? null : decodeName(input.bytes, start, start + length);
}
