import { readFileSync } from 'node:fs';
import { configDefaults, defineConfig } from 'vitest/config';
import { Running } from './test/support/running.ts';
import { Tally } from './test/support/tally.ts';

/** Left out unless files are named: `npm run test:long` names them. */
const long: string[] = JSON.parse(readFileSync(new URL('test/long-tests.json', import.meta.url), 'utf8'));
/** Needs packages that no ordinary run has: `npm run test:s3` names it. */
const heavy = ['test/store/s3-server.test.ts'];
const isWhole = !process.argv.some((word) => word.startsWith('test/'));

export default defineConfig({
  test: {
    // Campaigns take seconds, and machines are noisy: only what hangs should fail by time.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(isWhole ? [...long, ...heavy] : [])],
    maxWorkers: 2,
    globalSetup: ['test/support/leftovers.ts'],
    reporters: ['default', new Running(), new Tally()],
  },
});
