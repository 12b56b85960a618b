/** What referees say is for people: times are told as scripts write them, never in bare microseconds. */
import { describe, expect, it } from 'vitest';
import { instant, span } from '../../src/check/wording.ts';
import { WallClockReferee } from '../../src/check/index.ts';

const NOON_US = Date.UTC(2026, 0, 2, 12) * 1000;

describe('a referee tells', () => {
  it.each([
    [0, '0s'],
    [20, '20µs'],
    [300_000, '300ms'],
    [1_250_000, '1.25s'],
    [65_000_000, '1m 5s'],
    [-3, '-3µs'],
  ])('%i µs as %s', (us, text) => {
    expect(span(us)).toBe(text);
    expect(instant(us)).toBe(text);
  });

  it('an instant of a wall clock as date and time, to the microsecond', () => {
    expect(instant(NOON_US + 1_000_042)).toBe('2026-01-02T12:00:01.000042Z');
  });

  it('by how much two holds overlap more than clocks explain', () => {
    const referee = new WallClockReferee(100_000);
    const grant = { kind: 'granted', resource: 'r', request: 1 } as const;
    referee.observe({ at: NOON_US, node: 1, incarnation: 1, ...grant, token: 1, remainingUs: 2_000_000 });
    referee.observe({ at: NOON_US + 1_000_000, node: 2, incarnation: 1, ...grant, token: 2, remainingUs: 2_000_000 });
    expect(referee.finish()[0]?.message).toBe(
      'node 2#1 was granted "r" with token 2 at 2026-01-02T12:00:01.000000Z, while node 1#1 held it with ' +
        'token 1 until 2026-01-02T12:00:02.000000Z: 800ms more than clocks within 100ms can explain',
    );
  });
});
