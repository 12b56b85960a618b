/**
 * How referees name parties and things in their sentences, so that all of them speak alike.
 * Called only when something is wrong: nothing here has to be fast.
 */
import type { Happened } from './history.ts';

/** One start of one node: `node 3#1`. */
export function party(who: Pick<Happened, 'node' | 'incarnation'>): string {
  return `node ${who.node}#${who.incarnation}`;
}

/** A name or value, quoted and cut to a readable length. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text);
}
