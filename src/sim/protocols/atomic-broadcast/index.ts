/** Atomic broadcast: all that the simulator knows of it. */
import { kit, type Kit } from '../../kit.ts';
import { atomicBroadcast } from './protocol.ts';

export const broadcastKit: Kit = kit({ protocol: atomicBroadcast });
