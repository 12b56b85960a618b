import { defineConfig } from 'vitest/config';
import { Tally } from './test/support/tally.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    maxWorkers: 2,
    reporters: ['default', new Tally()],
  },
});
