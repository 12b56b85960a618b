/** The protocols: deterministic cores, and the contract they keep. */
export * from './contract.ts';
export * from './registers/plain-client.ts';
export * from './leases/toy.ts';
export * from './leases/quorum/index.ts';
