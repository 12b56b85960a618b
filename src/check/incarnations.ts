/**
 * Something kept for each incarnation: found by node and incarnation without building a key, and
 * dropped when that incarnation crashes. Node 1 and node "1" are two nodes.
 */
import type { Who } from './memory.ts';

export class PerIncarnation<V> {
  readonly #byNode = new Map<number | string, Map<number, V>>();

  get(who: Who): V | undefined {
    return this.#byNode.get(who.node)?.get(who.incarnation);
  }

  set(who: Who, value: V): void {
    let starts = this.#byNode.get(who.node);
    if (starts === undefined) this.#byNode.set(who.node, (starts = new Map()));
    starts.set(who.incarnation, value);
  }

  *entries(): Generator<[who: Who, value: V]> {
    for (const [node, starts] of this.#byNode) for (const [incarnation, value] of starts) yield [{ node, incarnation }, value];
  }

  /** Forgets the incarnation and returns its value. */
  take(who: Who): V | undefined {
    const starts = this.#byNode.get(who.node);
    const value = starts?.get(who.incarnation);
    starts?.delete(who.incarnation);
    return value;
  }
}
