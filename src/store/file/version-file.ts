/**
 * The content of one version of one key: the value (or that it was erased), the key itself, a mark that no other try
 * has, and the marks of the versions before it. The marks tell a try that was overtaken whether it is part of the chain.
 */
import { randomBytes } from 'node:crypto';
import { corrupt, openStoreRecord, sealStoreRecord } from '../record.ts';
import { fileNameOf } from './layout.ts';

const MARK_BYTES = 8;
/** How many earlier versions are remembered. A try that learns of more that came after it does not know its own outcome. */
const MARKS_MAX = 100;

/** Flags, number, length of the key, count of the marks before its own. */
const HEAD_BYTES = 11;
const NUMBER_AT = 1;
const KEY_LENGTH_AT = 9;
const MARKS_AT = 10;
const FLAG_ERASED = 1;

/** Random bytes are made many at a time: each call takes as long as the rest of a mark. */
const random = { bytes: Buffer.alloc(0), at: 0 };
const RANDOM_BYTES = 256 * MARK_BYTES;

function newMark(): Buffer {
  if (random.at >= random.bytes.length) Object.assign(random, { bytes: randomBytes(RANDOM_BYTES), at: 0 });
  return random.bytes.subarray(random.at, (random.at += MARK_BYTES));
}

export interface FileVersion {
  readonly key: string;
  readonly number: number;
  /** Its own mark, then the marks of the versions before, the latest first: as bytes, since every change copies them. */
  readonly marks: Buffer;
  /** Null if this version says that the key was erased. */
  readonly value: Uint8Array | null;
}

/** The version after `last`, which is null for the first. */
export function nextVersion(key: string, last: FileVersion | null, value: Uint8Array | null): FileVersion {
  const before = last?.marks.subarray(0, MARKS_MAX * MARK_BYTES) ?? Buffer.alloc(0);
  return { key, number: (last?.number ?? 0) + 1, marks: Buffer.concat([newMark(), before]), value };
}

/** Whether `tried` came to be, judged by a later version; null if that one cannot tell any more. */
export function isPartOf(later: FileVersion, tried: FileVersion): boolean | null {
  const at = (later.number - tried.number) * MARK_BYTES;
  if (at >= later.marks.length) return null;
  return later.marks.subarray(at, at + MARK_BYTES).equals(tried.marks.subarray(0, MARK_BYTES));
}

/** Sealed under the file name, which a listing knows; the key is inside. */
export function encodeVersion(fileName: string, { key, number, marks, value }: FileVersion): Buffer {
  const name = Buffer.from(key);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(value === null ? FLAG_ERASED : 0, 0);
  head.writeBigUInt64BE(BigInt(number), NUMBER_AT);
  head.writeUInt8(name.length, KEY_LENGTH_AT);
  head.writeUInt8(marks.length / MARK_BYTES - 1, MARKS_AT);
  const payload = Buffer.concat([head, name, marks, value ?? new Uint8Array(0)]);
  return sealStoreRecord(fileName, 'version', payload);
}

/** Throws `TENURE_STORE_CORRUPT` or `TENURE_STORE_FORMAT`. */
export function decodeVersion(fileName: string, bytes: Uint8Array): FileVersion {
  const payload = openStoreRecord(fileName, 'version', bytes);
  if (payload.length < HEAD_BYTES) throw corrupt(fileName, 'it is too short');
  const keyEnd = HEAD_BYTES + payload.readUInt8(KEY_LENGTH_AT);
  const markCount = 1 + payload.readUInt8(MARKS_AT);
  const end = keyEnd + markCount * MARK_BYTES;
  if (payload.length < end) throw corrupt(fileName, 'its parts do not fit together');
  const key = payload.toString('utf8', HEAD_BYTES, keyEnd);
  if (fileNameOf(key) !== fileName) throw corrupt(fileName, `it is of the key ${key}`);
  const isErased = (payload.readUInt8(0) & FLAG_ERASED) !== 0;
  return {
    key,
    number: Number(payload.readBigUInt64BE(NUMBER_AT)),
    marks: Buffer.from(payload.subarray(keyEnd, end)),
    value: isErased ? null : Uint8Array.from(payload.subarray(end)),
  };
}
