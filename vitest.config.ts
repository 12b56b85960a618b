import { defineConfig } from 'vitest/config';
import { Running } from './test/support/running.ts';
import { Tally } from './test/support/tally.ts';

export default defineConfig({
  test: {
    // Campaigns take seconds, and machines are noisy: only what hangs should fail by time.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    include: ['test/**/*.test.ts'],
    maxWorkers: 2,
    globalSetup: ['test/support/leftovers.ts'],
    reporters: ['default', new Running(), new Tally()],
  },
});
