/** All timing from three numbers: what cannot work is refused, and what is derived is safe. */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { abortMarginUs, deriveTiming, renewAfterUs, shortestTermUs, stretch, type TimingInput } from '../../../src/core/index.ts';
import { parseDuration, TenureError } from '../../../src/kernel/index.ts';

const DAY_US = 86_400_000_000;
const GOOD: TimingInput = { maxTermUs: 15_000_000, rateErrorPpm: 1000, rttUs: 2000 };

function refusal(input: TimingInput): TenureError {
  try {
    deriveTiming(input);
  } catch (error) {
    if (error instanceof TenureError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

const terms = fc.integer({ min: 1, max: DAY_US });
const rates = fc.integer({ min: 0, max: 200_000 });

describe('stretch', () => {
  it('covers the term on any other clock, for every rate error', () => {
    fc.assert(
      fc.property(terms, rates, (termUs, ppm) => {
        // In exact arithmetic: stretched · (1 - ρ) ≥ term · (1 + ρ).
        expect(BigInt(stretch(termUs, ppm)) * BigInt(1_000_000 - ppm)).toBeGreaterThanOrEqual(BigInt(termUs) * BigInt(1_000_000 + ppm));
      }),
      // The product of the example and its rate is beyond 2^53: floating point rounds it down.
      { numRuns: 20_000, examples: [[63_008_451_000, 107_348]] },
    );
  });

  it('adds no more than it must, but for a microsecond', () => {
    fc.assert(
      fc.property(terms, rates, (termUs, ppm) => {
        expect(BigInt(stretch(termUs, ppm) - 2) * BigInt(1_000_000 - ppm)).toBeLessThan(BigInt(termUs) * BigInt(1_000_000 + ppm));
      }),
    );
  });

  it('is a whole number of microseconds, and changes nothing for perfect clocks', () => {
    fc.assert(
      fc.property(terms, rates, (termUs, ppm) => {
        expect(Number.isSafeInteger(stretch(termUs, ppm))).toBe(true);
        expect(stretch(termUs, 0)).toBe(termUs);
      }),
    );
  });
});

describe('timing', () => {
  it('keeps a restarted member silent for longer than any vote of before can count', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1_000_000, max: DAY_US }), rates, (maxTermUs, rateErrorPpm) => {
        const { silenceUs, promiseUs, attemptUs } = deriveTiming({ maxTermUs, rateErrorPpm, rttUs: 1000 });
        expect(silenceUs).toBeGreaterThanOrEqual(maxTermUs);
        expect(silenceUs).toBe(stretch(maxTermUs, rateErrorPpm));
        expect(promiseUs).toBeGreaterThanOrEqual(attemptUs);
        expect(attemptUs).toBeLessThan(silenceUs);
      }),
    );
  });

  it('leaves room for three renewals between the renewal point and the abort margin', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 0, max: 100 }), (rttUs, more) => {
        const { attemptUs, retryUs } = deriveTiming({ ...GOOD, rttUs, maxTermUs: DAY_US });
        const maxTermUs = Math.max(1000, shortestTermUs(deriveTiming({ ...GOOD, rttUs, maxTermUs: DAY_US }))) + more;
        const room = maxTermUs - renewAfterUs(maxTermUs) - abortMarginUs(maxTermUs);
        expect(room).toBeGreaterThanOrEqual(3 * (attemptUs + retryUs) - 1);
      }),
    );
  });

  it('has waiters heard of several times before they are forgotten', () => {
    const { refreshUs, waiterUs, rateErrorPpm } = deriveTiming({ ...GOOD, rateErrorPpm: 200_000 });
    expect(waiterUs).toBeGreaterThan(stretch(2 * refreshUs, 0) * (1 - rateErrorPpm / 1_000_000));
  });
});

describe('a term too short for the network', () => {
  it('is refused, and the message says what to use', () => {
    const error = refusal({ ...GOOD, maxTermUs: 10_000, rttUs: 2000 });
    expect(error.code).toBe('TENURE_BAD_TIMING');
    expect(error.message).toMatch(/10ms is too short for round trips of 2ms/);
    expect(error.message).toMatch(/Use at least \d/);
    expect(error.details).toEqual({ maxTermUs: 10_000, rateErrorPpm: 1000, rttUs: 2000 });
  });

  it('is refused up to exactly the one that is named', () => {
    for (const rttUs of [50, 333, 2000, 7919, 1_000_000]) {
      const named = /Use at least (\S+)$/.exec(refusal({ ...GOOD, maxTermUs: 1000, rttUs }).message)?.[1] ?? '';
      const shortestUs = parseDuration(named);
      expect(deriveTiming({ ...GOOD, maxTermUs: shortestUs, rttUs }).maxTermUs).toBe(shortestUs);
      expect(refusal({ ...GOOD, maxTermUs: shortestUs - 1, rttUs }).code).toBe('TENURE_BAD_TIMING');
    }
  });
});

describe('what is out of range', () => {
  it.each<[string, Partial<TimingInput>, RegExp]>([
    ['no term', { maxTermUs: 0 }, /at least 1ms/],
    ['a term below a millisecond', { maxTermUs: 999, rttUs: 1 }, /at least 1ms/],
    ['a negative term', { maxTermUs: -15_000_000 }, /at least 1ms/],
    ['half a microsecond', { maxTermUs: 15_000_000.5 }, /maxTerm/],
    ['a term of NaN', { maxTermUs: Number.NaN }, /maxTerm/],
    ['a term without end', { maxTermUs: Infinity }, /maxTerm/],
    ['a term above a day', { maxTermUs: DAY_US + 1 }, /at most 1d/],
    ['a negative rate error', { rateErrorPpm: -1 }, /rate error/],
    ['a rate error above a fifth', { rateErrorPpm: 200_001 }, /rate error/],
    ['a rate error of NaN', { rateErrorPpm: Number.NaN }, /rate error/],
    ['no round trip', { rttUs: 0 }, /round trip/],
    ['a round trip of NaN', { rttUs: Number.NaN }, /round trip/],
  ])('is refused: %s', (_, wrong, message) => {
    const error = refusal({ ...GOOD, ...wrong });
    expect(error.code).toBe('TENURE_BAD_TIMING');
    expect(error.message).toMatch(message);
  });

  it('begins just past the limits', () => {
    expect(deriveTiming({ maxTermUs: DAY_US, rateErrorPpm: 200_000, rttUs: 1 }).maxTermUs).toBe(DAY_US);
    expect(deriveTiming({ maxTermUs: 1000, rateErrorPpm: 0, rttUs: 1 }).maxTermUs).toBe(1000);
  });
});
