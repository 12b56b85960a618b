/**
 * Where the records of leases on storage are. Names are keys themselves, so that names can be listed; what goes with a
 * name has a key of Tenure's own. Every name has keys that every store takes, also the longest.
 */
import { encodeName, hashName, NAME_BYTES_MAX, RESERVED_NAME_PREFIX } from '../../../kernel/index.ts';

/** The one floor of a store: a command that erases records itself (`tenure store compact`) raises it, too. */
export const FLOOR_KEY: string = `${RESERVED_NAME_PREFIX}floor`;

const STATEMENTS = `${RESERVED_NAME_PREFIX}said/`;
const DATA = `${RESERVED_NAME_PREFIX}data/`;
/** With the name before it, a key would be too long. */
const HASHED_DATA = `${RESERVED_NAME_PREFIX}data-by-hash/`;
const HASHED_STATEMENTS = `${RESERVED_NAME_PREFIX}said-by-hash/`;
/** Four hashes of 32 bits. */
const HASH_SEEDS = [0x7e_4e_00_11, 0x7e_4e_00_12, 0x7e_4e_00_13, 0x7e_4e_00_14] as const;

/** Where the name itself is. */
export function nameKeyOf(name: string): string {
  return name;
}

/**
 * Where the statement of a name is. Names with the same hash would share it, and one would miss a release of the other's: a
 * statement is about a uid, and no two names have the same.
 */
export function statementKeyOf(name: string): string {
  return keyUnder(STATEMENTS, HASHED_STATEMENTS, name);
}

/** Where the data of a name is, on plain registers. Of two names with the same hash each finds the other's data damaged: the name is part of the checksum. */
export function dataKeyOf(name: string): string {
  return keyUnder(DATA, HASHED_DATA, name);
}

function keyUnder(prefix: string, hashedPrefix: string, name: string): string {
  const bytes = encodeName(name);
  if (prefix.length + bytes.length <= NAME_BYTES_MAX) return prefix + name;
  const hashes = HASH_SEEDS.map((seed) => hashName(bytes, 0, bytes.length, seed).toString(16).padStart(8, '0'));
  return hashedPrefix + hashes.join('');
}

/** The name whose record, or statement, is under a key; null if that cannot be told, or there is none. */
export function nameOfKey(key: string): string | null {
  if (key.startsWith(STATEMENTS)) return key.slice(STATEMENTS.length);
  return key.startsWith(RESERVED_NAME_PREFIX) ? null : key;
}
