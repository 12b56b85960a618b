import { defineConfig } from 'vitest/config';
import { Tally } from './test/support/tally.ts';

export default defineConfig({
  test: {
    // Campaigns take seconds, and machines are noisy: only what hangs should fail by time.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    include: ['test/**/*.test.ts'],
    maxWorkers: 2,
    reporters: ['default', new Tally()],
  },
});
