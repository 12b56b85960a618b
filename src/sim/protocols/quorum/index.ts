/** The quorum engine: all that the simulator knows of it. */
import { kit, type Kit } from '../../kit.ts';
import { quorumProtocol } from './protocol.ts';
import { quorumSmallWorld } from './small-world.ts';
import { quorumStaging, quorumTapeToScript } from './staging.ts';

export const quorumKit: Kit = kit({
  protocol: quorumProtocol,
  staging: quorumStaging,
  tapeToScript: quorumTapeToScript,
  smallWorld: quorumSmallWorld,
});
