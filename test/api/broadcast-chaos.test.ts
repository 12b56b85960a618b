/** The program of `npm run bench:broadcast-chaos`, shorter: real processes that publish and read while members are killed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { ROOT } from '../support/tree.ts';

test.each(['robbed', 'memory'])(
  'members are killed all the time (%s): one sequence, and nothing acknowledged is lost',
  async (mode) => {
    const script = join(ROOT, 'bench', 'broadcast-chaos.mjs');
    const child = spawn(process.execPath, [script, '--json', '--seconds', '10', '--mode', mode], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'exit') as Promise<unknown[]>]);
    const { runs } = JSON.parse(said) as { runs: Record<string, unknown>[] };
    expect(runs).toMatchObject([
      { mode, robberies: mode === 'robbed' ? 1 : 0, isOne: true, lost: [], failures: [], violations: [], isFine: true },
    ]);
    expect(runs[0]?.['kills']).toBeGreaterThan(1);
    expect(runs[0]?.['acknowledged']).toBeGreaterThan(100);
    expect(code).toBe(0);
  },
  180_000,
);
