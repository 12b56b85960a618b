/**
 * Histories that several processes wrote by their own wall clocks, put together for the referees. Where a file
 * ends, its writers are taken to have stopped: no process is accused of an act that it did not live to write down, or had
 * not written yet.
 */
import { TenureError } from '../kernel/index.ts';
import type { HistoryRecord } from './history.ts';
import { PerIncarnation } from './incarnations.ts';
import type { History, HistoryHeader } from './jsonl.ts';

/** `clockBoundUs` goes before what the headers state; of theirs the largest counts, if all state one. */
export function gatherHistories(parts: readonly History[], clockBoundUs?: number): History {
  const clock = parts.some(({ header }) => header.clock === 'true') ? 'true' : 'wall';
  if (clock === 'true' && parts.length > 1) {
    throw new TenureError('TENURE_BAD_HISTORY', 'a history in true time stands alone: each simulated world has a time of its own', {
      line: 1,
      field: 'clock',
    });
  }
  const stated = parts.map(({ header }) => header.clockBoundUs ?? Infinity);
  const bound = clockBoundUs ?? Math.max(...stated);
  const header: HistoryHeader = { 'tenure-history': 1, clock, ...(bound < Infinity ? { clockBoundUs: bound } : {}) };
  const records = parts.flatMap(({ records: told }) => (clock === 'wall' ? [...told, ...endsOf(told)] : told));
  // Sorting is stable: what one process wrote stays in its order.
  return { header, records: parts.length > 1 ? records.toSorted((a, b) => a.at - b.at) : records };
}

function endsOf(records: readonly HistoryRecord[]): HistoryRecord[] {
  const at = records.at(-1)?.at ?? 0;
  const seen = new PerIncarnation<true>();
  const ends: HistoryRecord[] = [];
  for (const { node, incarnation, kind } of records) {
    if (kind === 'crashed' || seen.get({ node, incarnation }) !== undefined) continue;
    seen.set({ node, incarnation }, true);
    ends.push({ at, node, incarnation, kind: 'crashed' });
  }
  return ends;
}
