/** Leases on storage, made safe and to the letter: all that the simulator knows of them. */
import { kit, type Kit } from '../../kit.ts';
import { STORAGE_VARIANTS, storageLeaseProtocol } from './protocol.ts';
import { storageSmallWorld } from './small-world.ts';
import { storageStaging, storageTapeToScript } from './staging.ts';

export const storageLeaseKits: readonly Kit[] = STORAGE_VARIANTS.map((variant) =>
  kit({
    protocol: storageLeaseProtocol(variant),
    staging: storageStaging(variant),
    tapeToScript: storageTapeToScript,
    ...(variant.kind === 'either' ? {} : { smallWorld: storageSmallWorld(variant.kind) }),
  }),
);
