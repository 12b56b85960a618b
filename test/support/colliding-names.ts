/** Names that one value of `hashName` has in common, as somebody makes them who wants a table to be slow: by running the function backwards. */
import { hashName } from '../../src/kernel/index.ts';

/** Where the function stands after two words, the same for all of them. */
const TARGET = 0x1234_5678;
const PRINTABLE = 95;

export function collidingNames(count: number): Uint8Array[] {
  const names: Uint8Array[] = [];
  const before = wordBefore(TARGET);
  for (let i = 0; names.length < count; i++) {
    const first = textWord(i);
    const second = unscramble(afterWord(scramble(first)) ^ before);
    const bytes = new Uint8Array(8);
    const view = new DataView(bytes.buffer);
    view.setInt32(0, first, true);
    view.setInt32(4, second, true);
    if (bytes.every((byte) => byte > 0x20 && byte < 0x7f)) names.push(bytes);
  }
  const hash = hashName(names[0] as Uint8Array, 0, 8);
  if (!names.every((name) => hashName(name, 0, 8) === hash)) throw new Error('these names do not collide');
  return names;
}

/** Four printable characters. */
function textWord(number: number): number {
  let word = 0;
  for (let i = 0, rest = number; i < 4; i++, rest = Math.floor(rest / PRINTABLE)) word |= (0x20 + (rest % PRINTABLE)) << (8 * i);
  return word;
}

function scramble(word: number): number {
  const mixed = Math.imul(word, 0xcc9e2d51);
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
}

function unscramble(scrambled: number): number {
  const mixed = Math.imul(scrambled, inverse(0x1b873593));
  return Math.imul((mixed << 17) | (mixed >>> 15), inverse(0xcc9e2d51));
}

function afterWord(state: number): number {
  return (Math.imul((state << 13) | (state >>> 19), 5) + 0xe6546b64) | 0;
}

/** What `afterWord` makes `state` of. */
function wordBefore(state: number): number {
  const rotated = Math.imul(state - 0xe6546b64, inverse(5));
  return (rotated << 19) | (rotated >>> 13);
}

/** Of an odd number, modulo 2^32, by Newton's steps. */
function inverse(odd: number): number {
  let guess = odd;
  for (let i = 0; i < 5; i++) guess = Math.imul(guess, 2 - Math.imul(odd, guess));
  return guess;
}
