/** Consensus: all that the simulator knows of it. */
import { kit, type Kit } from '../../kit.ts';
import { fastCt } from './fast-ct.ts';
import { chandraToueg } from './protocol.ts';

export const consensusKits: readonly Kit[] = [kit({ protocol: chandraToueg }), kit({ protocol: fastCt })];
