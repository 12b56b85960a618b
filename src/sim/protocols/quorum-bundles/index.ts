/** Cells of the quorum engine whose holders renew in bulk: all that the simulator knows of them. */
import { kit, type Kit } from '../../kit.ts';
import { bundlesProtocol } from './protocol.ts';

export const bundlesKit: Kit = kit({ protocol: bundlesProtocol });
