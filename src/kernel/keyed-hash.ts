/**
 * Hashes for tables whose keys strangers choose: HalfSipHash-1-3, the function that the Linux kernel uses for the same purpose.
 * A stranger that does not know the key cannot choose keys that collide. A seed for MurmurHash would not do: there are inputs that collide
 * under every seed. What members must agree on is placed by `hashName`, which has no key.
 */

/** Two words of 32 bits. */
export interface HashKey {
  readonly k0: number;
  readonly k1: number;
}

/** For tables that only their own process fills, and for worlds that must be the same every time. */
export const NO_KEY: HashKey = { k0: 0, k1: 0 };

/** The engine keeps whole numbers up to this in place. One bit more, and half of all hashes would be objects on the heap. */
export const HASH_MAX = 0x7fff_ffff;

const COMPRESSION_ROUNDS = 1;
const FINAL_ROUNDS = 3;

/** 31 bits of the hash of bytes `start` to `end`. Allocates nothing. */
export function keyedHash({ k0, k1 }: HashKey, bytes: Uint8Array, start: number, end: number): number {
  let v0 = k0 | 0;
  let v1 = k1 | 0;
  let v2 = 0x6c796765 ^ k0;
  let v3 = 0x74656462 ^ k1;
  const length = end - start;
  const wordsEnd = start + (length & ~3);
  let at = start;
  for (; at < wordsEnd; at += 4) {
    const word = byteAt(bytes, at) | (byteAt(bytes, at + 1) << 8) | (byteAt(bytes, at + 2) << 16) | (byteAt(bytes, at + 3) << 24);
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
  }
  // The last word, with the length, and the end: the same round, in a loop of its own, so that the loop above has no branches.
  let last = length << 24;
  if (at + 2 < end) last |= byteAt(bytes, at + 2) << 16;
  if (at + 1 < end) last |= byteAt(bytes, at + 1) << 8;
  if (at < end) last |= byteAt(bytes, at);
  v3 ^= last;
  for (let round = 0; round < COMPRESSION_ROUNDS + FINAL_ROUNDS; round++) {
    if (round === COMPRESSION_ROUNDS) {
      v0 ^= last;
      v2 ^= 0xff;
    }
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
  }
  return (v1 ^ v3) & HASH_MAX;
}

/** The same of a whole number from 0 to 2^53 - 1, as eight bytes, little endian. */
export function keyedHashOf({ k0, k1 }: HashKey, number: number): number {
  let v0 = k0 | 0;
  let v1 = k1 | 0;
  let v2 = 0x6c796765 ^ k0;
  let v3 = 0x74656462 ^ k1;
  const low = number | 0;
  const high = Math.floor(number / 0x1_0000_0000) | 0;
  for (let round = 0; round < 3 + FINAL_ROUNDS; round++) {
    const word = round === 0 ? low : round === 1 ? high : round === 2 ? 8 << 24 : 0;
    if (round === 3) v2 ^= 0xff;
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
  }
  return (v1 ^ v3) & HASH_MAX;
}

/** Inside a checked range; the type system cannot know. */
function byteAt(bytes: Uint8Array, index: number): number {
  return bytes[index] as number;
}
