/** Durations as people write them. */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { DURATION_US_MAX, formatDuration, parseDuration, spanUs, TenureError } from '../../src/kernel/index.ts';
import type { Duration } from '../../src/kernel/index.ts';

const span = fc.oneof(fc.integer({ min: 0, max: 5000 }), fc.integer({ min: 0, max: 1e8 }), fc.integer({ min: 0, max: DURATION_US_MAX }));

function outcome(text: string): string {
  try {
    const us = parseDuration(text);
    return Number.isSafeInteger(us) && us >= 0 && us <= DURATION_US_MAX ? 'a span' : `${us} microseconds`;
  } catch (error) {
    return error instanceof TenureError ? error.code : String(error);
  }
}

describe('a duration', () => {
  it.each([
    ['15s', 15e6],
    ['1500ms', 1.5e6],
    ['1.5s', 1.5e6],
    ['2m', 120e6],
    ['1h30m', 5400e6],
    ['1h 30m', 5400e6],
    ['1.5h', 5400e6],
    ['1d', 86_400e6],
    ['250us', 250],
    ['250\u00b5s', 250],
    ['250\u03bcs', 250],
    ['1d2h3m4s5ms6us', 93_784_005_006],
    [' 15 s ', 15e6],
    ['0s', 0],
    ['0.0001220703125d', 10_546_875],
    ['365d', 31_536_000e6],
    [1500, 1.5e6],
    [0.25, 250],
    [0, 0],
  ] as [Duration, number][])('written %s is read exactly', (written, us) => {
    expect(parseDuration(written)).toBe(us);
  });

  it('written with decimals is not what floating point makes of it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10_000 }), fc.integer({ min: 0, max: 999_999 }), (whole, micros) => {
        expect(parseDuration(`${whole}.${String(micros).padStart(6, '0')}s`)).toBe(whole * 1e6 + micros);
      }),
    );
  });

  it('that comes out of arithmetic is rounded to the microsecond', () => {
    expect(parseDuration(0.1 + 0.2)).toBe(300);
    expect(parseDuration(10_000 / 3)).toBe(3_333_333);
    expect(Object.is(parseDuration(-0), 0)).toBe(true);
  });

  it.each([
    ['', 'it is empty'],
    ['  ', 'it is empty'],
    ['-5s', 'it is negative'],
    [-1, 'it is negative'],
    [-Infinity, 'it is negative'],
    [NaN, 'it is not a number'],
    [Infinity, 'longer than 365 days'],
    ['366d', 'longer than 365 days'],
    ['365d1us', 'longer than 365 days'],
    [31_536_000_001, 'longer than 365 days'],
    ['9'.repeat(60) + 's', 'longer than 365 days'],
    ['9'.repeat(1000) + 's', 'it is too long'],
    ['15', "'15' has no unit"],
    ['1h30', "'30' has no unit"],
    ['1.5.5s', "'1.5' has no unit"],
    ['15 parsecs', "there is no unit 'parsecs'"],
    ['15S', "there is no unit 'S'"],
    ['1e3s', "there is no unit 'e'"],
    ['soon', "'soon' does not begin with a number"],
    ['.5s', 'does not begin with a number'],
    ['+5s', 'does not begin with a number'],
    ['5s,', 'does not begin with a number'],
    ['5s\n5ms', 'does not begin with a number'],
    ['30m1h', 'the larger before the smaller'],
    ['1s1s', 'each unit may appear once'],
    ['1us1\u00b5s', 'each unit may appear once'],
    ['1.5h30m', 'only the last number may have a fraction'],
    ['0.5us', 'finer than a microsecond'],
    ['1.0000001s', 'finer than a microsecond'],
    [undefined, 'neither a number nor text'],
    [5n, 'neither a number nor text'],
  ] as [Duration, string][])('written %s is refused, with the reason', (written, why) => {
    expect(() => parseDuration(written)).toThrow(
      expect.objectContaining({ code: 'TENURE_BAD_DURATION', message: expect.stringContaining(why) }),
    );
  });

  it('that is refused is named, with examples of what to write', () => {
    expect(() => parseDuration('15 parsecs')).toThrow(/^cannot use '15 parsecs' as a duration: .*; write it like '15s', '1500ms'/);
    expect(() => parseDuration('x'.repeat(10_000))).toThrow(/^.{0,300}$/);
  });

  it('cannot crash the reader, whatever the text', () => {
    const piece = fc.constantFrom('1', '0', '.', '5', 's', 'm', 'h', 'd', 'us', ' ', '-', 'e', '\u00b5', '\u{1f600}', '\ud800');
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(piece, { maxLength: 10 }).map((pieces) => pieces.join('')),
        ),
        (text) => {
          expect(outcome(text)).toMatch(/^(a span|TENURE_BAD_DURATION)$/);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('a span', () => {
  it('is written so that it is read back the same', () => {
    fc.assert(
      fc.property(span, (us) => {
        expect(parseDuration(formatDuration(spanUs(us)))).toBe(us);
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    [0, '0s'],
    [250, '250\u00b5s'],
    [999, '999\u00b5s'],
    [1000, '1ms'],
    [1500, '1.5ms'],
    [250_000, '250ms'],
    [1_500_000, '1.5s'],
    [15_000_000, '15s'],
    [15_000_001, '15.000001s'],
    [60_000_000, '1m'],
    [150_000_000, '2m 30s'],
    [60_250_000, '1m 250ms'],
    [5_400_000_000, '1h 30m'],
    [86_400_000_000, '1d'],
    [90_061_000_000, '1d 1h 1m 1s'],
    [999_999.6, '1s'],
    [-15_000_000, '-15s'],
    [Infinity, 'forever'],
    [NaN, 'NaN'],
  ])('of %d microseconds is written %s', (us, text) => {
    expect(formatDuration(spanUs(us))).toBe(text);
  });
});
