/** Cells of the quorum engine whose members and terms change while they run: all that the simulator knows of them. */
import { kit, type Kit } from '../../kit.ts';
import { viewsProtocol } from './protocol.ts';
import { viewsSmallWorld } from './small-world.ts';
import { viewsStaging } from './staging.ts';

export const viewsKit: Kit = kit({ protocol: viewsProtocol, staging: viewsStaging, smallWorld: viewsSmallWorld });
