/** The attacks of `npm run attack` at a size that tests can afford: the honest client beside them loses nothing, and the attacker is told. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './support/tree.ts';

it.each([
  'too-many-watches',
  'flood',
  'colliding-names',
  'far-ballots',
  'edge-ballots',
  'forged-answers',
  'anothers-name',
  'taken-over-incarnation',
])('%s harms nobody else', { timeout: 120_000 }, (attack) => {
  const { stdout, stderr, status } = spawnSync(process.execPath, [join(ROOT, 'bench/attack.mjs'), '--short', '--json', attack], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toMatchObject({ name: attack, lost: 0, isMet: true });
  expect(status).toBe(0);
});
