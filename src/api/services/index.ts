/** The services that a cell has beside leases, in the only list there is. A number is never given to another service, not even the number of a removed service. */
import type { BroadcastConsensus } from '../../core/index.ts';
import { BROADCAST, broadcastWith } from '../broadcast/kind.ts';
import { CLAIMS } from '../claims/kind.ts';
import type { ServiceKind } from './service.ts';

export const SERVICES: readonly ServiceKind[] = [CLAIMS, BROADCAST];

/** The same, where broadcasts are ordered by this consensus. */
export function servicesWith(consensus: BroadcastConsensus): readonly ServiceKind[] {
  return SERVICES.map((kind) => (kind === BROADCAST ? broadcastWith(consensus) : kind));
}
