/** Consensus: all that the simulator knows of it. */
import { kit, type Kit } from '../../kit.ts';
import { fastCt } from './fast-ct.ts';
import { chandraToueg } from './protocol.ts';
import { consensusSmallWorld } from './small-world.ts';
import { consensusStaging, consensusTapeToScript, fastStaging, fastTapeToScript } from './staging.ts';

export const consensusKits: readonly Kit[] = [
  kit({ protocol: chandraToueg, staging: consensusStaging, tapeToScript: consensusTapeToScript, smallWorld: consensusSmallWorld }),
  kit({ protocol: fastCt, staging: fastStaging, tapeToScript: fastTapeToScript }),
];
