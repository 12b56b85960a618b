/** Shells that count in one file under `tenure run`, members dying meanwhile: the small form of `bench/counter.mjs`. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../support/tree.ts';

it('four shells count exactly, with exact exit codes, while members are killed and restarted', { timeout: 180_000 }, () => {
  const args = [join(ROOT, 'bench/counter.mjs'), '--shells', '4', '--times', '6', '--term', '5000', '--json'];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(stderr).toBe('');
  const found = JSON.parse(stdout) as { kills: number };
  expect(found).toMatchObject({ expected: 24, counted: 24, wrongCodes: [], tokensRise: true });
  expect(found.kills).toBeGreaterThan(0);
});
