/** Opening a store by its URL. Whatever is behind it, no caller gets it before it has passed the probe. */
import { checkOptions } from '../kernel/index.ts';
import { connectStore, OPEN_STORE_OPTIONS, type OpenStoreOptions } from './by-url.ts';
import type { Store } from './contract.ts';
import { qualify } from './probe.ts';

export { OPEN_STORE_OPTIONS, type OpenStoreOptions } from './by-url.ts';

/** A store that has passed the probe. The caller closes it. */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<Store> {
  checkOptions('openStore', options, OPEN_STORE_OPTIONS);
  const store = await connectStore(url, options);
  try {
    await qualify(store, options);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}
