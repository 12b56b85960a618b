/**
 * What a member writes on its own disk, as bytes: a head, and in numbered places open claims, intervals that are taken, and which claims of a process
 * were withdrawn. No record grows with the number of claims. Each begins with a hash of the rest: a disk that gives back something else is noticed.
 */
import { decodeName, encodeName, hashName, type Incarnation } from '../../kernel/index.ts';
import type { DiskPhase } from './messages.ts';

type KeptPhase = Extract<DiskPhase, 'blank' | 'founding' | 'joining' | 'ready'>;

export interface DiskHead {
  readonly phase: KeptPhase;
  /** Records are in places from 1 to this. */
  readonly places: number;
  /** The generation of each member's disk, as far as is known here; 0 is none. */
  readonly generations: readonly number[];
  /** Which of this member's disks this is, once it was asked whether it is blank; 0 before. */
  readonly disk: number;
  /** The act that this disk is promised to, and the generation in which it would begin; in use, by which it began. */
  readonly founding: number;
  readonly start: number;
  /** In use: the disks of all members that began with it; none if it was copied. */
  readonly disks: readonly number[];
}

export type PlaceRecord =
  | {
      readonly kind: 'open';
      readonly space: string;
      readonly incarnation: Incarnation;
      readonly counter: number;
      readonly from: number;
      readonly to: number;
    }
  | { readonly kind: 'taken'; readonly space: string; readonly from: number; readonly to: number }
  /** Claims of this process up to `floor` are decided; above it, these were withdrawn. */
  | { readonly kind: 'claimant'; readonly incarnation: Incarnation; readonly floor: number; readonly withdrawn: readonly number[] };

const FORMAT = 1;
const HASH_BYTES = 4;
const PHASES: readonly KeptPhase[] = ['blank', 'founding', 'joining', 'ready'];
const OPEN = 1;
const TAKEN = 2;
const CLAIMANT = 3;

export function encodeDiskHead({ phase, places, disk, founding, start, generations, disks }: DiskHead): Uint8Array {
  return seal([FORMAT, PHASES.indexOf(phase), places, disk, founding, start, generations.length, ...generations, ...disks]);
}

/** Null if these are no such bytes. */
export function decodeDiskHead(bytes: Uint8Array): DiskHead | null {
  const found = unseal(bytes, bytes.length);
  if (found === null) return null;
  const [format, phaseIndex = -1, places = 0, disk = 0, founding = 0, start = 0, members = 0, ...rest] = found;
  const phase = PHASES[phaseIndex];
  if (format !== FORMAT || phase === undefined || rest.length < members) return null;
  return { phase, places, disk, founding, start, generations: rest.slice(0, members), disks: rest.slice(members) };
}

export function encodePlace(record: PlaceRecord): Uint8Array {
  switch (record.kind) {
    case 'open':
      return seal([OPEN, record.incarnation, record.counter, record.from, record.to], record.space);
    case 'taken':
      return seal([TAKEN, record.from, record.to], record.space);
    default:
      return seal([CLAIMANT, record.incarnation, record.floor, ...record.withdrawn]);
  }
}

const NUMBERS_OF_OPEN = 5;
const NUMBERS_OF_TAKEN = 3;

export function decodePlace(bytes: Uint8Array): PlaceRecord | null {
  if (bytes.length < HASH_BYTES + 8) return null;
  const kind = viewOf(bytes).getFloat64(HASH_BYTES, true);
  if (kind === CLAIMANT) {
    const [, incarnation, floor, ...withdrawn] = unseal(bytes, bytes.length) ?? [];
    if (incarnation === undefined || floor === undefined) return null;
    return { kind: 'claimant', incarnation: incarnation as Incarnation, floor, withdrawn };
  }
  const numbersEnd = HASH_BYTES + 8 * (kind === OPEN ? NUMBERS_OF_OPEN : NUMBERS_OF_TAKEN);
  const found = kind === OPEN || kind === TAKEN ? unseal(bytes, numbersEnd) : null;
  const space = found && decodeName(bytes, numbersEnd, bytes.length);
  if (found === null || space === null) return null;
  if (kind === TAKEN) {
    const [, from, to] = found as [number, number, number];
    return { kind: 'taken', space, from, to };
  }
  const [, incarnation, counter, from, to] = found as [number, number, number, number, number];
  return { kind: 'open', space, incarnation: incarnation as Incarnation, counter, from, to };
}

function seal(numbers: readonly number[], space?: string): Uint8Array {
  const name = space === undefined ? null : encodeName(space);
  const bytes = new Uint8Array(HASH_BYTES + 8 * numbers.length + (name?.length ?? 0));
  const view = viewOf(bytes);
  for (const [i, value] of numbers.entries()) view.setFloat64(HASH_BYTES + 8 * i, value, true);
  if (name) bytes.set(name, HASH_BYTES + 8 * numbers.length);
  view.setUint32(0, hashName(bytes, HASH_BYTES, bytes.length), true);
  return bytes;
}

/** The numbers up to `end`; null if the record is not whole, or something there is no number that is written. */
function unseal(bytes: Uint8Array, end: number): number[] | null {
  if (bytes.length < end || (end - HASH_BYTES) % 8 !== 0) return null;
  const view = viewOf(bytes);
  if (view.getUint32(0, true) !== hashName(bytes, HASH_BYTES, bytes.length)) return null;
  const numbers = Array.from({ length: (end - HASH_BYTES) / 8 }, (_, i) => view.getFloat64(HASH_BYTES + 8 * i, true));
  return numbers.every((value) => Number.isSafeInteger(value) && value >= 0) ? numbers : null;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
