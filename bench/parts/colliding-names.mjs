/** Names that one value of `hashName` has in common, as somebody makes them who wants a table to be slow: by running the function backwards. */

/** Where the function stands after two words, the same for all of them. */
const TARGET = 0x1234_5678;
const PRINTABLE = 95;

/**
 * Eight printable characters each.
 * @param {number} count
 */
export function collidingNames(count) {
  /** @type {Uint8Array[]} */
  const names = [];
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
  return names;
}

/** Four printable characters. @param {number} number */
function textWord(number) {
  let word = 0;
  for (let i = 0, rest = number; i < 4; i++, rest = Math.floor(rest / PRINTABLE)) word |= (0x20 + (rest % PRINTABLE)) << (8 * i);
  return word;
}

/** @param {number} word */
function scramble(word) {
  const mixed = Math.imul(word, 0xcc9e2d51);
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
}

/** @param {number} scrambled */
function unscramble(scrambled) {
  const mixed = Math.imul(scrambled, inverse(0x1b873593));
  return Math.imul((mixed << 17) | (mixed >>> 15), inverse(0xcc9e2d51));
}

/** @param {number} state */
function afterWord(state) {
  return (Math.imul((state << 13) | (state >>> 19), 5) + 0xe6546b64) | 0;
}

/** What `afterWord` makes `state` of. @param {number} state */
function wordBefore(state) {
  const rotated = Math.imul(state - 0xe6546b64, inverse(5));
  return (rotated << 19) | (rotated >>> 13);
}

/** Of an odd number, modulo 2^32, by Newton's steps. @param {number} odd */
function inverse(odd) {
  let guess = odd;
  for (let i = 0; i < 5; i++) guess = Math.imul(guess, 2 - Math.imul(odd, guess));
  return guess;
}
