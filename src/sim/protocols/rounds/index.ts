/** Flease and PaxosLease, made safe and to the letter: all that the simulator knows of them. */
import { kit, type Kit } from '../../kit.ts';
import { fleaseProtocol, fleaseLiteral, paxosLeaseProtocol, paxosLeaseLiteral, paxosLeaseSkewed } from './protocol.ts';
import { fleaseSmallWorld, paxosLeaseSkewedSmallWorld, paxosLeaseSmallWorld } from './small-world.ts';
import { roundStaging, roundTapeToScript } from './staging.ts';

const FLEASE = { staging: roundStaging('flease', 'absolute'), tapeToScript: roundTapeToScript };
const PAXOSLEASE = { staging: roundStaging('paxoslease', 'relative'), tapeToScript: roundTapeToScript };
const SKEWED = { staging: roundStaging('paxoslease', 'absolute'), tapeToScript: roundTapeToScript };

export const roundKits: readonly Kit[] = [
  kit({ ...FLEASE, protocol: fleaseProtocol, smallWorld: fleaseSmallWorld }),
  kit({ ...FLEASE, protocol: fleaseLiteral }),
  kit({ ...PAXOSLEASE, protocol: paxosLeaseProtocol, smallWorld: paxosLeaseSmallWorld }),
  kit({ ...SKEWED, protocol: paxosLeaseSkewed, smallWorld: paxosLeaseSkewedSmallWorld }),
  kit({ ...SKEWED, protocol: paxosLeaseLiteral }),
];
