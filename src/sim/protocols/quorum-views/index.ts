/** Cells of the quorum engine whose members and terms change while they run: all that the simulator knows of them. */
import { kit, type Kit } from '../../kit.ts';
import { viewsProtocol } from './protocol.ts';

export const viewsKit: Kit = kit({ protocol: viewsProtocol });
