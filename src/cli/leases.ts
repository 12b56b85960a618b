/**
 * Opens what a command gets its leases from, a cell or a store, as the flags, the environment or the config file say. Commands that use leases see no
 * difference but the one made here. The code for stores is loaded where one is named.
 */
import { TenureError } from '../kernel/index.ts';
import { findSettings, placeOfLeases, type CellFlags, type FoundSettings } from './config.ts';
import { aMomentForAll, openCell } from './connection.ts';
import type { LeaseOptions, OpenedLeases } from './opened-leases.ts';

/** Throws `TenureError` with words for people. */
export async function openLeases(flags: CellFlags, options: LeaseOptions = {}): Promise<OpenedLeases> {
  const found = await findSettings(flags);
  if (placeOfLeases(found) === 'cell') return await inCell(flags, found, options);
  const { inStore } = await import('./store-leases.ts');
  return await inStore(found.settings.store ?? '', flags, options);
}

async function inCell(flags: CellFlags, found: FoundSettings, options: LeaseOptions): Promise<OpenedLeases> {
  const cell = await openCell(flags, options, found);
  return {
    client: cell,
    maxTermMs: cell.maxTermMs,
    place: 'cell',
    unsure: 'not enough members answered to be sure',
    viewEpoch: () => cell.view?.epoch ?? null,
    waiters: async (name) => await cell.waiters(name).catch(() => null),
    cutOff: async (name) =>
      cell.state === 'no-quorum'
        ? new TenureError('TENURE_NO_QUORUM', `no majority of members could be reached while '${name}' was waited for`)
        : null,
    settled: async () => await aMomentForAll(cell),
    // Without a majority no candidate can be elected.
    ready: async (signal) => await cell.ready({ signal }),
  };
}
