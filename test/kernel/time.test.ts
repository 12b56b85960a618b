/** Instants and spans: whole microseconds, and an instant that never comes. */
import { describe, expect, it } from 'vitest';
import { monoAfter, monoUs, NEVER, spanFromMs, spanUs, wallAfter, wallUs } from '../../src/kernel/index.ts';

describe('time', () => {
  it('turns milliseconds into whole microseconds', () => {
    expect(spanFromMs(1.5)).toBe(1500);
    expect(spanFromMs(0.1 + 0.2)).toBe(300);
    expect(spanFromMs(0.0004)).toBe(0);
  });

  it('adds a span to an instant of either clock', () => {
    expect(monoAfter(monoUs(10), spanUs(5))).toBe(15);
    expect(wallAfter(wallUs(10), spanUs(5))).toBe(15);
  });

  it('never reaches NEVER, however long one waits', () => {
    expect(NEVER).toBeGreaterThan(Number.MAX_SAFE_INTEGER);
    expect(monoAfter(NEVER, spanUs(1))).toBe(NEVER);
  });
});
