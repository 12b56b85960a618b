/** The order of test files: the long ones as their list has them, longest first, so that none of them is left to run alone at the end. */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const LONG: readonly string[] = JSON.parse(readFileSync(new URL('../long-tests.json', import.meta.url), 'utf8'));

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const rank = LONG.indexOf(relative(this.ctx.config.root, moduleId));
      return rank < 0 ? LONG.length : rank;
    };
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => rankOf(a) - rankOf(b));
  }
}
