/** Leases on storage, made safe and to the letter: all that the simulator knows of them. */
import { kit, type Kit } from '../../kit.ts';
import { deltaLease, deltaLeaseCas, deltaLeaseLiteral, deltaLeaseNd } from './protocol.ts';

export const storageLeaseKits: readonly Kit[] = [
  kit({ protocol: deltaLease }),
  kit({ protocol: deltaLeaseNd }),
  kit({ protocol: deltaLeaseCas }),
  kit({ protocol: deltaLeaseLiteral }),
];
