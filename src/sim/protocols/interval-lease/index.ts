/** Interval leases: all that the simulator knows of them. */
import { kit, type Kit } from '../../kit.ts';
import { intervalProtocol } from './protocol.ts';
import { intervalSmallWorld } from './small-world.ts';
import { intervalStaging, intervalTapeToScript } from './staging.ts';

export const intervalKit: Kit = kit({
  protocol: intervalProtocol,
  staging: intervalStaging,
  tapeToScript: intervalTapeToScript,
  smallWorld: intervalSmallWorld,
});
