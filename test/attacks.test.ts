/** The attacks of `npm run attack` at a size that tests can afford: the honest client beside them loses nothing, and the attacker is told. */
import { expect, it, vi } from 'vitest';
import { bench } from './support/bench.ts';

// Most of the time cells keep silent, or wait for terms to end.
vi.setConfig({ maxConcurrency: 2 });

it.concurrent.each([
  'too-many-watches',
  'flood',
  'colliding-names',
  'far-ballots',
  'far-ballots-to-one',
  'edge-ballots',
  'forged-answers',
  'anothers-name',
  'taken-over-incarnation',
])('%s harms nobody else', { timeout: 120_000 }, async (attack) => {
  const { said, stderr, code } = await bench('attack.mjs', '--short', attack);
  expect(stderr).toBe('');
  expect(said).toMatchObject({ name: attack, lost: 0, voting: 3, isMet: true });
  expect(code).toBe(0);
});
