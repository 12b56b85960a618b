/**
 * Where things are in the directory of a store, and how keys become file names: readable where they are short,
 * the same on file systems that fold case or normalise Unicode, and never longer than a file name may be.
 *
 * ```text
 * tenure.store     which store this is and how it is kept; linked into place once
 * keys/            a directory for each key, or a file where the store is kept as plain registers
 * new/             files being written or taken away; anything in it may be deleted at any time
 * ```
 */
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { encodeName } from '../../kernel/index.ts';

const PLAIN = /^[a-z0-9._-]$/;
/** File systems take 255 bytes. */
const NAME_LENGTH_MAX = 240;
const HASHED = '~';
/** Names in `new` begin with when they were made, so that what the killed left behind can be told by its age. */
const STAMP_RADIX = 36;

export class Layout {
  readonly root: string;
  readonly identity: string;
  readonly keys: string;
  readonly fresh: string;

  constructor(root: string) {
    this.root = root;
    this.identity = join(root, 'tenure.store');
    this.keys = join(root, 'keys');
    this.fresh = join(root, 'new');
  }

  of(key: string): string {
    return join(this.keys, fileNameOf(key));
  }

  /** A path that no other process uses. */
  unique(): string {
    return join(this.fresh, `${Date.now().toString(STAMP_RADIX)}-${uniqueName()}`);
  }
}

export function uniqueName(): string {
  return randomBytes(9).toString('hex');
}

/** The wall clock of the process that made this name in `new`, in milliseconds; null if it is none. */
export function stampOf(name: string): number | null {
  const stamp = /^([0-9a-z]+)-[0-9a-f]+$/.exec(name)?.[1];
  return stamp === undefined ? null : Number.parseInt(stamp, STAMP_RADIX);
}

/** Every byte that is not a plain character is `%xx`; what gets too long is named by its hash. */
export function fileNameOf(key: string): string {
  let name = '';
  for (const byte of encodeName(key)) {
    const character = String.fromCharCode(byte);
    name += PLAIN.test(character) ? character : `%${byte.toString(16).padStart(2, '0')}`;
  }
  // A leading dot hides a file, and is how file servers name their own files.
  if (name.startsWith('.')) name = `%2e${name.slice(1)}`;
  return name.length <= NAME_LENGTH_MAX ? name : HASHED + createHash('sha256').update(key).digest('hex');
}

/** The key of a file name; null if only its content can tell, or if it is none of ours. */
export function keyOfFileName(fileName: string): string | null {
  if (isHashed(fileName) || !/^(?:[a-z0-9._-]|%[0-9a-f]{2})+$/.test(fileName)) return null;
  const key = Buffer.from(
    fileName.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
  return key.toString('utf8');
}

export function isHashed(fileName: string): boolean {
  return fileName.startsWith(HASHED);
}
