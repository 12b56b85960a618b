/** Clients of shared storage: all that the simulator knows of them. */
import { kit, type Kit } from '../../kit.ts';
import { register } from './protocol.ts';
import { registerStaging, registerTapeToScript } from './staging.ts';

export const registerKit: Kit = kit({ protocol: register, staging: registerStaging, tapeToScript: registerTapeToScript });
