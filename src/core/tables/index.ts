/** Tables in which millions of leases live: typed arrays instead of objects, and memory given back when leases end. */
export * from './calendar.ts';
export * from './columns.ts';
export * from './due-heap.ts';
export * from './hold-table.ts';
export * from './learn-table.ts';
export * from './lowest-set.ts';
export * from './lease-column.ts';
export * from './lease-table.ts';
export * from './name-table.ts';
export * from './owner-table.ts';
