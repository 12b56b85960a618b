/**
 * What a unit holds of one register, and how two such contents become one. A content only ever grows: of a replicated register the higher stamp stays, of a
 * ranked register the higher promise and the value of the higher rank. So a unit never goes back, whatever order writes land in.
 */
import { decodeName, encodeName, type Incarnation } from '../../../kernel/index.ts';
import { openRecord, packRecord, SEAL_BYTES, sealRecord, unpackRecord } from '../../sealed-record.ts';

/** T of a write, and the rank of a ranked register: ordered by count, then by whose it is, then by which of its operations. None is used twice. */
export interface Stamp {
  readonly count: number;
  readonly incarnation: Incarnation;
  readonly op: number;
}

/** The last write to a replicated register. The value null is "erased". */
export interface StampedContent {
  readonly kind: 'stamped';
  readonly stamp: Stamp;
  readonly value: Uint8Array | null;
  /** The name of the register, where its key does not tell. */
  readonly name: string | null;
}

/** A ranked register: up to which rank writes are refused, and the value of the highest rank that was written. */
export interface RankedContent {
  readonly kind: 'ranked';
  readonly promised: Stamp;
  /** Null if nothing was written. */
  readonly rank: Stamp | null;
  readonly value: Uint8Array | null;
  readonly name: string | null;
}

export type RegisterContent = StampedContent | RankedContent;

/** Below all stamps of writers. */
export const NO_STAMP: Stamp = { count: 0, incarnation: 0 as Incarnation, op: 0 };

export function compareStamps(a: Stamp, b: Stamp): number {
  return a.count - b.count || a.incarnation - b.incarnation || a.op - b.op;
}

/** Whether everything that `other` says is in `content`. */
export function covers(content: RegisterContent | null, other: RegisterContent): boolean {
  if (content === null || content.kind !== other.kind) return false;
  if (content.kind === 'stamped') return compareStamps(content.stamp, (other as StampedContent).stamp) >= 0;
  const { promised, rank } = other as RankedContent;
  if (compareStamps(content.promised, promised) < 0) return false;
  return rank === null || (content.rank !== null && compareStamps(content.rank, rank) >= 0);
}

/** Merges two contents of the same register. */
export function merged(a: RegisterContent | null, b: RegisterContent): RegisterContent {
  if (a === null || covers(b, a)) return b;
  if (a.kind !== b.kind || covers(a, b)) return a;
  if (a.kind === 'stamped' || b.kind === 'stamped') return a;
  const written = b.rank !== null && (a.rank === null || compareStamps(b.rank, a.rank) > 0) ? b : a;
  return { ...written, promised: compareStamps(a.promised, b.promised) > 0 ? a.promised : b.promised };
}

// ── Bytes ────────────────────────────────────────────────────────────────────────────────────────────

/** `TNRG`. */
export const REGISTER_MAGIC = 0x54_4e_52_47;
const STAMPED = 1;
const RANKED = 2;
const STAMPED_NUMBERS = 5;
const RANKED_NUMBERS = 8;
const NAME_BYTES_MAX = 255;

/** How many bytes a record of a unit has more than the value in it. */
export const CONTENT_FRAME_BYTES: number = SEAL_BYTES + 8 * RANKED_NUMBERS + NAME_BYTES_MAX;

export function encodeContent(place: string, content: RegisterContent): Uint8Array {
  const name = content.name === null ? new Uint8Array(0) : encodeName(content.name);
  const rest = new Uint8Array(name.length + (content.value?.length ?? 0));
  rest.set(name);
  if (content.value !== null) rest.set(content.value, name.length);
  const hasValue = content.value === null ? 0 : 1;
  if (content.kind === 'stamped') {
    const { count, incarnation, op } = content.stamp;
    const packed = packRecord([count, incarnation, op, hasValue, name.length], rest);
    return sealRecord({ magic: REGISTER_MAGIC, place, kind: STAMPED, content: packed });
  }
  const { promised, rank } = content;
  const of = ({ count, incarnation, op }: Stamp): number[] => [count, incarnation, op];
  const packed = packRecord([...of(promised), ...of(rank ?? NO_STAMP), hasValue, name.length], rest);
  return sealRecord({ magic: REGISTER_MAGIC, place, kind: RANKED, content: packed });
}

/** Null if the bytes are no content of this register: damaged, of another, or of a later version. */
export function decodeContent(place: string, bytes: Uint8Array): RegisterContent | null {
  const opened = openRecord(REGISTER_MAGIC, place, bytes);
  if (typeof opened === 'string') return null;
  const isStamped = opened.kind === STAMPED;
  if (!isStamped && opened.kind !== RANKED) return null;
  const unpacked = unpackRecord(opened.content, isStamped ? STAMPED_NUMBERS : RANKED_NUMBERS);
  if (unpacked === null) return null;
  const { numbers, rest } = unpacked;
  const [hasValue = 0, nameBytes = 0] = numbers.slice(-2);
  if (nameBytes > rest.length) return null;
  const name = nameBytes === 0 ? null : decodeName(rest, 0, nameBytes);
  const value = hasValue === 0 ? null : rest.slice(nameBytes);
  const stampAt = (at: number): Stamp => ({
    count: numbers[at] ?? 0,
    incarnation: (numbers[at + 1] ?? 0) as Incarnation,
    op: numbers[at + 2] ?? 0,
  });
  if (isStamped) return { kind: 'stamped', stamp: stampAt(0), value, name };
  const rank = stampAt(3);
  return { kind: 'ranked', promised: stampAt(0), rank: rank.count === 0 ? null : rank, value, name };
}

/** Whether the bytes were written by a later version, which can read them. */
export function isLaterContent(place: string, bytes: Uint8Array): boolean {
  return openRecord(REGISTER_MAGIC, place, bytes) === 'format';
}
