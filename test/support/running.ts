/** Says how long a run will take, if that is known, and names the test files that are still running, every few minutes: where a run hangs, its log says in which file. */
import type { Reporter, TestModule, TestSpecification } from 'vitest/node';

const EVERY_MS = 120_000;

export class Running implements Reporter {
  readonly #started = new Map<string, number>();
  readonly #expected: string | null;
  #timer: NodeJS.Timeout | undefined;

  constructor(expected: string | null = null) {
    this.#expected = expected;
  }

  onTestRunStart(files: readonly TestSpecification[]): void {
    if (this.#expected !== null) process.stdout.write(`tenure: ${files.length} test files, ${this.#expected}\n`);
    this.#timer = setInterval(() => this.#print(), EVERY_MS);
    this.#timer.unref();
  }

  onTestModuleStart(module: TestModule): void {
    this.#started.set(module.relativeModuleId, performance.now());
  }

  onTestModuleEnd(module: TestModule): void {
    this.#started.delete(module.relativeModuleId);
  }

  onTestRunEnd(): void {
    clearInterval(this.#timer);
  }

  #print(): void {
    const now = performance.now();
    const files = [...this.#started].map(([file, since]) => `${file} (${Math.round((now - since) / 1000)} s)`);
    if (files.length > 0) process.stdout.write(`still running: ${files.join(', ')}\n`);
  }
}
