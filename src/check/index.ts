/** The history's schema, its text form, and the referees that judge it. */
export * from './agreement.ts';
export * from './belief.ts';
export * from './deadline.ts';
export * from './exclusion.ts';
export * from './fencing.ts';
export * from './gather.ts';
export * from './history.ts';
export * from './jsonl.ts';
export * from './order.ts';
export * from './panel.ts';
export * from './referee.ts';
export * from './regularity.ts';
export * from './requests.ts';
export * from './schema.ts';
export * from './sometimes.ts';
export * from './total-order.ts';
export * from './wall-clock.ts';
