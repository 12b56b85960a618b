/** Transports: how peers reach each other. The conformance suite is imported by its own file, with the tests. */
export * from './contract.ts';
export * from './memory.ts';
export * from './tcp/address.ts';
export { Identity } from './tcp/identity.ts';
export * from './tcp/options.ts';
export * from './tcp/transport.ts';
