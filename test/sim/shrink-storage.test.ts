/** Runs of leases on storage in which something broke become scripts that say which access came when. */
import { describe, expect, it } from 'vitest';
import type { Shrunk } from '../../src/sim/index.ts';
import { failingSeed, replay, shrinkerOf, soon } from '../support/shrinking.ts';

const LINES_MAX = 40;

describe('a failing seed', { timeout: 120_000 }, () => {
  it.each([
    ['delta-lease', 'voided-contend-releases', 'exclusion'],
    ['delta-lease-nd', 'epoch-not-waited', 'exclusion'],
    ['delta-lease-cas', 'blind-steal', 'exclusion'],
    ['delta-lease-cas', 'token-from-clock', 'fencing'],
    ['delta-lease-literal', null, 'exclusion'],
  ])('of %s without the rule of %s becomes a short script that breaks %s, and leaves the product whole', (protocol, mutant, property) => {
    const shrunk = shrinkerOf(protocol).shrink(failingSeed(protocol, mutant, property), mutant, soon(2500)) as Shrunk;
    expect(shrunk.script?.violation.property).toBe(property);
    expect(shrunk.script?.lines.length).toBeLessThanOrEqual(LINES_MAX);
    expect(replay(protocol, mutant, shrunk)).toEqual({ failures: [], changes: [] });
  });
});
