/**
 * The frame around every record of a lease on storage: a mark, the format, the kind, the length, the content, and a
 * checksum over all of it and over the name. Bytes that are damaged, cut short, of another name, of another kind or of a
 * later format are refused by name. They are never taken for "nothing there": that would make a held lease free.
 */
import { encodeName, hashName } from '../../../kernel/index.ts';

/** Numbers stay what they are for ever. */
export const LEASE_RECORD_KINDS = {
  /** x: the name in a plain register. */
  name: 1,
  /** y: what a writer states of its name. */
  statement: 2,
  /** ⊥ as the literal variant writes it. */
  nothing: 3,
  /** The one record of a store that can compare and set. */
  lease: 4,
  /** How high the tokens of erased records went. */
  floor: 5,
  /** What a holder has stored under its lease, on plain registers. */
  data: 6,
} as const;

export type LeaseRecordKind = keyof typeof LEASE_RECORD_KINDS;

/** Why bytes are no record: damaged, or written by a later version. */
export type Unreadable = 'corrupt' | 'format';

/** `TNLS`, format, kind, length of the content; then the content, then the checksum. */
const MAGIC = 0x54_4e_4c_53;
const FORMAT = 1;
const FORMAT_AT = 4;
const KIND_AT = 5;
const LENGTH_AT = 6;
const HEADER_BYTES = 10;
const SUM_BYTES = 8;
/** Two hashes of 32 bits make the checksum. */
const SUM_SEEDS = [0x7e_4e_00_01, 0x7e_4e_00_02] as const;

export function sealLeaseRecord(name: string, kind: LeaseRecordKind, content: Uint8Array): Uint8Array {
  const end = HEADER_BYTES + content.length;
  const record = new Uint8Array(end + SUM_BYTES);
  const view = new DataView(record.buffer);
  view.setUint32(0, MAGIC);
  view.setUint8(FORMAT_AT, FORMAT);
  view.setUint8(KIND_AT, LEASE_RECORD_KINDS[kind]);
  view.setUint32(LENGTH_AT, content.length);
  record.set(content, HEADER_BYTES);
  const sums = checksum(name, record, end);
  for (const [i, sum] of sums.entries()) view.setUint32(end + 4 * i, sum);
  return record;
}

export interface OpenedRecord {
  readonly kind: number;
  readonly content: Uint8Array;
}

export function openLeaseRecord(name: string, record: Uint8Array): OpenedRecord | Unreadable {
  const view = new DataView(record.buffer, record.byteOffset, record.byteLength);
  if (record.length < HEADER_BYTES || view.getUint32(0) !== MAGIC) return 'corrupt';
  if (view.getUint8(FORMAT_AT) !== FORMAT) return 'format';
  const end = HEADER_BYTES + view.getUint32(LENGTH_AT);
  if (record.length !== end + SUM_BYTES) return 'corrupt';
  const isWhole = checksum(name, record, end).every((sum, i) => sum === view.getUint32(end + 4 * i));
  return isWhole ? { kind: view.getUint8(KIND_AT), content: record.subarray(HEADER_BYTES, end) } : 'corrupt';
}

/** The name is part of the sum, and so is the kind: a record that lands under the key of another is noticed. */
function checksum(name: string, record: Uint8Array, end: number): number[] {
  const bytes = encodeName(name);
  return SUM_SEEDS.map((seed) => hashName(record, 0, end, hashName(bytes, 0, bytes.length, seed)));
}
