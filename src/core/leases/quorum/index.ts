/** The quorum engine: leases by a majority of peers, with relative terms. */
export * from './config.ts';
export * from './core.ts';
export * from './limits.ts';
export * from './messages.ts';
export * from './rules.ts';
export * from './timing.ts';
