/** The messages of interval leases as bytes: there and back, and whatever else comes over a wire. */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { incarnation } from '../../src/kernel/index.ts';
import { isInterval, type IntervalMessage } from '../../src/core/index.ts';
import { ByteReader, ByteWriter, intervalCodec } from '../../src/wire/index.ts';

const count = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const life = count.map(incarnation);
const space = fc.constantFrom('s', 'invoices/2026', 'ä\u{1f600}', 'x'.repeat(255));
const ends = fc.tuple(count, count).map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) }));
const generations = fc.array(count, { maxLength: 15 });
const key = fc.record({ incarnation: life, counter: count });
const cursor = fc.record({ space: fc.oneof(space, fc.constant('')), from: count });
const piece = fc.tuple(key, space, ends).map(([claim, name, interval]) => ({ ...claim, space: name, ...interval }));

const request = fc
  .tuple(fc.constantFrom('lease' as const, 'withdraw' as const), key, space, ends, count)
  .map(([kind, claim, name, interval, closed]): IntervalMessage => ({ kind, ...claim, space: name, ...interval, closed }));
const answer = fc
  .tuple(fc.constantFrom('ack' as const, 'withdrawn' as const), key, generations)
  .map(([kind, claim, known]): IntervalMessage => ({ kind, ...claim, generations: known }));
const refusal = fc
  .tuple(key, fc.constantFrom('overlap' as const, 'limit' as const), ends, fc.oneof(count, fc.constant(-1)), generations)
  .map(([claim, why, { from, to }, next, known]): IntervalMessage => {
    return { kind: 'nack', ...claim, why, overlapFrom: from, overlapTo: to, next, generations: known };
  });
const page = fc
  .tuple(count, cursor, fc.array(piece, { maxLength: 5 }), fc.option(cursor), generations)
  .map(([generation, at, pieces, next, known]): IntervalMessage => ({ kind: 'page', generation, ...at, pieces, next, generations: known }));
const message: fc.Arbitrary<IntervalMessage> = fc.oneof(
  request,
  answer,
  refusal,
  page,
  fc.record({ kind: fc.constant('hello' as const), asker: count }),
  fc.record({ kind: fc.constant('known' as const), asker: count, founding: count, start: count, disks: generations, generations }),
  fc.record({ kind: fc.constant('note' as const), generation: count }),
  fc.record({ kind: fc.constant('noted' as const), generation: count, generations }),
  fc.tuple(count, cursor).map(([generation, at]) => ({ kind: 'copy' as const, generation, ...at })),
  fc.record({ kind: fc.constant('found' as const), founding: count, round: count, start: count }),
  fc.record({ kind: fc.constant('founded' as const), founding: count, round: count, disk: count, start: count, isReady: fc.boolean() }),
  fc.record({ kind: fc.constant('begin' as const), founding: count, start: count, disks: generations }),
  fc.record({ kind: fc.constant('begun' as const), founding: count, start: count }),
  fc.constant<IntervalMessage>({ kind: 'look' }),
  fc.record({
    kind: fc.constant('standing' as const),
    phase: fc.constantFrom('reading', 'blank', 'founding', 'joining', 'ready', 'failed'),
    generation: count,
    noted: count,
    copied: count,
    needed: count,
  }),
);

function encoded(one: IntervalMessage): Uint8Array {
  const out = new ByteWriter();
  intervalCodec.encode(one, out);
  return out.bytes.slice(0, out.length);
}

function decoded(bytes: Uint8Array): IntervalMessage | null {
  const input = new ByteReader();
  input.reset(bytes, 0, bytes.length);
  return intervalCodec.decode(input);
}

describe('messages of interval leases', () => {
  it('come back as they were', () => {
    fc.assert(
      fc.property(message, (one) => {
        expect(decoded(encoded(one))).toEqual(one);
      }),
      { numRuns: 2000 },
    );
  });

  it('are none when their end is missing', () => {
    fc.assert(
      fc.property(message, fc.nat(), (one, at) => {
        const bytes = encoded(one);
        expect(decoded(bytes.subarray(0, at % bytes.length))).toBe(null);
      }),
      { numRuns: 1000 },
    );
  });

  it('that are no messages are refused, and never throw or name what is no interval', () => {
    const damaged = fc.tuple(message, fc.nat(), fc.nat(255)).map(([one, at, byte]) => {
      const bytes = encoded(one);
      bytes[at % bytes.length] = byte;
      return bytes;
    });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 80 }), damaged), (bytes) => {
        const found = decoded(bytes);
        const intervals = found?.kind === 'page' ? found.pieces : found?.kind === 'lease' || found?.kind === 'withdraw' ? [found] : [];
        expect(intervals.filter(({ from, to }) => !isInterval(from, to))).toEqual([]);
      }),
      { numRuns: 3000 },
    );
  });

  it('refuses an interval that ends before it begins, and a space without a name', () => {
    const one = { kind: 'lease', incarnation: incarnation(1), counter: 1, space: 's', from: 3, to: 5, closed: 0 } as const;
    expect(decoded(encoded({ ...one, from: 6 }))).toBe(null);
    expect(decoded(encoded({ ...one, space: '' }))).toBe(null);
    expect(decoded(encoded(one))).toEqual(one);
  });
});
