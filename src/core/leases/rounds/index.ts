/** Flease and PaxosLease: what the two papers share, and the core that is either. */
export { BucketBallots, PlainBallots, type Ballots } from './ballots.ts';
export * from './config.ts';
export * from './core.ts';
export * as roundKinds from './messages.ts';
export { isRoundRequest, ROUND_NAMES, ROUND_REASONS, RoundMessage } from './messages.ts';
export type { LeaseValue } from './messages.ts';
export * from './rules.ts';
export * from './timing.ts';
