/**
 * What a member keeps of consensus on its disk: a record for each instance that is open or was decided lately, and one record of itself. Each begins with a hash of the
 * rest: a disk that gives back something else is noticed, not believed. A disk without the member's record has forgotten, whatever the driver believes.
 */
import { hashName } from '../../kernel/index.ts';

export interface InstanceRecord {
  readonly instance: number;
  readonly round: number;
  readonly ts: number;
  readonly isDecided: boolean;
  readonly value: Uint8Array;
}

/** The disk has so many places for instances. Up to `bound` the member abstains: an earlier, unknown life may have voted there. */
export interface MemberRecord {
  readonly places: number;
  readonly bound: number;
}

/** Under which key the member's own record is. */
export const MEMBER_KEY = 'consensus/member';

const HASH_BYTES = 4;
const INSTANCE_NUMBERS = 4;
const MEMBER_NUMBERS = 2;

export function instanceBytes({ instance, round, ts, isDecided, value }: InstanceRecord): Uint8Array {
  return sealed([instance, round, ts, Number(isDecided)], value);
}

/** The value in the bytes of a record: no copy. */
export function instanceValue(record: Uint8Array): Uint8Array {
  return record.subarray(HASH_BYTES + 8 * INSTANCE_NUMBERS);
}

/** Null if these bytes are no such record. */
export function instanceRecord(bytes: Uint8Array): InstanceRecord | null {
  const opened = unsealed(bytes, INSTANCE_NUMBERS);
  if (opened === null) return null;
  const [instance, round, ts, isDecided] = opened as [number, number, number, number];
  return { instance, round, ts, isDecided: isDecided === 1, value: bytes.slice(HASH_BYTES + 8 * INSTANCE_NUMBERS) };
}

export function memberBytes({ places, bound }: MemberRecord): Uint8Array {
  return sealed([places, bound], new Uint8Array(0));
}

/** Null if these bytes are no such record. */
export function memberRecord(bytes: Uint8Array): MemberRecord | null {
  const opened = bytes.length === HASH_BYTES + 8 * MEMBER_NUMBERS ? unsealed(bytes, MEMBER_NUMBERS) : null;
  if (opened === null) return null;
  const [places, bound] = opened as [number, number];
  return { places, bound };
}

/** Numbers and bytes behind a hash of both. */
export function sealed(numbers: readonly number[], tail: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(HASH_BYTES + 8 * numbers.length + tail.length);
  const view = new DataView(bytes.buffer);
  for (const [i, number] of numbers.entries()) view.setFloat64(HASH_BYTES + 8 * i, number, true);
  bytes.set(tail, HASH_BYTES + 8 * numbers.length);
  view.setUint32(0, hashName(bytes, HASH_BYTES, bytes.length), true);
  return bytes;
}

/** So many numbers of a record, or null if the hash says that it is none. */
export function unsealed(bytes: Uint8Array, count: number): number[] | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < HASH_BYTES + 8 * count || view.getUint32(0, true) !== hashName(bytes, HASH_BYTES, bytes.length)) return null;
  return Array.from({ length: count }, (_, i) => view.getFloat64(HASH_BYTES + 8 * i, true));
}
