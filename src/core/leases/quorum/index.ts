/** The quorum engine: leases by a majority of peers, with relative terms. */
export * from './config.ts';
export * from './core.ts';
export * from './messages.ts';
export { SLOTS_MAX, slotOf } from './modes.ts';
export { HEAD_KEY, viewInHead } from './records.ts';
export * from './rules.ts';
export * from './view-initiator.ts';
