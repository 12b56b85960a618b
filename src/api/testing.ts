/** The testing kit: a whole cell within a unit test, on virtual time. Nothing here sleeps, and a seed gives the same run. */
import { openTestCell, type TestCell, type TestCellOptions } from './testing/test-cell.ts';

export type { Cell } from './cell/cell.ts';
export type { Lease } from './leases/lease.ts';
export type { TestCell, TestCellOptions } from './testing/test-cell.ts';

/** A cell of members that are up, connected and, unless told otherwise, past their silence. */
export function testCell(options: TestCellOptions = {}): Promise<TestCell> {
  return openTestCell(options);
}
