/**
 * How referees name parties and things in their sentences, so that all of them speak alike.
 * Called only when something is wrong: nothing here has to be fast.
 */
import { formatDuration, type SpanUs } from '../kernel/index.ts';
import type { Happened } from './history.ts';

/** No history that counts from its own beginning is as long as this; by wall clocks, it was in 1973. */
const WALL_CLOCK_US = 100_000_000_000_000;
const MILLISECOND_US = 1000;

/** One start of one node: `node 3#1`. */
export function party(who: Pick<Happened, 'node' | 'incarnation'>): string {
  return `node ${who.node}#${who.incarnation}`;
}

/** A name or value, quoted and cut to a readable length. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text);
}

/** A length of time, as scripts write it: `1.25s`. */
export function span(us: number): string {
  return formatDuration(us as SpanUs);
}

/** An instant of a history: how long after its beginning or, by a wall clock, date and time. */
export function instant(atUs: number): string {
  if (Math.abs(atUs) < WALL_CLOCK_US) return span(atUs);
  const ms = Math.floor(atUs / MILLISECOND_US);
  const restUs = String(Math.floor(atUs - ms * MILLISECOND_US)).padStart(3, '0');
  // oxlint-disable-next-line no-restricted-globals -- it is told the time, and asks for none
  return new Date(ms).toISOString().replace('Z', `${restUs}Z`);
}
