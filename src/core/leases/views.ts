/**
 * Views: which members a cell has, how many of them vote on a name, and which terms and clock rates they go by. A cell goes from one
 * view to the next while it runs, and every change of members passes a joint view, in which the quorums of both sides are needed
 * (docs/research/divergence/quorum.md#views). Here is what a view is and how it is encoded; other files decide which nodes move to it.
 */
import { encodeName, equalBytes, hashName, quorumOf, type BallotTime } from '../../kernel/index.ts';
import { META_BYTES_MAX } from './limits.ts';
import { MAX_TERM_US_MAX, RATE_ERROR_PPM_MAX } from './timing.ts';
import type { NamedMessage } from './named-message.ts';

/** A member keeps its number for as long as it is one. */
export interface ViewMember {
  readonly number: number;
  /** A stable 32-bit hash of its id, by which the voters of a name are chosen. */
  readonly key: number;
  /** Its name and address, as the operator of the cell writes them; the protocol does not look into it. */
  readonly text: string;
}

/** One side of a view. */
export interface ViewConfig {
  readonly members: readonly ViewMember[];
  /** How many members vote on a name. */
  readonly replication: number;
  readonly maxTermUs: number;
  readonly rateErrorPpm: number;
}

export interface View {
  /** Rises by one from view to view. 0 is the view that a cell is set up with. */
  readonly epoch: number;
  /** A ballot of the process that made it: two views of one epoch differ in it. */
  readonly id: number;
  readonly cur: ViewConfig;
  /** Of a joint view: what the cell comes from. Null once that is over. */
  readonly old: ViewConfig | null;
  /** Tokens were as high as this before it began. */
  readonly floor: BallotTime;
  /** There were other members before: services that count on the cell's first members are over. */
  readonly isMoved: boolean;
}

/** The holder of this lease makes the next view. All members vote on it. */
export const VIEW_NAME: Uint8Array = encodeName('_tenure/view');
export const VIEW_PLACEMENT: number = hashName(VIEW_NAME, 0, VIEW_NAME.length);

/** Members have numbers below this. */
export const MEMBER_NUMBERS = 64;

/** Above 0 if the first is higher, below 0 if the second is. */
export function compareViews(a: Pick<View, 'epoch' | 'id'>, b: Pick<View, 'epoch' | 'id'>): number {
  return a.epoch - b.epoch || a.id - b.id;
}

export function isViewName({ name, nameStart, nameEnd }: NamedMessage): boolean {
  return nameEnd - nameStart === VIEW_NAME.length && equalBytes(name, nameStart, nameEnd, VIEW_NAME, 0, VIEW_NAME.length);
}

export function configsOf({ cur, old }: View): readonly ViewConfig[] {
  return old === null ? [cur] : [cur, old];
}

/** The numbers of all members, in order. */
export function membersOf(view: View): readonly number[] {
  return [...new Set(configsOf(view).flatMap(({ members }) => members.map(({ number }) => number)))].sort((a, b) => a - b);
}

export function isIn({ members }: ViewConfig, member: number): boolean {
  return members.some(({ number }) => number === member);
}

/** Whether both have the same members. */
export function haveSameMembers(a: ViewConfig, b: ViewConfig): boolean {
  return a.members.length === b.members.length && a.members.every(({ number }) => isIn(b, number));
}

/** The longest term that is voted for: the silences of either side cover it. */
export function termUsMaxOf(view: View): number {
  return Math.min(...configsOf(view).map(({ maxTermUs }) => maxTermUs));
}

/** The longest term that may have been voted for before the view, or in it. */
export function longestTermUsOf(view: View): number {
  return Math.max(...configsOf(view).map(({ maxTermUs }) => maxTermUs));
}

export function rateErrorPpmOf(view: View): number {
  return Math.max(...configsOf(view).map(({ rateErrorPpm }) => rateErrorPpm));
}

/** Of the voters of one name. */
export function nameQuorumOf({ members, replication }: ViewConfig): number {
  return quorumOf(Math.min(replication, members.length));
}

// ── As bytes ─────────────────────────────────────────────────────────────────────────────────────────

const FORMAT = 1;
/** Of the first byte, beside the format. */
const JOINT = 128;
const MOVED = 64;
const IN_CUR = 1;
const IN_OLD = 2;
const HEAD_BYTES = 1 + 3 * 8 + 1;
const CONFIG_BYTES = 1 + 2 * 8;
const MEMBER_BYTES_MIN = 1 + 1 + 4 + 1;

/** Each member is written once, with the sides it is on. Null if that is more than fits the metadata of a lease. */
export function encodeView(view: View): Uint8Array | null {
  const { epoch, id, cur, old, floor, isMoved } = view;
  const texts = new Map(configsOf(view).flatMap(({ members }) => members.map((member) => [member.number, member] as const)));
  const members = membersOf(view).map((number) => texts.get(number) as ViewMember);
  const written = members.map(({ text }) => Uint8Array.from(text, (character) => character.charCodeAt(0)));
  const configs = configsOf(view);
  const length = HEAD_BYTES + configs.length * CONFIG_BYTES + written.reduce((sum, { length: text }) => sum + MEMBER_BYTES_MIN + text, 0);
  if (length > META_BYTES_MAX || written.some(({ length: text }) => text > 255)) return null;
  const bytes = new Uint8Array(length);
  const out = new DataView(bytes.buffer);
  out.setUint8(0, FORMAT + (old === null ? 0 : JOINT) + (isMoved ? MOVED : 0));
  [epoch, id, floor].forEach((number, i) => out.setFloat64(1 + 8 * i, number, true));
  let at = HEAD_BYTES - 1;
  for (const { replication, maxTermUs, rateErrorPpm } of configs) {
    out.setUint8(at, replication);
    out.setFloat64(at + 1, maxTermUs, true);
    out.setFloat64(at + 9, rateErrorPpm, true);
    at += CONFIG_BYTES;
  }
  out.setUint8(at++, members.length);
  for (const [i, { number, key }] of members.entries()) {
    const text = written[i] as Uint8Array;
    out.setUint8(at, number);
    out.setUint8(at + 1, (isIn(cur, number) ? IN_CUR : 0) | (old !== null && isIn(old, number) ? IN_OLD : 0));
    out.setUint32(at + 2, key, true);
    out.setUint8(at + 6, text.length);
    bytes.set(text, at + MEMBER_BYTES_MIN);
    at += MEMBER_BYTES_MIN + text.length;
  }
  return bytes;
}

/** Null if these are no view that a cell could be in. */
export function decodeView(bytes: Uint8Array, start: number, end: number): View | null {
  if (end - start < HEAD_BYTES + CONFIG_BYTES) return null;
  const input = new DataView(bytes.buffer, bytes.byteOffset + start, end - start);
  const first = input.getUint8(0);
  if ((first & (MOVED - 1)) !== FORMAT) return null;
  const sides = first >= JOINT ? 2 : 1;
  const [epoch, id, floor] = [0, 1, 2].map((i) => input.getFloat64(1 + 8 * i, true)) as [number, number, number];
  let at = HEAD_BYTES - 1;
  if (input.byteLength < at + sides * CONFIG_BYTES + 1) return null;
  const terms = Array.from({ length: sides }, (_, side) => {
    const from = at + side * CONFIG_BYTES;
    return {
      replication: input.getUint8(from),
      maxTermUs: input.getFloat64(from + 1, true),
      rateErrorPpm: input.getFloat64(from + 9, true),
    };
  });
  at += sides * CONFIG_BYTES;
  const members = readMembers(input, at);
  if (members === null) return null;
  const configs = terms.map((term, side): ViewConfig => ({
    ...term,
    members: members.filter(({ sides: on }) => (on & (side === 0 ? IN_CUR : IN_OLD)) !== 0).map(({ member }) => member),
  }));
  const [cur, old = null] = configs as [ViewConfig, ViewConfig?];
  const isSound = [epoch, id, floor].every((number) => Number.isSafeInteger(number) && number >= 0) && configs.every(isConfig);
  return isSound ? { epoch, id, cur, old, floor: floor as BallotTime, isMoved: (first & MOVED) !== 0 } : null;
}

function readMembers(input: DataView, start: number): { member: ViewMember; sides: number }[] | null {
  const found: { member: ViewMember; sides: number }[] = [];
  let at = start + 1;
  for (let left = input.getUint8(start); left > 0; left--) {
    if (at + MEMBER_BYTES_MIN > input.byteLength) return null;
    const [number, sides, key, length] = [
      input.getUint8(at),
      input.getUint8(at + 1),
      input.getUint32(at + 2, true),
      input.getUint8(at + 6),
    ];
    at += MEMBER_BYTES_MIN;
    if (at + length > input.byteLength || number >= MEMBER_NUMBERS) return null;
    if (number <= (found.at(-1)?.member.number ?? -1)) return null;
    const text = String.fromCharCode(...new Uint8Array(input.buffer, input.byteOffset + at, length));
    found.push({ member: { number, key, text }, sides });
    at += length;
  }
  return found;
}

function isConfig({ members, replication, maxTermUs, rateErrorPpm }: ViewConfig): boolean {
  if (replication < 1 || replication > members.length) return false;
  return maxTermUs >= 1000 && maxTermUs <= MAX_TERM_US_MAX && rateErrorPpm >= 0 && rateErrorPpm <= RATE_ERROR_PPM_MAX;
}
