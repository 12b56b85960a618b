/** Broadcast in the list of services: its number and name, how it is set, and how it is run. */
import type { BroadcastConsensus, BroadcastLimits } from '../../core/index.ts';
import { TenureError } from '../../kernel/index.ts';
import { isSurvey } from '../../wire/index.ts';
import type { ServiceKind } from '../services/service.ts';
import { BroadcastService } from './service.ts';

const CONSENSUS_DEFAULT: BroadcastConsensus = 'fast-ct';
const CHOICES: readonly BroadcastConsensus[] = [CONSENSUS_DEFAULT, 'chandra-toueg'];
const NAME = 'broadcast';

/** Members with different consensus do not serve each other in it. Tests come to the limits sooner. Throws TENURE_BAD_ARGUMENT. */
export function broadcastWith(consensus: BroadcastConsensus, limits?: BroadcastLimits): ServiceKind<BroadcastService> {
  if (!CHOICES.includes(consensus)) {
    throw new TenureError('TENURE_BAD_ARGUMENT', `consensus is ${CHOICES.map((one) => `'${one}'`).join(' or ')}, not '${consensus}'`);
  }
  return {
    number: 2,
    name: NAME,
    text: `${NAME}:${consensus}`,
    disk: 'used',
    begins: 'asked',
    isForClients: true,
    rouses: (bytes, start) => !isSurvey(bytes, start),
    run: (ground) => new BroadcastService(ground, consensus, limits),
  };
}

export const BROADCAST: ServiceKind<BroadcastService> = broadcastWith(CONSENSUS_DEFAULT);
