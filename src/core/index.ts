/** The protocols: deterministic cores, and the contract they keep. */
export * from './contract.ts';
export * from './nested.ts';
export * from './rate-watch.ts';
export * from './registers/plain-client.ts';
export * from './registers/rounds-register-core.ts';
export * from './registers/round-based.ts';
export { TELLS_LIVES } from './leases/census.ts';
export type { SuccessionMode } from './leases/succession.ts';
export type { NamedMessage } from './leases/named-message.ts';
export * from './consensus/index.ts';
export * from './intervals/index.ts';
export * from './leases/contract.ts';
export * from './leases/limits.ts';
export * from './leases/timing.ts';
export * from './leases/toy.ts';
export * from './leases/quorum/index.ts';
export * from './leases/rounds/index.ts';
export * from './leases/storage/index.ts';
