/** Words the whole product shares: time, ids, ballots, quorums, names, errors, choices. */
export * from './ballot.ts';
export * from './chooser.ts';
export * from './errors.ts';
export * from './ids.ts';
export * from './quorum.ts';
export * from './random.ts';
export * from './time.ts';
