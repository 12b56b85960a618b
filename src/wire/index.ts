/** The codecs of the cores' messages. */
export * from './broadcast.ts';
export * from './bytes.ts';
export * from './codec.ts';
export * from './consensus.ts';
export * from './frames.ts';
export * from './handshake.ts';
export * from './intervals.ts';
export * from './lanes.ts';
export * from './toy.ts';
export * from './quorum.ts';
export * from './register.ts';
export * from './rounds-register.ts';
export * from './rounds.ts';
export * from './services.ts';
