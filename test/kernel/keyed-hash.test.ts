/** Hashes with a key: the function that others published, and that no keys can be chosen to collide without knowing the key. */
import { describe, expect, it } from 'vitest';
import { HASH_MAX, keyedHash, keyedHashOf } from '../../src/kernel/index.ts';

/** Key and inputs as in the Linux kernel's test of `hsiphash` for words of 32 bits. */
const KEY = { k0: 0x03020100, k1: 0x07060504 };
const PUBLISHED = [
  0x5814c896, 0xe7e864ca, 0xbc4b0e30, 0x01539939, 0x7e059ea6, 0x88e3d89b, 0xa0080b65, 0x9d38d9d6, 0x577999b1, 0xc839caed, 0xe4fa32cf,
];

describe('the hash with a key', () => {
  it('is 31 bits of HalfSipHash-1-3', () => {
    const bytes = Uint8Array.from({ length: PUBLISHED.length }, (_, i) => i);
    expect(PUBLISHED.map((_, length) => keyedHash(KEY, bytes, 0, length))).toEqual(PUBLISHED.map((hash) => hash & HASH_MAX));
  });

  it('of a number is that of its eight bytes', () => {
    const bytes = new DataView(new ArrayBuffer(8));
    for (const number of [0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1, 0x1234_5678_9abc]) {
      bytes.setBigUint64(0, BigInt(number), true);
      expect(keyedHashOf(KEY, number)).toBe(keyedHash(KEY, new Uint8Array(bytes.buffer), 0, 8));
    }
  });
});
