/** The fingerprint of a state: equal data alike, different data apart, the same for ever. */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { stateHash } from '../../src/kernel/index.ts';
import type { Json } from '../../src/kernel/index.ts';

const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>;

/** The same data with the keys of every object put in the other way round. */
function reversed(value: Json): Json {
  if (Array.isArray(value)) return value.map((each: Json) => reversed(each));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, each]) => [key, reversed(each)]),
  );
}

/** Objects keyed in order; -0 is written as 0 by JSON itself. */
function canonical(value: Json): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

describe('the hash of a state', () => {
  it('is 16 hex digits', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(stateHash(value)).toMatch(/^[0-9a-f]{16}$/);
      }),
    );
  });

  it('is what it always was', () => {
    expect([null, false, 0, '', [], {}].map((value) => stateHash(value as Json))).toMatchInlineSnapshot(`
      [
        "7ca74c2b16ee95c6",
        "d955a94a0bddd5e0",
        "d3cb14b0f9cf16ad",
        "fe6f8d94ee375f84",
        "0e0f9cc9ccc1c1cc",
        "60fffb304a444f10",
      ]
    `);
    expect(
      stateHash({ owner: 12345, until: Infinity, token: 1_700_000_000_000_001, name: 'a/b', rows: [1.5, -1, true] }),
    ).toMatchInlineSnapshot(`"b9326b90b337ef34"`);
  });

  it('does not depend on the order of keys', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(stateHash(reversed(value))).toBe(stateHash(value));
      }),
    );
  });

  it('does not depend on the order of keys of a large table', () => {
    const rows = Array.from({ length: 100 }, (_, i) => [`row ${i}`, i] as const);
    expect(stateHash(Object.fromEntries(rows))).toBe(stateHash(Object.fromEntries(rows.toReversed())));
  });

  it('tells different data apart', () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        expect(stateHash(a) === stateHash(b)).toBe(canonical(a) === canonical(b));
      }),
      { numRuns: 1000 },
    );
  });

  it('tells apart what only looks alike', () => {
    const different: Json[] = [
      null,
      'null',
      false,
      'false',
      true,
      0,
      '0',
      1,
      '1',
      -1,
      '',
      [],
      {},
      [null],
      [0],
      [[]],
      [{}],
      [[], []],
      [[[]]],
      { '': '' },
      { a: 1 },
      { a: '1' },
      { a: [1] },
      { b: 1 },
      ['a', 1],
      { a: 1, b: 2 },
      { a: 2, b: 1 },
      [{ a: 1 }, { b: 2 }],
      [1, 2],
      [2, 1],
      [[1], 2],
      [1, [2]],
      ['ab'],
      ['a', 'b'],
      'ab',
      'a',
      'a\u0000',
      'aa',
      '\u0000',
      '\u0000\u0000',
      NaN,
      'NaN',
      Infinity,
      -Infinity,
      'Infinity',
      0.5,
      1.5,
      2 ** 31,
      -(2 ** 31),
      2 ** 32,
      2 ** 32 + 1,
      2 ** 53 - 1,
      Number.MIN_VALUE,
      1e300,
    ];
    expect(new Set(different.map(stateHash)).size).toBe(different.length);
  });

  it('takes -0 for 0, and one NaN for another', () => {
    expect(stateHash([-0])).toBe(stateHash([0]));
    expect(stateHash([NaN])).toBe(stateHash([-NaN]));
  });

  it('takes an object without a prototype for plain data', () => {
    expect(stateHash(Object.assign(Object.create(null) as object, { a: 1 }) as Json)).toBe(stateHash({ a: 1 }));
  });

  it('does not collide on a hundred thousand states that differ a little, in either half by more than chance', () => {
    const whole = new Set<string>();
    const left = new Set<string>();
    const right = new Set<string>();
    for (let a = 0; a < 50; a++) {
      for (let b = 0; b < 50; b++) {
        for (let c = 0; c < 40; c++) {
          const hash = stateHash({
            ballot: 1_700_000_000_000_000 + a,
            rows: [
              { owner: b, live: c % 2 === 0 },
              { owner: c, live: false },
            ],
          });
          whole.add(hash);
          left.add(hash.slice(0, 8));
          right.add(hash.slice(8));
        }
      }
    }
    expect(whole.size).toBe(100_000);
    // 100,000 words of 32 bits meet 1.2 times on average.
    expect(left.size).toBeGreaterThan(99_990);
    expect(right.size).toBeGreaterThan(99_990);
  });

  it('changes about half of its bits when one bit of the state changes', () => {
    for (let bit = 0; bit < 31; bit++) {
      let differing = 0;
      for (let i = 0; i < 64; i++) {
        const [a, b] = [stateHash([i * 7919, 5]), stateHash([(i * 7919) ^ (1 << bit), 5])];
        differing += bitsIn(BigInt(`0x${a}`) ^ BigInt(`0x${b}`));
      }
      expect(differing / 64).toBeGreaterThan(28);
      expect(differing / 64).toBeLessThan(36);
    }
  });

  it.each([
    ['undefined', undefined],
    ['an array not filled', Array.from<Json>({ length: 2 })],
    ['a Map', new Map([[1, 2]])],
    ['a Set', { seen: new Set() }],
    ['bytes', new Uint8Array(2)],
    ['a function', () => 1],
    ['a bigint', 1n],
    ['an undefined member', { a: undefined }],
  ])('is refused for %s, which JSON would drop or blur', (_, value) => {
    expect(() => stateHash(value as Json)).toThrow(expect.objectContaining({ code: 'TENURE_INTERNAL' }));
  });

  it('is right again after a refusal', () => {
    const before = stateHash({ a: 1 });
    expect(() => stateHash([1, undefined as unknown as Json])).toThrow('plain JSON');
    expect(stateHash({ a: 1 })).toBe(before);
  });
});

function bitsIn(value: bigint): number {
  return value.toString(2).replaceAll('0', '').length;
}
