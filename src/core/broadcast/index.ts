/** Atomic broadcast: one log of messages, in the same order at all members. */
export * from './client.ts';
export * from './config.ts';
export * from './contract.ts';
export * from './core.ts';
export { remembersFounding } from './founding.ts';
export { groupBytes } from './group.ts';
export type { InnerRules } from './epoch-consensus.ts';
export * from './messages.ts';
export * from './rules.ts';
