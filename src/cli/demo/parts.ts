/** What the processes of a demo know of each other: their names, where they find each other, and what contenders report. */
import { join } from 'node:path';

export const MEMBERS = ['a', 'b', 'c'] as const;
export type MemberId = (typeof MEMBERS)[number];

/** The longest term of the cell. Short: no viewer wants to wait long to see a lease run out. */
export const TERM_MS = 3000;

export type ContenderId = 'east' | 'west' | 'nightly' | 'weekly' | 'impatient' | 'importer' | 'clumsy' | 'sleepy';

/** The contenders: the lease that each wants, and its habit in a few words. */
export const CONTENDERS: Readonly<Record<ContenderId, { readonly lease: string; readonly habit: string }>> = {
  east: { lease: 'leader', habit: 'stands for election, leads for a while, resigns' },
  west: { lease: 'leader', habit: 'stands for election, leads for a while, resigns' },
  nightly: { lease: 'jobs/report', habit: 'waits in line, works 2 to 4 s' },
  weekly: { lease: 'jobs/report', habit: 'waits in line, works 2 to 4 s' },
  impatient: { lease: 'jobs/report', habit: 'never waits: takes it or goes away' },
  importer: { lease: 'jobs/import', habit: 'waits in line, works for a second' },
  clumsy: { lease: 'jobs/import', habit: 'crashes while it holds the lease' },
  sleepy: { lease: 'jobs/import', habit: 'stands still for longer than the lease lasts, then writes' },
};

export const CONTENDER_IDS: readonly ContenderId[] = Object.keys(CONTENDERS) as ContenderId[];
export const LEASES: readonly string[] = [...new Set(Object.values(CONTENDERS).map(({ lease }) => lease))];

/** A line of a contender's standard output. */
export type Report =
  | { readonly event: 'waits' }
  | { readonly event: 'holds'; readonly token: number }
  | { readonly event: 'writes'; readonly token: number }
  /** Another has it. */
  | { readonly event: 'refused' }
  /** It is about to stand still. */
  | { readonly event: 'stalls'; readonly token: number; readonly forMs: number }
  | { readonly event: 'crashes'; readonly token: number }
  | { readonly event: 'lost'; readonly token: number }
  | { readonly event: 'releases'; readonly token: number };

export function configIn(folder: string): string {
  return join(folder, 'tenure.yaml');
}

export function historiesIn(folder: string): string {
  return join(folder, 'histories');
}
