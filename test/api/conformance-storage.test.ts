/** Leases on storage keep what every lease service has to, on virtual time. Real stores are in a file of their own. */
import { describe, it } from 'vitest';
import { leaseServiceConformance } from '../../src/api/conformance.ts';
import { virtualStorage } from './storage-places.ts';

const STORAGE = { ordered: false, watch: true, list: true, cut: true };

describe.each(['compare-and-set', 'plain'] as const)('a test storage with %s', (engine) => {
  leaseServiceConformance({ test: it, open: () => virtualStorage(engine), can: { ...STORAGE, crash: true, virtualTime: true } });
});
