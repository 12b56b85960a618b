/** Opening a store by its URL. Whatever is behind it, nobody gets it before it has passed the probe. */
import { fileURLToPath } from 'node:url';
import { TenureError } from '../kernel/index.ts';
import type { AccessOptions, Store } from './contract.ts';
import { FileStore } from './file/store.ts';
import { memorySpace, MemoryStore } from './memory.ts';
import { qualify } from './probe.ts';

export interface OpenStoreOptions extends AccessOptions {
  /**
   * What becomes of a place that is no store yet: it is made one if that can be done exclusively (`adopt`, unless told
   * otherwise), in any case (`init`, the explicit act), or never.
   */
  readonly create?: 'adopt' | 'init' | 'never';
}

type Opener = (url: URL, options: OpenStoreOptions) => Promise<Store>;

const OPENERS: Readonly<Record<string, Opener>> = {
  'memory:': async (url) => {
    settingsOf(url, []);
    return new MemoryStore(memorySpace(url.pathname), url.href);
  },
  'file:': async (url, { create }) => {
    const settings = settingsOf(url, ['swap', 'sync']);
    const path = fileURLToPath(new URL(url.pathname, 'file:'));
    return await FileStore.open({
      path,
      url: url.href,
      ...(create === undefined ? {} : { create }),
      ...switchOf(url, settings, 'swap'),
      ...switchOf(url, settings, 'sync'),
    });
  },
};

/** A store that has passed the probe. The caller closes it. */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<Store> {
  const parsed = parse(url);
  const opener = OPENERS[parsed.protocol];
  if (!opener) throw bad(url, `there is no store of the kind ${parsed.protocol} (there are ${Object.keys(OPENERS).join(', ')})`);
  const store = await opener(parsed, options);
  try {
    await qualify(store, options);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

function parse(url: string): URL {
  // A relative path in a file URL would silently be taken from the root.
  if (/^file:(?!\/\/\/)/.test(url)) throw bad(url, 'a directory is file:/// and its whole path, such as file:///var/lib/leases');
  try {
    return new URL(url);
  } catch {
    throw bad(url, 'it is no URL, such as file:///var/lib/leases');
  }
}

/** What stands behind the question mark. */
function settingsOf(url: URL, known: readonly string[]): URLSearchParams {
  for (const name of url.searchParams.keys()) {
    if (!known.includes(name))
      throw bad(url.href, `it has the unknown setting ${name}${known.length > 0 ? ` (there are ${known.join(', ')})` : ''}`);
  }
  return url.searchParams;
}

function switchOf<Name extends string>(url: URL, settings: URLSearchParams, name: Name): Partial<Record<Name, boolean>> {
  const value = settings.get(name);
  if (value === null) return {};
  if (value !== 'on' && value !== 'off') throw bad(url.href, `${name} is on or off, not ${value}`);
  return { [name]: value === 'on' } as Partial<Record<Name, boolean>>;
}

/** Without what stands between the slashes and the host: it may be a password. */
function bad(url: string, why: string): TenureError {
  const shown = url.replace(/\/\/[^/@]*@/, '//');
  return new TenureError('TENURE_BAD_ARGUMENT', `${shown} cannot name a store: ${why}`, { url: shown });
}
