/** Registers over several units of storage: all that the simulator knows of them. */
import { kit, type Kit } from '../../kit.ts';
import { replicatedRegister } from './register-protocol.ts';

export const replicatedKits: readonly Kit[] = [kit({ protocol: replicatedRegister })];
