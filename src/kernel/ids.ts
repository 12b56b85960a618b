/**
 * Identities of nodes and processes. The driver of a core (the simulator, the runtime) gives a node its number, which
 * holds only there; an incarnation is what the protocols trust.
 */

/** The number of a peer, as its driver counts them: members first, from 0, in the order of the view. */
export type NodeId = number & { readonly __nodeId: true };

/**
 * One start of one process: fresh at every start, never a hash, never reused (rule 3). It is the
 * owner of leases; two processes that claim the same name are still two incarnations.
 */
export type Incarnation = number & { readonly __incarnation: true };

/** No process. Real incarnations are positive. */
export const NOBODY: Incarnation = 0 as Incarnation;

/** The numbers that an incarnation gives to its leases and questions are from 1 to this, and never the same twice: 48 bits, as tables keep them. */
export const LEASE_NUMBER_MAX: number = 2 ** 48 - 1;

export function nodeId(value: number): NodeId {
  return value as NodeId;
}

export function incarnation(value: number): Incarnation {
  return value as Incarnation;
}
