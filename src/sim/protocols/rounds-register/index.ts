/** The round-based register: all that the simulator knows of it. */
import { kit, type Kit } from '../../kit.ts';
import { roundsRegisterProtocol } from './protocol.ts';
import { roundsRegisterSmallWorld } from './small-world.ts';
import { roundsRegisterStaging, roundsRegisterTapeToScript } from './staging.ts';

export const roundsRegisterKit: Kit = kit({
  protocol: roundsRegisterProtocol,
  staging: roundsRegisterStaging,
  tapeToScript: roundsRegisterTapeToScript,
  smallWorld: roundsRegisterSmallWorld,
});
