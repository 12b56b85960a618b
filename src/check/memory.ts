/** How what referees remember is told: in which names, and counted from when. The explorer tells a past in other names to see which states are alike. */
import type { Json } from '../kernel/index.ts';
import type { Happened } from './history.ts';

export interface Perspective {
  /** The present, on the time scale of `at`. No record to come is earlier. */
  readonly now: number;
  node(node: number | string): number | string;
  /** Renames an incarnation along with its node. */
  incarnation(incarnation: number): number;
}

/** Every node by its own name. */
export function asItIs(now: number): Perspective {
  return { now, node: (node) => node, incarnation: (incarnation) => incarnation };
}

export type Who = Pick<Happened, 'node' | 'incarnation'>;

/** One start of one node, as seen. */
export type WhoMemory = readonly [node: number | string, incarnation: number];

export function whoSeen({ node, incarnation }: Who, seen: Perspective): WhoMemory {
  return [seen.node(node), seen.incarnation(incarnation)];
}

/** The parts of a set or a map, in an order that does not depend on how it came about. */
export function inOrder<T extends Json>(parts: Iterable<T>): T[] {
  return [...parts]
    .map((part) => ({ part, text: JSON.stringify(part) }))
    .sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
    .map(({ part }) => part);
}
