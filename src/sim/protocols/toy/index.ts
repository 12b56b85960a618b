/** The toy: all that the simulator knows of it. */
import { kit, type Kit } from '../../kit.ts';
import { toy } from './protocol.ts';
import { toySmallWorld } from './small-world.ts';
import { toyStaging, toyTapeToScript } from './staging.ts';

export const toyKit: Kit = kit({ protocol: toy, staging: toyStaging, tapeToScript: toyTapeToScript, smallWorld: toySmallWorld });
