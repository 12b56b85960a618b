/** Calls to members about services beside leases: how far each member is in them, and the acts by which the services of a new cell begin. */
import type { DiskStanding } from '../../core/index.ts';
import { TenureError, type OptionTable } from '../../kernel/index.ts';
import type { MemberLog } from '../broadcast/group-news.ts';
import { BROADCAST } from '../broadcast/kind.ts';
import { CLAIMS } from '../claims/kind.ts';
import type { RunningService, ServiceKind } from '../services/service.ts';
import { onAbort } from '../signals.ts';
import type { StatusOfLeases, MemberStatus } from './member-calls.ts';
import type { CellNode } from './node.ts';

/** What a cell has that can be begun. */
export type CellPart = 'leases' | 'claims' | 'broadcast';

export interface BootstrapOptions {
  readonly signal?: AbortSignal;
  /** All of them unless told otherwise. */
  readonly only?: CellPart;
}

export const BOOTSTRAP_OPTIONS: OptionTable<BootstrapOptions> = { signal: 'signal', only: 'text' };

/** How far each member is in the services beside leases, by member; null where it does not have one, or did not say. */
export interface ServiceStandings {
  readonly claims: readonly (DiskStanding | null)[];
  readonly broadcast: readonly (MemberLog | null)[];
}

export async function serviceStandings(node: CellNode): Promise<ServiceStandings> {
  const [claims, broadcast] = await Promise.all([
    asked(() => node.services.of(CLAIMS).disks()),
    // A question begins nothing: where no process has used broadcast, no member takes part in it.
    asked(() => (node.isMember && !node.services.isRunning(BROADCAST) ? Promise.resolve([]) : node.services.of(BROADCAST).members())),
  ]);
  return { claims, broadcast };
}

async function asked<T>(question: () => Promise<T[]>): Promise<T[]> {
  try {
    return await question();
  } catch (error) {
    if (error instanceof TenureError) return [];
    throw error;
  }
}

export function withServices(members: readonly StatusOfLeases[], { claims, broadcast }: ServiceStandings): MemberStatus[] {
  return members.map((status, member) => ({ ...status, claims: claims[member] ?? null, broadcast: broadcast[member] ?? null }));
}

export function beginClaims(node: CellNode, isWanted: boolean, signal: AbortSignal | undefined): Promise<void> {
  return begin(node, CLAIMS, (service) => service.bootstrap(), isWanted, signal);
}

export function beginBroadcast(node: CellNode, isWanted: boolean, signal: AbortSignal | undefined): Promise<void> {
  return begin(node, BROADCAST, (service) => service.renew(), isWanted, signal);
}

/** Along with leases, a service that has begun already, or that some member cannot have, is no failure. */
async function begin<Service extends RunningService>(
  { services }: CellNode,
  kind: ServiceKind<Service>,
  act: (service: Service) => Promise<void>,
  isWanted: boolean,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!isWanted && !services.isEverywhere(kind)) return;
  const service = await services.reach(kind, signal);
  try {
    await unlessAborted(act(service), signal);
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
