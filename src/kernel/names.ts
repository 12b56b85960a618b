/**
 * Resource names: 1 to 255 bytes of UTF-8 without control characters, the same resource exactly if
 * the bytes are the same (nothing is normalised or folded). Here is what turns a name into bytes and
 * back, and what tables need of a name's bytes: whether they are a name, their hash, their order.
 */
import { TenureError } from './errors.ts';

export const NAME_BYTES_MAX = 255;

/** Names that begin like this are Tenure's own. They travel and hash like any other; users may not ask for them. */
export const RESERVED_NAME_PREFIX = '_tenure/';

/** Throws `TENURE_BAD_NAME` unless a user may call a resource so. */
export function checkName(text: string): void {
  nameLength(text);
  if (text.startsWith(RESERVED_NAME_PREFIX)) {
    throw refusal(text, `names that begin with '${RESERVED_NAME_PREFIX}' are reserved; choose another beginning`);
  }
}

/** The bytes of a prefix of names: empty, or a possible name. Throws `TENURE_BAD_NAME` if no name begins so. */
export function encodePrefix(text: string): Uint8Array {
  return text === '' ? new Uint8Array(0) : encodeName(text);
}

/** The bytes of a name, reserved names included. Throws `TENURE_BAD_NAME` unless it is a name. */
export function encodeName(text: string): Uint8Array {
  const bytes = new Uint8Array(nameLength(text));
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    let point = text.charCodeAt(i);
    if (point < 0x80) {
      bytes[at++] = point;
      continue;
    }
    if (point < 0x800) {
      bytes[at++] = 0xc0 | (point >> 6);
    } else {
      if (isSurrogate(point)) {
        point = 0x10000 + ((point & 0x3ff) << 10) + (text.charCodeAt(++i) & 0x3ff);
        bytes[at++] = 0xf0 | (point >> 18);
        bytes[at++] = 0x80 | ((point >> 12) & 0x3f);
      } else {
        bytes[at++] = 0xe0 | (point >> 12);
      }
      bytes[at++] = 0x80 | ((point >> 6) & 0x3f);
    }
    bytes[at++] = 0x80 | (point & 0x3f);
  }
  return bytes;
}

/** The name in bytes `start` to `end`, or null if they are no name. */
export function decodeName(bytes: Uint8Array, start: number, end: number): string | null {
  if (!isValidNameBytes(bytes, start, end)) return null;
  const units: number[] = [];
  for (let i = start; i < end;) {
    const first = byteAt(bytes, i);
    if (first < 0x80) {
      units.push(first);
      i += 1;
    } else if (first < 0xe0) {
      units.push(((first & 0x1f) << 6) | (byteAt(bytes, i + 1) & 0x3f));
      i += 2;
    } else if (first < 0xf0) {
      units.push(((first & 0x0f) << 12) | ((byteAt(bytes, i + 1) & 0x3f) << 6) | (byteAt(bytes, i + 2) & 0x3f));
      i += 3;
    } else {
      const top = ((first & 0x07) << 18) | ((byteAt(bytes, i + 1) & 0x3f) << 12);
      const above = (top | ((byteAt(bytes, i + 2) & 0x3f) << 6) | (byteAt(bytes, i + 3) & 0x3f)) - 0x10000;
      units.push(0xd800 | (above >> 10), 0xdc00 | (above & 0x3ff));
      i += 4;
    }
  }
  return String.fromCharCode(...units);
}

/**
 * Whether bytes `start` to `end` are a name: its length, no control characters, and UTF-8 in its one
 * strict form. Two spellings of one character would be two resources that print alike. Allocates nothing.
 */
export function isValidNameBytes(bytes: Uint8Array, start: number, end: number): boolean {
  // Written so that NaN fails; start and end come from a peer's frame.
  if (!(start >= 0 && end > start && end <= bytes.length && end - start <= NAME_BYTES_MAX)) return false;
  let i = start;
  while (i < end) {
    const first = byteAt(bytes, i);
    if (first < 0x80) {
      if (first < 0x20 || first === 0x7f) return false;
      i += 1;
      continue;
    }
    // The second byte's range refuses overlong forms, surrogates, code points past U+10FFFF, and after C2 the C1 controls.
    let length = 2;
    let secondMin = 0x80;
    let secondMax = 0xbf;
    if (first < 0xc2) return false;
    else if (first < 0xe0) {
      if (first === 0xc2) secondMin = 0xa0;
    } else if (first < 0xf0) {
      length = 3;
      if (first === 0xe0) secondMin = 0xa0;
      else if (first === 0xed) secondMax = 0x9f;
    } else if (first < 0xf5) {
      length = 4;
      if (first === 0xf0) secondMin = 0x90;
      else if (first === 0xf4) secondMax = 0x8f;
    } else return false;
    if (end - i < length) return false;
    const second = byteAt(bytes, i + 1);
    if (second < secondMin || second > secondMax) return false;
    for (let j = i + 2; j < i + length; j++) if ((byteAt(bytes, j) & 0xc0) !== 0x80) return false;
    i += length;
  }
  return true;
}

/** From so many bytes on a view of words is worth its making. */
const LONG_BYTES = 256;

/**
 * MurmurHash3 (x86, 32 bits): the same on every machine, so members may place resources by it. It is no
 * defence against names chosen to collide; a table open to strangers gives it a secret seed. Allocates nothing.
 */
export function hashName(bytes: Uint8Array, start: number, end: number, seed = 0): number {
  let hash = seed | 0;
  let i = start;
  const last = end - 4;
  if (end - start >= LONG_BYTES) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (; i <= last; i += 4) hash = afterWord(hash, view.getInt32(i, true));
  } else {
    for (; i <= last; i += 4)
      hash = afterWord(hash, byteAt(bytes, i) | (byteAt(bytes, i + 1) << 8) | (byteAt(bytes, i + 2) << 16) | (byteAt(bytes, i + 3) << 24));
  }
  if (i < end) {
    let word = byteAt(bytes, i);
    if (i + 1 < end) word |= byteAt(bytes, i + 1) << 8;
    if (i + 2 < end) word |= byteAt(bytes, i + 2) << 16;
    hash ^= scramble(word);
  }
  hash ^= end - start;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function afterWord(hash: number, word: number): number {
  const next = hash ^ scramble(word);
  return (Math.imul((next << 13) | (next >>> 19), 5) + 0xe6546b64) | 0;
}

/** The same of text: by these hashes members are placed too. */
export function hashText(text: string): number {
  const bytes = encodeName(text);
  return hashName(bytes, 0, bytes.length);
}

export function equalBytes(a: Uint8Array, aStart: number, aEnd: number, b: Uint8Array, bStart: number, bEnd: number): boolean {
  if (aEnd - aStart !== bEnd - bStart) return false;
  for (let i = aStart, j = bStart; i < aEnd; i++, j++) if (a[i] !== b[j]) return false;
  return true;
}

/** Negative if a's bytes come first, positive if b's do, 0 if they are the same. A prefix comes before longer bytes that begin with it. */
export function compareBytes(a: Uint8Array, aStart: number, aEnd: number, b: Uint8Array, bStart: number, bEnd: number): number {
  for (let i = aStart, j = bStart; i < aEnd && j < bEnd; i++, j++) {
    const difference = byteAt(a, i) - byteAt(b, j);
    if (difference !== 0) return difference;
  }
  return aEnd - aStart - (bEnd - bStart);
}

/**
 * The order of two names' bytes, without encoding them. It is the order of code points; `<` on strings is
 * another one, because it puts surrogate pairs (U+10000 and up) before U+E000 to U+FFFF.
 */
export function compareNames(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const aUnit = a.charCodeAt(i);
    const bUnit = b.charCodeAt(i);
    if (aUnit === bUnit) continue;
    const aPaired = isSurrogate(aUnit);
    return aPaired === isSurrogate(bUnit) ? aUnit - bUnit : aPaired ? 1 : -1;
  }
  return a.length - b.length;
}

/** How many bytes the name takes. Throws unless it is a name. */
function nameLength(text: string): number {
  if (typeof text !== 'string') throw refusal(String(text), 'a name is text');
  let length = 0;
  // No more than the first bytes are looked at: a name of a gigabyte is refused as fast as one of 256 bytes.
  for (let i = 0; i < text.length && length <= NAME_BYTES_MAX; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x20 || (unit >= 0x7f && unit < 0xa0)) {
      const code = unit.toString(16).toUpperCase().padStart(4, '0');
      throw refusal(
        text,
        `it has the control character U+${code} at position ${i}; leave line ends, tabs and other control characters out`,
      );
    }
    if (unit < 0x80) length += 1;
    else if (unit < 0x800) length += 2;
    else if (!isSurrogate(unit)) length += 3;
    else {
      const next = i + 1 < text.length ? text.charCodeAt(i + 1) : 0;
      if (unit >= 0xdc00 || next < 0xdc00 || next > 0xdfff) {
        throw refusal(text, `it has half of a surrogate pair at position ${i}, which UTF-8 cannot write; was the text cut in the middle?`);
      }
      length += 4;
      i++;
    }
  }
  if (length === 0) throw refusal(text, 'it is empty; a name has at least one character');
  if (length > NAME_BYTES_MAX) throw refusal(text, `it is longer than ${NAME_BYTES_MAX} bytes of UTF-8; shorten it, or use a hash of it`);
  return length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xe000;
}

/** Inside a checked range; the type system cannot know. */
function byteAt(bytes: Uint8Array, index: number): number {
  return bytes[index] as number;
}

function scramble(word: number): number {
  const mixed = Math.imul(word, 0xcc9e2d51);
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
}

/** Quoted as JSON: a terminal or a log would swallow the characters at fault. */
function refusal(text: string, why: string): TenureError {
  const shown = JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
  return new TenureError('TENURE_BAD_NAME', `${shown} cannot name a resource: ${why}`, { name: shown, why });
}
