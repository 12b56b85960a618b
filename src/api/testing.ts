/** The testing kit: a whole cell, or a store with its users, within a unit test, on virtual time. Nothing here sleeps, and a seed gives the same run. */
import { openTestCell, type TestCell, type TestCellOptions } from './testing/test-cell.ts';
import { openTestStorage, type TestStorage, type TestStorageOptions } from './testing/test-storage.ts';

export type { Cell } from './cell/cell.ts';
export type { Lease } from './leases/lease.ts';
export type { LeaseStorage } from './storage/storage.ts';
export type { TestCell, TestCellOptions } from './testing/test-cell.ts';
export type { TestStorage, TestStorageOptions } from './testing/test-storage.ts';

/** A cell of members that are up, connected and, unless told otherwise, past their silence. */
export function testCell(options: TestCellOptions = {}): Promise<TestCell> {
  return openTestCell(options);
}

/** A fresh store in virtual time. */
export async function testStorage(options: TestStorageOptions = {}): Promise<TestStorage> {
  return openTestStorage(options);
}
