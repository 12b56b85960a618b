/** The quorum engine: all that the simulator knows of it. */
import { kit, type Kit } from '../../kit.ts';
import { quorum } from './protocol.ts';
import { quorumSmallWorld } from './small-world.ts';
import { quorumStaging, quorumTapeToScript } from './staging.ts';

export const quorumKit: Kit = kit({
  protocol: quorum,
  staging: quorumStaging,
  tapeToScript: quorumTapeToScript,
  smallWorld: quorumSmallWorld,
});
