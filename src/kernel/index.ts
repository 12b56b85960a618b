/** Words the whole product shares: time, ids, ballots, quorums, names, durations, intervals, errors, choices, hashes, maps. */
export * from './ballot.ts';
export * from './chooser.ts';
export * from './durations.ts';
export * from './errors.ts';
export * from './ids.ts';
export * from './intervals.ts';
export * from './keyed-hash.ts';
export * from './lease-mode.ts';
export * from './names.ts';
export * from './nearest-word.ts';
export * from './number-map.ts';
export * from './options.ts';
export * from './prefix-tree.ts';
export * from './quorum.ts';
export * from './random.ts';
export * from './state-hash.ts';
export * from './time.ts';
