/**
 * What a member writes on its own disk, as bytes: how it votes at all (head), how high it may have gone
 * (floor), and its votes. Each record begins with a hash of the rest: a disk that gives back something else
 * is noticed, not believed.
 */
import { decodeView, type View } from '../views.ts';
import { hashName, isValidNameBytes, type BallotTime, type Incarnation } from '../../../kernel/index.ts';

/** How a member has been keeping its state. */
export interface Head {
  /** The longest silence that a vote of this member may call for. */
  readonly silenceUs: number;
  /** Whether every vote is on the disk. */
  readonly keepsVotes: boolean;
  /** Since which life they are; votes of other lives are not counted. */
  readonly since: Incarnation;
  /** Votes are in places below this. */
  readonly places: number;
  /** It has ended its silence at least once: it may have voted. */
  readonly settled: boolean;
  /** The number of the life that did; 0 if lives had none then. */
  readonly life: number;
  /** The member's view, as bytes; empty while the cell is in the view that it was set up with. */
  readonly view: readonly number[];
}

export interface VoteRecord {
  readonly since: Incarnation;
  readonly owner: Incarnation;
  readonly lease: number;
  readonly ballot: BallotTime;
  readonly token: number;
  /** For how long the vote is honoured, on this member's clock. */
  readonly spanUs: number;
  /** 0 where it is exclusive. */
  readonly mode: number;
  readonly name: Uint8Array;
  readonly meta: Uint8Array;
}

/** Heads of format 1 have no number of a life, and only heads of format 3 have a view at their end. */
const FORMAT = 2;
const FORMAT_OF_VIEWS = 3;
const HASH_BYTES = 4;
const HEAD_NUMBERS = 7;
const HEAD_BYTES = HASH_BYTES + HEAD_NUMBERS * 8;
const FLOOR_BYTES = HASH_BYTES + 8;
const VOTE_NUMBERS = 6;
const VOTE_BYTES_MIN = HASH_BYTES + VOTE_NUMBERS * 8 + 1;

export function encodeHead({ silenceUs, keepsVotes, since, places, settled, life, view }: Head): Uint8Array {
  const bytes = new Uint8Array(HEAD_BYTES + view.length);
  bytes.set(view, HEAD_BYTES);
  const format = view.length > 0 ? FORMAT_OF_VIEWS : FORMAT;
  return seal(bytes, [format, silenceUs, Number(keepsVotes), since, places, Number(settled), life]);
}

/** Null if these are no such bytes. */
export function decodeHead(bytes: Uint8Array): Head | null {
  const isOld = bytes.length === HEAD_BYTES - 8;
  if ((bytes.length < HEAD_BYTES && !isOld) || !isWhole(bytes)) return null;
  const found = numbers(bytes, isOld ? HEAD_NUMBERS - 1 : HEAD_NUMBERS);
  const [format = 0, silenceUs = 0, keepsVotes, since, places = 0, settled, life = 0] = found;
  if (format !== (isOld ? 1 : bytes.length > HEAD_BYTES ? FORMAT_OF_VIEWS : FORMAT)) return null;
  const view = Array.from(bytes.slice(HEAD_BYTES));
  return { silenceUs, keepsVotes: keepsVotes === 1, since: since as Incarnation, places, settled: settled === 1, life, view };
}

/** Where a member keeps its head, and the view in it: the caller reads it before it starts the member, because the member's number may be of that view. */
export const HEAD_KEY = 'head';

export function viewInHead(bytes: Uint8Array): View | null {
  const head = decodeHead(bytes);
  return head === null || head.view.length === 0 ? null : decodeView(Uint8Array.from(head.view), 0, head.view.length);
}

export function encodeFloor(floor: BallotTime): Uint8Array {
  return sealed(FLOOR_BYTES, [floor]);
}

export function decodeFloor(bytes: Uint8Array): BallotTime | null {
  return bytes.length === FLOOR_BYTES && isWhole(bytes) ? (numbers(bytes, 1)[0] as BallotTime) : null;
}

/** A vote that is not exclusive has one more number, its mode, and says so by the sign of its lease's number: versions that know no modes cannot read it. */
export function encodeVote({ since, owner, lease, ballot, token, spanUs, mode, name, meta }: VoteRecord): Uint8Array {
  const at = VOTE_BYTES_MIN + (mode === 0 ? 0 : 8);
  const bytes = new Uint8Array(at + name.length + meta.length);
  bytes[at - 1] = name.length;
  bytes.set(name, at);
  bytes.set(meta, at + name.length);
  return seal(bytes, mode === 0 ? [since, owner, lease, ballot, token, spanUs] : [since, owner, -lease, ballot, token, spanUs, mode]);
}

export function decodeVote(bytes: Uint8Array): VoteRecord | null {
  if (bytes.length < VOTE_BYTES_MIN || !isWhole(bytes)) return null;
  const [since, owner, signed, ballot, token, spanUs] = numbers(bytes, VOTE_NUMBERS) as [number, number, number, number, number, number];
  const lease = Math.abs(signed);
  const nameStart = VOTE_BYTES_MIN + (signed < 0 ? 8 : 0);
  if (nameStart > bytes.length) return null;
  const nameEnd = nameStart + (bytes[nameStart - 1] as number);
  if (nameEnd > bytes.length || !isValidNameBytes(bytes, nameStart, nameEnd)) return null;
  const mode = signed < 0 ? (numbers(bytes, VOTE_NUMBERS + 1)[VOTE_NUMBERS] as number) : 0;
  return {
    since: since as Incarnation,
    owner: owner as Incarnation,
    lease,
    ballot: ballot as BallotTime,
    token,
    spanUs,
    mode,
    name: bytes.slice(nameStart, nameEnd),
    meta: bytes.slice(nameEnd),
  };
}

function sealed(length: number, values: readonly number[]): Uint8Array {
  return seal(new Uint8Array(length), values);
}

function seal(bytes: Uint8Array, values: readonly number[]): Uint8Array {
  const view = new DataView(bytes.buffer);
  for (const [i, value] of values.entries()) view.setFloat64(HASH_BYTES + 8 * i, value, true);
  view.setUint32(0, hashName(bytes, HASH_BYTES, bytes.length), true);
  return bytes;
}

function isWhole(bytes: Uint8Array): boolean {
  return viewOf(bytes).getUint32(0, true) === hashName(bytes, HASH_BYTES, bytes.length);
}

function numbers(bytes: Uint8Array, count: number): number[] {
  const view = viewOf(bytes);
  return Array.from({ length: count }, (_, i) => view.getFloat64(HASH_BYTES + 8 * i, true));
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
