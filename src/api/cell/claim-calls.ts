/** Calls to members about claims: how far their disks are, and the act by which the disks of a new cell begin. */
import type { DiskStanding } from '../../core/index.ts';
import { TenureError, type OptionTable } from '../../kernel/index.ts';
import { CLAIMS } from '../claims/kind.ts';
import { onAbort } from '../signals.ts';
import type { MemberStatus } from './member-calls.ts';
import type { CellNode } from './node.ts';

export interface BootstrapOptions {
  readonly signal?: AbortSignal;
  /** Both unless told otherwise. */
  readonly only?: 'leases' | 'claims';
}

export const BOOTSTRAP_OPTIONS: OptionTable<BootstrapOptions> = { signal: 'signal', only: 'text' };

/** By member; null where it has no claims, or did not say. */
export async function claimDisks(node: CellNode): Promise<(DiskStanding | null)[]> {
  try {
    return await node.services.of(CLAIMS).disks();
  } catch (error) {
    if (error instanceof TenureError) return [];
    throw error;
  }
}

export function withDisks(members: readonly Omit<MemberStatus, 'claims'>[], disks: readonly (DiskStanding | null)[]): MemberStatus[] {
  return members.map((status, member) => ({ ...status, claims: disks[member] ?? null }));
}

/** Along with leases, claims that have begun already, or that some member cannot keep, are no failure. */
export async function beginClaims(node: CellNode, isWanted: boolean, signal: AbortSignal | undefined): Promise<void> {
  if (!isWanted && !node.services.isEverywhere(CLAIMS)) return;
  const service = await node.services.reach(CLAIMS, signal);
  try {
    await unlessAborted(service.bootstrap(), signal);
  } catch (error) {
    const isBegun = error instanceof TenureError && error.code === 'TENURE_BOOTSTRAP_REFUSED' && error.details['inUse'] !== '';
    if (isWanted || !isBegun) throw error;
  }
}

function unlessAborted(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const calm = onAbort(signal, reject);
    promise.finally(calm).then(resolve, reject);
  });
}
