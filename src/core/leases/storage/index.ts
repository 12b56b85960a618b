/** Leases on shared storage: on plain registers, and where the store can compare and set. */
export { CasLeaseCore } from './cas-lease.ts';
export * from './config.ts';
export * from './contents.ts';
export * from './delta-config.ts';
export { DeltaLeaseCore } from './delta-lease.ts';
export { FLOOR_KEY, nameKeyOf, nameOfKey, statementKeyOf } from './keys.ts';
export * from './record.ts';
export * from './rules.ts';
export * from './timing.ts';
