/** Consensus: the failure detector and what is built on it. */
export * from './config.ts';
export * from './core.ts';
export * from './failure-detector.ts';
export * from './fast-ct.ts';
export * from './interval-size.ts';
export * from './leader-choice.ts';
export * from './messages.ts';
export * from './reliable-broadcast.ts';
export * from './rules.ts';
