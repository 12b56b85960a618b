/**
 * The last line of a test run: `12 passed, 0 failed`, alone on its line, for machines to read. A file that
 * could not be loaded, a hook that threw and an error outside any test each count as one failure.
 */
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

export class Tally implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      count.failed += module.errors().length;
      for (const suite of module.children.allSuites()) count.failed += suite.errors().length;
      for (const test of module.children.allTests()) count[test.result().state]++;
    }
    const skipped = count.skipped + count.pending;
    process.stdout.write(`${count.passed} passed, ${count.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`);
  }
}
