/**
 * The frame around everything Tenure keeps in a store: its kind, its format, and a checksum over all of it
 * and over its key. Bytes that are damaged, cut short, of another key or of a later version are refused by name.
 * A record that cannot be read is never taken for "nothing there": that would make a held lease free.
 */
import { createHash } from 'node:crypto';
import { TenureError } from '../kernel/index.ts';

/** What a record is about. These numbers never change. */
export const STORE_RECORD_KINDS = {
  identity: 1,
  parameters: 2,
  waited: 3,
  /** One version of one key, in a directory. */
  version: 5,
  /** One register, on a device. */
  sector: 6,
} as const;

export type StoreRecordKind = keyof typeof STORE_RECORD_KINDS;

/** `TNUR`, format, kind, length of the payload; then the payload, then the checksum. */
const MAGIC = 0x54_4e_55_52;
const FORMAT = 1;
const FORMAT_AT = 4;
const KIND_AT = 5;
const LENGTH_AT = 6;
const HEADER_BYTES = 10;
const SUM_BYTES = 8;

/** How many bytes a record has more than its payload. */
export const RECORD_FRAME_BYTES: number = HEADER_BYTES + SUM_BYTES;

export function sealStoreRecord(key: string, kind: StoreRecordKind, payload: Uint8Array): Buffer {
  const record = Buffer.allocUnsafe(HEADER_BYTES + payload.length + SUM_BYTES);
  record.writeUInt32BE(MAGIC, 0);
  record.writeUInt8(FORMAT, FORMAT_AT);
  record.writeUInt8(STORE_RECORD_KINDS[kind], KIND_AT);
  record.writeUInt32BE(payload.length, LENGTH_AT);
  record.set(payload, HEADER_BYTES);
  record.set(checksum(key, record.subarray(0, HEADER_BYTES + payload.length)), HEADER_BYTES + payload.length);
  return record;
}

/** The payload of a sealed record. Throws `TENURE_STORE_CORRUPT` or `TENURE_STORE_FORMAT`. */
export function openStoreRecord(key: string, kind: StoreRecordKind, bytes: Uint8Array): Buffer {
  const record = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (record.length < HEADER_BYTES || record.readUInt32BE(0) !== MAGIC) throw corrupt(key, 'it is no record of Tenure');
  const format = record.readUInt8(FORMAT_AT);
  if (format !== FORMAT) throw laterFormat(key, format, FORMAT);
  const end = HEADER_BYTES + record.readUInt32BE(LENGTH_AT);
  if (record.length !== end + SUM_BYTES) throw corrupt(key, `it has ${record.length} bytes and should have ${end + SUM_BYTES}`);
  if (!checksum(key, record.subarray(0, end)).equals(record.subarray(end))) {
    throw corrupt(key, 'its checksum is wrong: it was damaged, or belongs to another key');
  }
  const found = record.readUInt8(KIND_AT);
  if (found !== STORE_RECORD_KINDS[kind]) throw corrupt(key, `it is of kind ${found}, not ${STORE_RECORD_KINDS[kind]} (${kind})`);
  return record.subarray(HEADER_BYTES, end);
}

/** A record whose payload is JSON. */
export function sealJson(key: string, kind: StoreRecordKind, content: unknown): Buffer {
  return sealStoreRecord(key, kind, Buffer.from(JSON.stringify(content)));
}

export function openJson(key: string, kind: StoreRecordKind, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(openStoreRecord(key, kind, bytes).toString('utf8'));
  } catch (error) {
    throw error instanceof SyntaxError ? corrupt(key, 'its content is no JSON') : error;
  }
}

export function corrupt(key: string, why: string): TenureError {
  return new TenureError('TENURE_STORE_CORRUPT', `the record ${key} cannot be read: ${why}`, { key, why });
}

/** Whether a record is there that is damaged, or of a later version. */
export function isUnreadableRecord(error: unknown): boolean {
  return error instanceof TenureError && (error.code === 'TENURE_STORE_CORRUPT' || error.code === 'TENURE_STORE_FORMAT');
}

/** Also of content inside a record that has a format of its own. */
export function laterFormat(key: string, found: number, known: number): TenureError {
  return new TenureError(
    'TENURE_STORE_FORMAT',
    `the record ${key} has format ${found}, and this version of Tenure reads ${known}: upgrade it`,
    {
      key,
      format: found,
    },
  );
}

/** The key is part of the sum, so a record that lands under another key is noticed. */
function checksum(key: string, bytes: Uint8Array): Buffer {
  return createHash('sha256').update(key).update('\0').update(bytes).digest().subarray(0, SUM_BYTES);
}
