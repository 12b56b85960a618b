/** Consensus in small worlds, tried to the end. */
import { expect, test } from 'vitest';
import { explore } from '../../src/sim/index.ts';
import { kitNamed } from '../support/kits.ts';

test('two members that propose, one of which may crash and come back, agree whatever happens', () => {
  const found = explore(kitNamed('chandra-toueg'), { members: 2, proposers: 2, crashes: 1 }, null);
  expect(found).toMatchObject({ exhausted: true, found: null });
  expect(found.states).toBeGreaterThan(1000);
});

test('three members of which one acknowledges without adopting do not', () => {
  const found = explore(kitNamed('chandra-toueg'), { members: 3, proposers: 1, crashes: 0 }, 'ack-without-adopting');
  expect(found.found?.violation.property).toBe('agreement');
  expect(found.found?.lines.map(({ line }) => line)).toContain('propose a 1 v0');
});
