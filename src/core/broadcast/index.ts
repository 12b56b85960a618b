/** Atomic broadcast: one log of messages, in the same order at all members. */
export * from './config.ts';
export * from './contract.ts';
export * from './messages.ts';
