/**
 * What records of leases on storage say. A uid is one write of one request of one start of one
 * process, and is never used twice: "unchanged" is "untouched".
 */
import { BALLOT_TIME_MAX, WALL_US_BELIEVED_MAX, type Incarnation, type LeaseMode, type WallUs } from '../../../kernel/index.ts';
import { FLOOR_KEY, statementKeyOf } from './keys.ts';
import { packRecord, type OpenedRecord, type Unreadable } from '../../sealed-record.ts';
import { openLeaseRecord, LEASE_RECORD_KINDS, sealLeaseRecord, type LeaseRecordKind } from './record.ts';

export interface Uid {
  readonly owner: Incarnation;
  readonly lease: number;
  readonly seq: number;
}

/** x of a plain register. */
export interface NameRecord extends Uid {
  readonly token: number;
  /** For show. No claim waits by it: a void late write may have wiped the name of a longer lease (rule 21). */
  readonly termUs: number;
  readonly meta: Uint8Array | null;
  /** Exclusive where it is absent. */
  readonly mode?: LeaseMode;
}

/** y of a plain register, about the writer of this uid: it has stopped; or it is a reader that holds, and others may join it. */
export interface Statement extends Uid {
  readonly said: 'released' | 'shared';
}

/** A reader, in the record of a store that can compare and set. Its uid changes with each renewal. */
export interface ReaderRow extends Uid {
  readonly token: number;
  readonly termUs: number;
}

/** What a holder has stored under its lease (S9), and the token of that holder. */
export interface SyncedData extends Uid {
  readonly token: number;
  readonly bytes: Uint8Array;
}

/** The record of a store that can compare and set. Where readers hold it, uid and term are the last reader's; the token is the highest of all. */
export interface LeaseRecord extends NameRecord {
  readonly isHeld: boolean;
  /** Its token is known to be above the tokens of all records of this name that were ever erased. */
  readonly isGrounded: boolean;
  /** All that hold it, where they are readers. */
  readonly readers?: readonly ReaderRow[];
  /** A writer waits: no reader joins as long as this is fresh. */
  readonly wanted?: ReaderRow;
  readonly data?: SyncedData;
}

/** What a read found: a record, nothing, or bytes that are none. */
export type Found<Record> = Record | null | Unreadable;

export function isUnreadable<Record extends object>(found: Found<Record>): found is Unreadable {
  return typeof found === 'string';
}

export function isSameUid(a: Uid | null, b: Uid | null): boolean {
  return a !== null && b !== null && a.owner === b.owner && a.lease === b.lease && a.seq === b.seq;
}

/** The token for a wall-clock time. A clock beyond belief must not write a token that no process can read: the name would be lost. */
export function tokenAt({ wallUs }: { readonly wallUs: WallUs }): number {
  return Math.floor(Math.min(wallUs, WALL_US_BELIEVED_MAX));
}

// ── Bytes ────────────────────────────────────────────────────────────────────────────────────────────

const SAID = { released: 1, shared: 2 } as const;
const HELD = 1;
const GROUNDED = 2;
const MODES = { exclusive: 0, shared: 1 } as const;
/** What a lease record has beyond a single holder's record; 0 for nothing. */
const HAS_READERS = 1;
const HAS_WANTED = 2;
const HAS_DATA = 4;
const ROW_NUMBERS = 5;

export function encodeNameRecord(name: string, { owner, lease, seq, token, termUs, meta, mode = 'exclusive' }: NameRecord): Uint8Array {
  return sealLeaseRecord(name, 'name', packRecord([owner, lease, seq, token, termUs, MODES[mode]], meta));
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
  if (mode !== MODES.exclusive && mode !== MODES.shared) return 'format';
  if (token > BALLOT_TIME_MAX) return 'corrupt';
  const record = { owner: owner as Incarnation, lease, seq, token, termUs, meta: rest };
  return mode === MODES.shared ? { ...record, mode: 'shared' } : record;
}

/** ⊥, written over a name. */
export function encodeNothing(name: string): Uint8Array {
  return sealLeaseRecord(name, 'nothing', new Uint8Array(0));
}

export function encodeStatement(name: string, { owner, lease, seq }: Uid, said: Statement['said'] = 'released'): Uint8Array {
  return sealLeaseRecord(statementKeyOf(name), 'statement', packRecord([owner, lease, seq, SAID[said]], null));
}

export function decodeStatement(name: string, bytes: Uint8Array | null): Found<Statement> {
  if (bytes === null) return null;
  const opened = openLeaseRecord(statementKeyOf(name), bytes);
  if (typeof opened === 'string') return opened;
  const content = contentOf(opened, 'statement', 4);
  if (content === null) return 'corrupt';
  const [owner = 0, lease = 0, seq = 0, said] = content.numbers;
  if (said !== SAID.released && said !== SAID.shared) return 'format';
  return { owner: owner as Incarnation, lease, seq, said: said === SAID.shared ? 'shared' : 'released' };
}

export function encodeLeaseRecord(name: string, record: LeaseRecord): Uint8Array {
  const { owner, lease, seq, token, termUs, meta, isHeld, isGrounded, readers, wanted, data } = record;
  const flags = (isHeld ? HELD : 0) | (isGrounded ? GROUNDED : 0);
  const more = (readers ? HAS_READERS : 0) | (wanted ? HAS_WANTED : 0) | (data ? HAS_DATA : 0);
  const head = [owner, lease, seq, token, termUs, flags, more];
  if (more === 0) return sealLeaseRecord(name, 'lease', packRecord(head, meta));
  const counts = [readers?.length ?? 0, meta?.length ?? 0];
  const rows = [...(readers ?? []), ...(wanted ? [wanted] : [])].flatMap((row) => [row.owner, row.lease, row.seq, row.token, row.termUs]);
  const kept = data ? [data.owner, data.lease, data.seq, data.token] : [];
  return sealLeaseRecord(name, 'lease', packRecord([...head, ...counts, ...rows, ...kept], joined(meta, data?.bytes ?? null)));
}

export function decodeLeaseRecord(name: string, bytes: Uint8Array | null): Found<LeaseRecord> {
  if (bytes === null) return null;
  const opened = openLeaseRecord(name, bytes);
  if (typeof opened === 'string') return opened;
  const content = contentOf(opened, 'lease', 7);
  if (content === null) return 'corrupt';
  const [owner = 0, lease = 0, seq = 0, token = 0, termUs = 0, flags = 0, more = 0] = content.numbers;
  if ((more & ~(HAS_READERS | HAS_WANTED | HAS_DATA)) !== 0 || (flags & ~(HELD | GROUNDED)) !== 0) return 'format';
  if (token > BALLOT_TIME_MAX) return 'corrupt';
  const isHeld = (flags & HELD) !== 0;
  const head = { owner: owner as Incarnation, lease, seq, token, termUs, isHeld, isGrounded: (flags & GROUNDED) !== 0 };
  if (more === 0) return { ...head, meta: content.rest };
  const rest = moreOf(opened, more);
  return rest === null ? 'corrupt' : { ...head, ...rest };
}

/** The fields after the numbers of one holder. */
function moreOf(opened: OpenedRecord, more: number): Pick<LeaseRecord, 'meta' | 'mode' | 'readers' | 'wanted' | 'data'> | null {
  const counts = contentOf(opened, 'lease', 9)?.numbers.slice(7);
  if (counts === undefined) return null;
  const [readerCount = 0, metaBytes = 0] = counts;
  const rowCount = readerCount + ((more & HAS_WANTED) === 0 ? 0 : 1);
  const keptCount = (more & HAS_DATA) === 0 ? 0 : 4;
  const content = contentOf(opened, 'lease', 9 + ROW_NUMBERS * rowCount + keptCount);
  const tail = content?.rest ?? new Uint8Array(0);
  if (content === null || tail.length < metaBytes || (keptCount === 0 && tail.length > metaBytes)) return null;
  const rows = Array.from({ length: rowCount }, (_, row): ReaderRow => {
    const [owner = 0, lease = 0, seq = 0, token = 0, termUs = 0] = content.numbers.slice(
      9 + ROW_NUMBERS * row,
      9 + ROW_NUMBERS * (row + 1),
    );
    return { owner: owner as Incarnation, lease, seq, token, termUs };
  });
  const [owner = 0, lease = 0, seq = 0, token = 0] = content.numbers.slice(9 + ROW_NUMBERS * rowCount);
  const wanted = rows[readerCount];
  return {
    meta: metaBytes === 0 ? null : tail.slice(0, metaBytes),
    ...((more & HAS_READERS) === 0 ? {} : { mode: 'shared', readers: rows.slice(0, readerCount) }),
    ...(wanted === undefined ? {} : { wanted }),
    ...(keptCount === 0 ? {} : { data: { owner: owner as Incarnation, lease, seq, token, bytes: tail.slice(metaBytes) } }),
  };
}

export function encodeDataRecord(name: string, { owner, lease, seq, token, bytes }: SyncedData): Uint8Array {
  return sealLeaseRecord(name, 'data', packRecord([owner, lease, seq, token], bytes));
}

export function decodeDataRecord(name: string, bytes: Uint8Array | null): Found<SyncedData> {
  if (bytes === null) return null;
  const opened = openLeaseRecord(name, bytes);
  if (typeof opened === 'string') return opened;
  const content = contentOf(opened, 'data', 4);
  if (content === null) return 'corrupt';
  const [owner = 0, lease = 0, seq = 0, token = 0] = content.numbers;
  return { owner: owner as Incarnation, lease, seq, token, bytes: content.rest ?? new Uint8Array(0) };
}

export function encodeFloorRecord(floor: number): Uint8Array {
  return sealLeaseRecord(FLOOR_KEY, 'floor', packRecord([floor], null));
}

export function decodeFloorRecord(bytes: Uint8Array | null): number | Unreadable {
  if (bytes === null) return 0;
  const opened = openLeaseRecord(FLOOR_KEY, bytes);
  if (typeof opened === 'string') return opened;
  return contentOf(opened, 'floor', 1)?.numbers[0] ?? 'corrupt';
}

function joined(first: Uint8Array | null, second: Uint8Array | null): Uint8Array {
  const all = new Uint8Array((first?.length ?? 0) + (second?.length ?? 0));
  if (first !== null) all.set(first);
  if (second !== null) all.set(second, first?.length ?? 0);
  return all;
}

function contentOf(
  { kind, content }: OpenedRecord,
  expected: LeaseRecordKind,
  count: number,
): { numbers: number[]; rest: Uint8Array | null } | null {
  if (kind !== LEASE_RECORD_KINDS[expected] || content.length < 8 * count) return null;
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  const numbers = Array.from({ length: count }, (_, i) => view.getFloat64(8 * i));
  if (!numbers.every((number) => Number.isSafeInteger(number) && number >= 0)) return null;
  return { numbers, rest: content.length === 8 * count ? null : content.slice(8 * count) };
}
