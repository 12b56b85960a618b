/** The program of `npm run bench:broadcast-chaos`, shorter: real processes that publish and read while members are killed. */
import { expect, test } from 'vitest';
import { bench } from '../support/bench.ts';

test.concurrent.each(['robbed', 'memory'])(
  'members are killed all the time (%s): one sequence, and nothing acknowledged is lost',
  async (mode) => {
    const { said, code } = await bench('broadcast-chaos.mjs', '--seconds', '10', '--mode', mode);
    const { runs } = said as { runs: Record<string, unknown>[] };
    expect(runs).toMatchObject([
      { mode, robberies: mode === 'robbed' ? 1 : 0, isOne: true, lost: [], failures: [], violations: [], isFine: true },
    ]);
    expect(runs[0]?.['kills']).toBeGreaterThan(1);
    expect(runs[0]?.['acknowledged']).toBeGreaterThan(100);
    expect(code).toBe(0);
  },
  180_000,
);
