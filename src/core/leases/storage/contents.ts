/**
 * What records of leases on storage say. A uid is one write of one request of one start of one
 * process, and is never used twice: "unchanged" is "untouched".
 */
import { BALLOT_TIME_MAX, WALL_US_BELIEVED_MAX, type Incarnation, type WallUs } from '../../../kernel/index.ts';
import { FLOOR_KEY, statementKeyOf } from './keys.ts';
import { openLeaseRecord, LEASE_RECORD_KINDS, sealLeaseRecord, type LeaseRecordKind, type Unreadable } from './record.ts';

export interface Uid {
  readonly owner: Incarnation;
  readonly lease: number;
  readonly seq: number;
}

/** x of a plain register. */
export interface NameRecord extends Uid {
  readonly token: number;
  /** For show. Nobody waits by it: a void late write may have wiped the name of a longer lease (rule 21). */
  readonly termUs: number;
  readonly meta: Uint8Array | null;
}

/** y of a plain register: the writer of this uid has stopped. */
export interface Statement extends Uid {
  readonly said: 'released';
}

/** The record of a store that can compare and set. */
export interface LeaseRecord extends NameRecord {
  readonly isHeld: boolean;
  /** Its token is known to be above those of all records of this name that were ever erased. */
  readonly isGrounded: boolean;
}

/** What a read found: a record, nothing, or bytes that are none. */
export type Found<Record> = Record | null | Unreadable;

export function isUnreadable<Record extends object>(found: Found<Record>): found is Unreadable {
  return typeof found === 'string';
}

export function isSameUid(a: Uid | null, b: Uid | null): boolean {
  return a !== null && b !== null && a.owner === b.owner && a.lease === b.lease && a.seq === b.seq;
}

/** What a wall clock makes of a token. One that shows more than is believed must not write a token that nobody can read: the name would be lost. */
export function tokenAt({ wallUs }: { readonly wallUs: WallUs }): number {
  return Math.floor(Math.min(wallUs, WALL_US_BELIEVED_MAX));
}

// ── Bytes ────────────────────────────────────────────────────────────────────────────────────────────

const SAID_RELEASED = 1;
const HELD = 1;
const GROUNDED = 2;
/** The one mode there is; readers and writers have others. */
const EXCLUSIVE = 0;

export function encodeNameRecord(name: string, { owner, lease, seq, token, termUs, meta }: NameRecord): Uint8Array {
  return sealLeaseRecord(name, 'name', pack([owner, lease, seq, token, termUs, EXCLUSIVE], meta));
}

export function decodeNameRecord(name: string, bytes: Uint8Array | null): Found<NameRecord> {
  if (bytes === null) return null;
  const opened = openLeaseRecord(name, bytes);
  if (typeof opened === 'string') return opened;
  if (opened.kind === LEASE_RECORD_KINDS.nothing) return null;
  const content = contentOf(opened, 'name', 6);
  if (content === null) return 'corrupt';
  const { numbers, rest } = content;
  const [owner = 0, lease = 0, seq = 0, token = 0, termUs = 0, mode] = numbers;
  // A mode of a later version: the lease is held in a way this one does not know.
  if (mode !== EXCLUSIVE) return 'format';
  if (token > BALLOT_TIME_MAX) return 'corrupt';
  return { owner: owner as Incarnation, lease, seq, token, termUs, meta: rest };
}

/** ⊥, written over a name. */
export function encodeNothing(name: string): Uint8Array {
  return sealLeaseRecord(name, 'nothing', new Uint8Array(0));
}

export function encodeStatement(name: string, { owner, lease, seq }: Uid): Uint8Array {
  return sealLeaseRecord(statementKeyOf(name), 'statement', pack([owner, lease, seq, SAID_RELEASED], null));
}

export function decodeStatement(name: string, bytes: Uint8Array | null): Found<Statement> {
  if (bytes === null) return null;
  const opened = openLeaseRecord(statementKeyOf(name), bytes);
  if (typeof opened === 'string') return opened;
  const content = contentOf(opened, 'statement', 4);
  if (content === null) return 'corrupt';
  const [owner = 0, lease = 0, seq = 0, said] = content.numbers;
  if (said !== SAID_RELEASED) return 'format';
  return { owner: owner as Incarnation, lease, seq, said: 'released' };
}

export function encodeLeaseRecord(name: string, record: LeaseRecord): Uint8Array {
  const { owner, lease, seq, token, termUs, meta, isHeld, isGrounded } = record;
  const flags = (isHeld ? HELD : 0) | (isGrounded ? GROUNDED : 0);
  return sealLeaseRecord(name, 'lease', pack([owner, lease, seq, token, termUs, flags, EXCLUSIVE], meta));
}

export function decodeLeaseRecord(name: string, bytes: Uint8Array | null): Found<LeaseRecord> {
  if (bytes === null) return null;
  const opened = openLeaseRecord(name, bytes);
  if (typeof opened === 'string') return opened;
  const content = contentOf(opened, 'lease', 7);
  if (content === null) return 'corrupt';
  const [owner = 0, lease = 0, seq = 0, token = 0, termUs = 0, flags = 0, mode] = content.numbers;
  if (mode !== EXCLUSIVE || (flags & ~(HELD | GROUNDED)) !== 0) return 'format';
  if (token > BALLOT_TIME_MAX) return 'corrupt';
  const isHeld = (flags & HELD) !== 0;
  return { owner: owner as Incarnation, lease, seq, token, termUs, meta: content.rest, isHeld, isGrounded: (flags & GROUNDED) !== 0 };
}

export function encodeFloorRecord(floor: number): Uint8Array {
  return sealLeaseRecord(FLOOR_KEY, 'floor', pack([floor], null));
}

export function decodeFloorRecord(bytes: Uint8Array | null): number | Unreadable {
  if (bytes === null) return 0;
  const opened = openLeaseRecord(FLOOR_KEY, bytes);
  if (typeof opened === 'string') return opened;
  return contentOf(opened, 'floor', 1)?.numbers[0] ?? 'corrupt';
}

/** Numbers are doubles: every one of them is a safe integer. */
function pack(numbers: readonly number[], rest: Uint8Array | null): Uint8Array {
  const bytes = new Uint8Array(8 * numbers.length + (rest?.length ?? 0));
  const view = new DataView(bytes.buffer);
  for (const [i, number] of numbers.entries()) view.setFloat64(8 * i, number);
  if (rest !== null) bytes.set(rest, 8 * numbers.length);
  return bytes;
}

function contentOf(
  { kind, content }: { readonly kind: number; readonly content: Uint8Array },
  expected: LeaseRecordKind,
  count: number,
): { numbers: number[]; rest: Uint8Array | null } | null {
  if (kind !== LEASE_RECORD_KINDS[expected] || content.length < 8 * count) return null;
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  const numbers = Array.from({ length: count }, (_, i) => view.getFloat64(8 * i));
  if (!numbers.every((number) => Number.isSafeInteger(number) && number >= 0)) return null;
  return { numbers, rest: content.length === 8 * count ? null : content.slice(8 * count) };
}
