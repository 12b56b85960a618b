/** The record that tells which store this is, for stores with a server. It is created once, exclusively, and never changed. */
import { randomUUID } from 'node:crypto';
import { corrupt, openJson, sealJson } from './record.ts';

const KEY = '_tenure/identity';

export function newIdentity(): Buffer {
  return sealJson(KEY, 'identity', { id: randomUUID() });
}

/** Throws if the bytes are no identity: then this is no store of ours, or a damaged one. */
export function identityIn(bytes: Uint8Array): string {
  const content = openJson(KEY, 'identity', bytes);
  const id = typeof content === 'object' && content !== null ? (content as { id?: unknown }).id : undefined;
  if (typeof id !== 'string') throw corrupt(KEY, 'it has no id');
  return id;
}
