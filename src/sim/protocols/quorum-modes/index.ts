/** What the quorum engine can do beside plain exclusive leases: all that the simulator knows of it. */
import { kit, type Kit } from '../../kit.ts';
import { modesProtocol } from './protocol.ts';

export const modesKit: Kit = kit({ protocol: modesProtocol });
