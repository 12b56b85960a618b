import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NumberMap, type HashKey } from '../../src/kernel/index.ts';

/** Neighbours, multiples of every table's size, and numbers beyond 32 bits. */
const keys = fc.oneof(
  fc.nat(40),
  fc.nat(20).map((i) => i * 1024),
  fc.nat(20).map((i) => i * 2 ** 33 + 7),
);

describe('a map from numbers', () => {
  it('that holds nothing yet shares nothing with others', () => {
    const [one, other] = [new NumberMap<string>(), new NumberMap<string>()];
    expect([one.delete(0), one.get(0), one.has(0), one.keys()]).toEqual([false, undefined, false, []]);
    one.clear();
    one.set(0, 'zero');
    expect([other.size, other.get(0), other.has(0), other.entries()]).toEqual([0, undefined, false, []]);
    one.clear();
    expect([one.size, one.get(0)]).toEqual([0, undefined]);
  });

  it.each<[string, HashKey | null]>([
    ['without a key', null],
    ['with a key', { k0: 1, k1: 2 }],
  ])('is what a Map is, %s', (_, hashKey) => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), keys), { maxLength: 300 }), (acts) => {
        const map = new NumberMap<number>(hashKey);
        const model = new Map<number, number>();
        acts.forEach(([isSet, key], i) => {
          if (isSet) map.set(key, i);
          if (isSet) model.set(key, i);
          expect(isSet || map.delete(key)).toBe(isSet || model.delete(key));
          expect(map.size).toBe(model.size);
          expect(map.get(key)).toBe(model.get(key));
          expect(map.has(key)).toBe(model.has(key));
        });
        expect(map.entries()).toEqual([...model].sort(([a], [b]) => a - b));
        expect(map.keys()).toEqual(map.entries().map(([key]) => key));
        expect(map.values()).toEqual(map.entries().map(([, value]) => value));
        for (const key of model.keys()) expect(map.get(key)).toBe(model.get(key));
      }),
    );
  });

  it('finds everything while it grows and shrinks', () => {
    const map = new NumberMap<string>();
    for (let key = 0; key < 10_000; key++) map.set(key, String(key));
    for (let key = 0; key < 9_990; key++) expect(map.delete(key)).toBe(true);
    expect(map.values()).toEqual(Array.from({ length: 10 }, (_, i) => String(9_990 + i)));
    map.clear();
    expect([map.size, map.get(9_999), map.has(9_999)]).toEqual([0, undefined, false]);
  });

  /** With homes side by side these are sixty thousand million steps: it does not end in time. */
  it('does not make those that come and go pass by all that stay', () => {
    const map = new NumberMap<number>();
    for (let key = 0; key < 250_000; key++) map.set(key, key);
    for (let key = 2 ** 19; key < 2 ** 19 + 250_000; key++) {
      map.set(key, key);
      map.delete(key);
    }
    expect(map.size).toBe(250_000);
    expect(map.get(249_999)).toBe(249_999);
  });

  /** Without the key these are two thousand million steps: it does not end in time. */
  it('with a key does not care which numbers were chosen', () => {
    const map = new NumberMap<number>({ k0: 3, k1: 4 });
    for (let i = 0; i < 60_000; i++) map.set(i * 2 ** 34, i);
    expect(map.size).toBe(60_000);
    expect(map.get(59_999 * 2 ** 34)).toBe(59_999);
  });

  it('has nothing under what is no key', () => {
    const map = new NumberMap<number>();
    expect([map.get(-1), map.has(-1), map.delete(-1)]).toEqual([undefined, false, false]);
  });
});
