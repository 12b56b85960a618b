/**
 * A lease on one item of a collection (S10): the collection is held shared and the item besides, by one call. An exclusive holder of the collection excludes
 * every item. The item's lease stands for both: it ends with the earlier of the two, and gives both back.
 */
import { checkOptions, parseDuration, TenureError } from '../../kernel/index.ts';
import type { Clocks } from '../../runtime/index.ts';
import { lost } from './errors.ts';
import type { HeldLease } from './held-lease.ts';
import { heldBehind, type Lease } from './lease.ts';
import { ACQUIRE_OPTIONS, TRY_OPTIONS, type AcquireOptions, type TryResult } from './requests.ts';

export interface CollectionGround {
  readonly clocks: Clocks;
  readonly acquire: (name: string, options: AcquireOptions) => Promise<Lease>;
  readonly tryAcquire: (name: string, options: Omit<AcquireOptions, 'wait'>) => Promise<TryResult>;
  readonly giveBack: (leases: readonly HeldLease[]) => Promise<void>;
}

/** Holders of items hold the collection as its readers. */
function ofCollection({ wait, term, signal, maxHold, keepAlive }: AcquireOptions): AcquireOptions {
  const given = { wait, term, signal, maxHold, keepAlive };
  return { ...(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as AcquireOptions), mode: 'shared' };
}

function ofItem({ within: _within, ...rest }: AcquireOptions): AcquireOptions {
  return rest;
}

/** The collection that is named; the options are checked elsewhere. */
export function withinOf(options: AcquireOptions | null): string | undefined {
  return options?.within;
}

/** It would wait for itself. */
function checkItem(collection: string, name: string): void {
  if (name === collection)
    throw new TenureError('TENURE_BAD_ARGUMENT', `'${name}' cannot be an item of itself: 'within' names its collection`, { name });
}

/** First the collection, then the item, everywhere: so that no processes wait in a circle. */
export async function acquireWithin(collection: string, name: string, options: AcquireOptions, ground: CollectionGround): Promise<Lease> {
  const { clocks, acquire, giveBack } = ground;
  checkOptions('acquire', options, ACQUIRE_OPTIONS);
  checkItem(collection, name);
  const endUs = clocks.mono() + (options.wait === undefined ? Infinity : parseDuration(options.wait));
  const above = await acquire(collection, ofCollection(options));
  try {
    const left = endUs === Infinity ? {} : { wait: Math.max(0, endUs - clocks.mono()) / 1000 };
    return await bound(above, await acquire(name, { ...ofItem(options), ...left }), giveBack);
  } catch (error) {
    await giveBack([heldBehind(above)]);
    throw error;
  }
}

export async function tryAcquireWithin(
  collection: string,
  name: string,
  options: AcquireOptions,
  { tryAcquire, giveBack }: CollectionGround,
): Promise<TryResult> {
  checkOptions('tryAcquire', options, TRY_OPTIONS);
  checkItem(collection, name);
  const above = await tryAcquire(collection, ofCollection(options));
  if (!above.ok) return above;
  try {
    const item = await tryAcquire(name, ofItem(options));
    if (item.ok) return { ok: true, lease: await bound(above.lease, item.lease, giveBack) };
    await giveBack([heldBehind(above.lease)]);
    return item;
  } catch (error) {
    await giveBack([heldBehind(above.lease)]);
    throw error;
  }
}

async function bound(above: Lease, item: Lease, giveBack: CollectionGround['giveBack']): Promise<Lease> {
  if (!above.valid) {
    await giveBack([heldBehind(item)]);
    throw lost(above, 'was lost while an item of it was waited for');
  }
  heldBehind(item).standUnder(heldBehind(above));
  return item;
}
