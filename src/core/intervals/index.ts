/** Interval leases: ranges of integers that are given once, by a majority of peers, with no clock at all. */
export * from './acceptor.ts';
export * from './claimant.ts';
export * from './config.ts';
export * from './contract.ts';
export * from './core.ts';
export * from './messages.ts';
export * from './rules.ts';
