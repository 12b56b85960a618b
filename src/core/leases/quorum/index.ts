/** The quorum engine: leases by a majority of peers, with relative terms. */
export * from './config.ts';
export * from './core.ts';
export * from './messages.ts';
export * from './rules.ts';
