/** Stores: shared storage that leases can live on. The conformance suite is imported by its own file, with the tests. */
export * from './access-times.ts';
export * from './block/store.ts';
export * from './contest.ts';
export * from './contract.ts';
export * from './etcd/store.ts';
export { deciderOn, type Decider } from './deciding.ts';
export * from './file/store.ts';
export * from './memory.ts';
export * from './open.ts';
export * from './parameters.ts';
export * from './postgres/store.ts';
export * from './probe.ts';
export * from './record.ts';
export * from './redis/store.ts';
export { compactUnits, type UnitsCompaction } from './replicated/compaction.ts';
export { ReplicatedStore, type UnitReport } from './replicated/store.ts';
export * from './s3/store.ts';
