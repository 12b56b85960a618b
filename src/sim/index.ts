/** The simulated world: run any core through faulty executions that a seed can repeat. */
export * from './campaign.ts';
export * from './explorer/index.ts';
export * from './fairness.ts';
export * from './faults.ts';
export * from './interest.ts';
export * from './kit.ts';
export * from './protocol.ts';
export * from './protocols/index.ts';
export * from './run.ts';
export * from './script/index.ts';
export * from './shrink/index.ts';
export * from './stage/index.ts';
export * from './trace.ts';
