/** Opening a store by its URL. Whatever is behind it, nobody gets it before it has passed the probe. */
import { connectStore, type OpenStoreOptions } from './by-url.ts';
import type { Store } from './contract.ts';
import { qualify } from './probe.ts';

export type { OpenStoreOptions } from './by-url.ts';

/** A store that has passed the probe. The caller closes it. */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<Store> {
  const store = await connectStore(url, options);
  try {
    await qualify(store, options);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}
