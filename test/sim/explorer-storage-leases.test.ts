/** Leases on storage in small worlds: searched to the end with all rules, and two holders are found without one. */
import { describe, expect, test } from 'vitest';
import { explore } from '../../src/sim/index.ts';
import { kitNamed } from '../support/kits.ts';

describe('in a small world', { timeout: 120_000 }, () => {
  test.each([
    ['delta-lease', 3],
    ['delta-lease-nd', 3],
    ['delta-lease-cas', 2],
  ] as const)('%s is searched to the end', (name, instants) => {
    const { exhausted, found, states } = explore(kitNamed(name), { instants }, null);
    expect({ exhausted, found }).toEqual({ exhausted: true, found: null });
    expect(states).toBeGreaterThan(1000);
  });

  test.each([
    ['delta-lease', 'read-back-at-once', 3],
    ['delta-lease', 'no-timing-check', 5],
    ['delta-lease', 'contend-short-wait', 5],
    ['delta-lease-cas', 'blind-steal', 1],
    ['delta-lease-cas', 'steal-early', 3],
    ['delta-lease-literal', null, 4],
  ] as const)('%s with %s has two holders', (name, mutant, instants) => {
    expect(explore(kitNamed(name), { instants }, mutant).found?.violation.property).toBe('exclusion');
  });
});
