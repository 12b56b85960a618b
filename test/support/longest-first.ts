/** The order of test files: the long ones as their list has them, longest first, then the slowest of the rest, so that none is left to run alone at the end. */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Of the files of `npm test`. */
const SLOW = [
  'test/core/tables/name-table.test.ts',
  'test/sim/world.test.ts',
  'test/check/memory.test.ts',
  'test/sim/tickets.test.ts',
  'test/sim/storage-leases.test.ts',
];
const LONG: readonly string[] = JSON.parse(readFileSync(new URL('../long-tests.json', import.meta.url), 'utf8'));

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const known = [...LONG, ...SLOW];
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const rank = known.indexOf(relative(this.ctx.config.root, moduleId));
      return rank < 0 ? known.length : rank;
    };
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => rankOf(a) - rankOf(b));
  }
}
