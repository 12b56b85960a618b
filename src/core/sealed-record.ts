/**
 * The frame around every record that a core keeps on shared storage: a mark, the format, the kind, the length, the content, and a
 * checksum over all of it and over its place. Bytes that are damaged, cut short, of another place or of a later format are refused
 * by name. They are never taken for "nothing there".
 */
import { encodeName, hashName } from '../kernel/index.ts';

/** Why bytes are no record: damaged, or written by a later version. */
export type Unreadable = 'corrupt' | 'format';

/** The mark, format, kind, length of the content; then the content, then the checksum. */
const FORMAT = 1;
const FORMAT_AT = 4;
const KIND_AT = 5;
const LENGTH_AT = 6;
const HEADER_BYTES = 10;
const SUM_BYTES = 8;
/** Two hashes of 32 bits make the checksum. */
const SUM_SEEDS = [0x7e_4e_00_01, 0x7e_4e_00_02] as const;

/** How many bytes a sealed record has more than its content. */
export const SEAL_BYTES: number = HEADER_BYTES + SUM_BYTES;

export interface SealedRecord {
  /** Four letters that tell whose records these are. */
  readonly magic: number;
  /** The name or key that the record belongs to: it is part of the checksum. */
  readonly place: string;
  readonly kind: number;
  readonly content: Uint8Array;
}

export interface OpenedRecord {
  readonly kind: number;
  readonly content: Uint8Array;
}

export function sealRecord({ magic, place, kind, content }: SealedRecord): Uint8Array {
  const end = HEADER_BYTES + content.length;
  const record = new Uint8Array(end + SUM_BYTES);
  const view = new DataView(record.buffer);
  view.setUint32(0, magic);
  view.setUint8(FORMAT_AT, FORMAT);
  view.setUint8(KIND_AT, kind);
  view.setUint32(LENGTH_AT, content.length);
  record.set(content, HEADER_BYTES);
  checksum(place, record, end).forEach((sum, i) => view.setUint32(end + 4 * i, sum));
  return record;
}

export function openRecord(magic: number, place: string, record: Uint8Array): OpenedRecord | Unreadable {
  const view = new DataView(record.buffer, record.byteOffset, record.byteLength);
  if (record.length < HEADER_BYTES || view.getUint32(0) !== magic) return 'corrupt';
  if (view.getUint8(FORMAT_AT) !== FORMAT) return 'format';
  const end = HEADER_BYTES + view.getUint32(LENGTH_AT);
  if (record.length !== end + SUM_BYTES) return 'corrupt';
  const isWhole = checksum(place, record, end).every((sum, i) => sum === view.getUint32(end + 4 * i));
  return isWhole ? { kind: view.getUint8(KIND_AT), content: record.subarray(HEADER_BYTES, end) } : 'corrupt';
}

/** Numbers are doubles: every one of them is a safe integer. */
export function packRecord(numbers: readonly number[], rest: Uint8Array | null): Uint8Array {
  const bytes = new Uint8Array(8 * numbers.length + (rest?.length ?? 0));
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < numbers.length; i++) view.setFloat64(8 * i, numbers[i] ?? 0);
  if (rest !== null) bytes.set(rest, 8 * numbers.length);
  return bytes;
}

/** So many numbers, none of them negative, and what follows them; null if the content has no such numbers. */
export function unpackRecord(content: Uint8Array, count: number): { readonly numbers: number[]; readonly rest: Uint8Array } | null {
  if (content.length < 8 * count) return null;
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  const numbers = Array.from({ length: count }, (_, i) => view.getFloat64(8 * i));
  if (!numbers.every((number) => Number.isSafeInteger(number) && number >= 0)) return null;
  return { numbers, rest: content.slice(8 * count) };
}

/** The place is part of the sum, and so is the kind: a record that lands under the key of another is noticed. */
function checksum(place: string, record: Uint8Array, end: number): number[] {
  const bytes = encodeName(place);
  return SUM_SEEDS.map((seed) => hashName(record, 0, end, hashName(bytes, 0, bytes.length, seed)));
}
