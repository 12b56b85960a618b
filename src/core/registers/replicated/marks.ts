/**
 * The identity of a unit, as two records. The mark is written first and names the unit anew: an identity that was never used before, the epoch of the unit,
 * and all units that it belongs to. The second record says that the unit of this mark has everything. Wiping a unit takes the mark with it: the second
 * record alone, landing late, names nothing. So no unit counts that lost its content.
 */
import { equalBytes } from '../../../kernel/index.ts';
import { openRecord, packRecord, sealRecord, unpackRecord } from '../../sealed-record.ts';
import { REGISTER_MAGIC } from './contents.ts';
import { MARK_KEY, WHOLE_KEY } from './keys.ts';

export interface UnitMark {
  /** Drawn anew each time. */
  readonly identity: number;
  /** Which of the units this is, from 0. */
  readonly slot: number;
  /** The epoch in which the unit was named. In another one it may have lost writes. */
  readonly epoch: Uint8Array;
  /** All units, as the operator that set them up described them. */
  readonly members: Uint8Array;
}

const MARK = 3;
const WHOLE = 4;

export function encodeMark({ identity, slot, epoch, members }: UnitMark): Uint8Array {
  const rest = new Uint8Array(epoch.length + members.length);
  rest.set(epoch);
  rest.set(members, epoch.length);
  return sealRecord({ magic: REGISTER_MAGIC, place: MARK_KEY, kind: MARK, content: packRecord([identity, slot, epoch.length], rest) });
}

/** Null if it cannot be read. */
export function decodeMark(bytes: Uint8Array): UnitMark | null {
  const opened = openRecord(REGISTER_MAGIC, MARK_KEY, bytes);
  const unpacked = typeof opened === 'string' || opened.kind !== MARK ? null : unpackRecord(opened.content, 3);
  if (unpacked === null) return null;
  const [identity = 0, slot = 0, epochBytes = 0] = unpacked.numbers;
  if (epochBytes > unpacked.rest.length) return null;
  return { identity, slot, epoch: unpacked.rest.slice(0, epochBytes), members: unpacked.rest.slice(epochBytes) };
}

export function encodeWhole(identity: number): Uint8Array {
  return sealRecord({ magic: REGISTER_MAGIC, place: WHOLE_KEY, kind: WHOLE, content: packRecord([identity], null) });
}

/** The identity that is whole; null if the bytes say nothing. */
export function decodeWhole(bytes: Uint8Array): number | null {
  const opened = openRecord(REGISTER_MAGIC, WHOLE_KEY, bytes);
  if (typeof opened === 'string' || opened.kind !== WHOLE) return null;
  return unpackRecord(opened.content, 1)?.numbers[0] ?? null;
}

export function isSameText(a: Uint8Array, b: Uint8Array): boolean {
  return equalBytes(a, 0, a.length, b, 0, b.length);
}
