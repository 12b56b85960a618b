/** Several leases at once: all of them, or none. They are taken in one order everywhere (of their bytes), so that two processes that want the same names never wait for each other. */
import { checkName, checkOptions, compareNames, parseDuration, TenureError } from '../../kernel/index.ts';
import type { Clocks } from '../../runtime/index.ts';
import { lost } from './errors.ts';
import type { Lease } from './lease.ts';
import { ACQUIRE_OPTIONS, type AcquireOptions } from './requests.ts';

/** Names that one call takes together, at most. */
export const ACQUIRE_ALL_MAX = 1000;

interface AcquireAllGround {
  readonly clocks: Clocks;
  readonly acquire: (name: string, options: AcquireOptions) => Promise<Lease>;
  readonly giveBack: (leases: readonly Lease[]) => Promise<void>;
}

export async function acquireAll(names: readonly string[], options: AcquireOptions, ground: AcquireAllGround): Promise<Lease[]> {
  const { clocks, acquire, giveBack } = ground;
  checkOptions('acquireAll', options, ACQUIRE_OPTIONS);
  if (!Array.isArray(names)) throw new TenureError('TENURE_BAD_ARGUMENT', "the names of acquireAll are a list, like ['a', 'b']");
  const endUs = clocks.mono() + (options.wait === undefined ? Infinity : parseDuration(options.wait));
  const wanted = [...new Set(names)];
  for (const name of wanted) checkName(name);
  if (wanted.length > ACQUIRE_ALL_MAX) {
    throw new TenureError('TENURE_LIMIT', `${wanted.length} names at once, and ${ACQUIRE_ALL_MAX} are the limit: take them in parts`, {
      limit: 'names of acquireAll',
      max: ACQUIRE_ALL_MAX,
    });
  }
  const leases: Lease[] = [];
  try {
    for (const name of wanted.sort(compareNames)) {
      // What is left of the time given for all. With nothing left it is a try: a free lease is not refused for want of a round trip.
      const leftMs = Math.max(0, endUs - clocks.mono()) / 1000;
      leases.push(await acquire(name, endUs === Infinity ? options : { ...options, wait: leftMs }));
    }
    const gone = leases.find((lease) => !lease.valid);
    if (gone) throw lost(gone, 'was lost while others were waited for');
    return leases;
  } catch (error) {
    await giveBack(leases);
    throw error;
  }
}
