/**
 * Where the parts of registers are on a unit. A unit that can swap has one record a register; a plain unit has one for each incarnation that wrote it,
 * and for each unanswered write of an incarnation. Every key fits into a name, also the key of the longest register: long names are hashed.
 */
import { encodeName, hashName, NAME_BYTES_MAX, RESERVED_NAME_PREFIX } from '../../../kernel/index.ts';

/** All registers of a unit. */
export const UNIT_REGISTERS: string = `${RESERVED_NAME_PREFIX}r/`;
/** Which unit this is, since when. */
export const MARK_KEY: string = `${RESERVED_NAME_PREFIX}replica/mark`;
/** That the unit of this mark has everything. */
export const WHOLE_KEY: string = `${RESERVED_NAME_PREFIX}replica/whole`;

/** What a register is for, and the letter that its place begins with: for a name that fits, and for a hashed name. */
const LETTERS = { value: { short: '=', long: '+' }, ranked: { short: '!', long: '*' }, decision: { short: '?', long: '%' } } as const;
export type RegisterKind = keyof typeof LETTERS;

const HASH_SEEDS = [0x7e_4e_00_21, 0x7e_4e_00_22, 0x7e_4e_00_23, 0x7e_4e_00_24] as const;
const LIFE_DIGITS = 11;
const SLOT_DIGITS = 6;
const SUFFIX_CHARACTERS = 1 + LIFE_DIGITS + SLOT_DIGITS;
const PLACE_BYTES_MAX = NAME_BYTES_MAX - UNIT_REGISTERS.length - SUFFIX_CHARACTERS;

/** A register as units know it. */
export interface RegisterPlace {
  readonly place: string;
  /** To be kept with the content; null where the place tells it. */
  readonly name: string | null;
}

export function placeOf(kind: RegisterKind, name: string): RegisterPlace {
  const bytes = encodeName(name);
  const { short, long } = LETTERS[kind];
  if (1 + bytes.length <= PLACE_BYTES_MAX) return { place: `${short}${name}`, name: null };
  const hashes = HASH_SEEDS.map((seed) => hashName(bytes, 0, bytes.length, seed).toString(16).padStart(8, '0'));
  return { place: `${long}${hashes.join('')}`, name };
}

/** The prefixes of places of values whose names begin so; besides, the prefix of hashed names. */
export function placesOf(prefix: string): { readonly short: string; readonly hashed: string } {
  const { short, long } = LETTERS.value;
  return { short: `${short}${prefix}`, hashed: long };
}

/** The name of a value's place; null if only its content tells. */
export function nameOfPlace(place: string): string | null {
  return place.startsWith(LETTERS.value.short) ? place.slice(1) : null;
}

/** The one record of a register, on a unit that can swap. */
export function recordKeyOf(place: string): string {
  return UNIT_REGISTERS + place;
}

/** What the keys of all blocks of a register begin with, on a plain unit; others may begin so, too. */
export function blocksOf(place: string): string {
  return `${UNIT_REGISTERS}${place}~`;
}

/** The block of one life of a writer. `slot` rises with each write that was not heard of. */
export function blockKeyOf(place: string, life: number, slot: number): string {
  return `${blocksOf(place)}${life.toString(36).padStart(LIFE_DIGITS, '0')}${slot.toString(36).padStart(SLOT_DIGITS, '0')}`;
}

/** Which register a key of a unit belongs to, and whose block it is; null if it is no key of a register. */
export function placeOfKey(key: string, isBlock: boolean): { readonly place: string; readonly life: number | null } | null {
  if (!key.startsWith(UNIT_REGISTERS)) return null;
  if (!isBlock) return { place: key.slice(UNIT_REGISTERS.length), life: null };
  const at = key.length - SUFFIX_CHARACTERS;
  if (at <= UNIT_REGISTERS.length || key[at] !== '~') return null;
  return { place: key.slice(UNIT_REGISTERS.length, at), life: Number.parseInt(key.slice(at + 1, at + 1 + LIFE_DIGITS), 36) };
}
