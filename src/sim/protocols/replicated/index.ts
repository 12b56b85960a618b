/** Registers over several units of storage: all that the simulator knows of them. */
import { kit, type Kit } from '../../kit.ts';
import { rankedConsensus } from './deciding-protocol.ts';
import { deltaLeaseReplicated } from './lease-protocol.ts';
import { rankedRegister } from './ranked-protocol.ts';
import { replicatedRegister } from './register-protocol.ts';

export const replicatedKits: readonly Kit[] = [
  kit({ protocol: replicatedRegister }),
  kit({ protocol: deltaLeaseReplicated }),
  kit({ protocol: rankedRegister }),
  kit({ protocol: rankedConsensus }),
];
