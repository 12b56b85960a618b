import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { Running } from './test/support/running.ts';
import { Tally } from './test/support/tally.ts';

/** Left out unless files are named: `npm run test:long` names them. */
const long: string[] = JSON.parse(readFileSync(new URL('test/long-tests.json', import.meta.url), 'utf8'));
/** Needs packages that no ordinary run has: `npm run test:s3` names it. */
const heavy = ['test/store/s3-server.test.ts'];
const isWhole = !process.argv.some((word) => word.startsWith('test/'));
const exclude = [...configDefaults.exclude, ...(isWhole ? [...long, ...heavy] : [])];

/** As many files at once as the command line says, if it does. */
function atOnce(workers: number): { maxWorkers?: number } {
  return process.argv.some((word) => word.startsWith('--maxWorkers')) ? {} : { maxWorkers: workers };
}

const cores = availableParallelism();
const PURE = ['kernel', 'core', 'wire', 'check', 'sim'].map((layer) => `test/${layer}/**/*.test.ts`);

/** Campaigns take seconds, and machines are noisy: only what hangs should fail by time. */
const PATIENCE = { testTimeout: 60_000, hookTimeout: 60_000 };

const projects: TestProjectInlineConfiguration[] = [
  {
    test: {
      ...PATIENCE,
      name: 'real',
      include: ['test/**/*.test.ts'],
      exclude: [...exclude, ...PURE],
      // Much of its time a test of real processes, stores and clocks waits: more files than cores wait at the same time. In long ones, tests wait at the same time.
      ...atOnce(isWhole ? cores + 2 : cores),
      sequence: { groupOrder: 0 },
    },
  },
  {
    test: {
      ...PATIENCE,
      name: 'pure',
      include: PURE,
      exclude,
      ...atOnce(cores),
      // The pure layers have no state outside their objects: a file leaves nothing behind, and the next finds the code compiled.
      isolate: false,
      sequence: { groupOrder: 1 },
    },
  },
];

export default defineConfig({
  test: {
    projects,
    sequence: { sequencer: LongestFirst },
    globalSetup: ['test/support/leftovers.ts'],
    reporters: ['default', new Running(isWhole ? 'about five minutes on two cores' : null), new Tally()],
  },
});
