/** What a URL means: which kind of store, where, with which settings. What comes out has not been probed yet. */
import { fileURLToPath } from 'node:url';
import { TenureError, type OptionTable } from '../kernel/index.ts';
import type { AccessOptions, Store } from './contract.ts';
import { FileStore } from './file/store.ts';
import { memorySpace, MemoryStore } from './memory.ts';
import { isTableName } from './postgres/statements.ts';
import { PostgresStore } from './postgres/store.ts';
import { RedisStore } from './redis/store.ts';

export interface OpenStoreOptions extends AccessOptions {
  /**
   * What becomes of a place that is no store yet: it is made one if that can be done exclusively (`adopt`, unless told
   * otherwise), in any case (`init`, the explicit act), or never.
   */
  readonly create?: 'adopt' | 'init' | 'never';
}

export const OPEN_STORE_OPTIONS: OptionTable<OpenStoreOptions> = { create: 'any', timeoutMs: 'any', signal: 'signal' };

type Opener = (url: URL, options: OpenStoreOptions) => Promise<Store>;

const OPENERS: Readonly<Record<string, Opener>> = {
  'memory:': async (url) => {
    settingsOf(url, []);
    return new MemoryStore(memorySpace(url.pathname), url.href);
  },
  'file:': async (url, options) => {
    const { create } = options;
    const settings = settingsOf(url, ['swap', 'sync']);
    const path = fileURLToPath(new URL(url.pathname, 'file:'));
    return await FileStore.open(
      {
        path,
        url: url.href,
        ...(create === undefined ? {} : { create }),
        ...switchOf(url, settings, 'swap'),
        ...switchOf(url, settings, 'sync'),
      },
      options,
    );
  },
  'postgres:': openPostgres,
  'postgresql:': openPostgres,
  'redis:': openRedis,
  'rediss:': openRedis,
};

async function openPostgres(url: URL, options: OpenStoreOptions): Promise<Store> {
  const table = url.searchParams.get('table') ?? 'tenure_registers';
  if (!isTableName(table))
    throw bad(url.href, `${table} is no name of a table: small letters, digits and _, perhaps with a schema before a dot`);
  const connection = new URL(url);
  connection.searchParams.delete('table');
  const { create } = options;
  return await PostgresStore.open(
    { connectionString: connection.href, url: withoutPassword(url), table, ...(create === undefined ? {} : { create }) },
    options,
  );
}

async function openRedis(url: URL, options: OpenStoreOptions): Promise<Store> {
  const settings = settingsOf(url, ['space', 'replicas']);
  const space = settings.get('space') ?? 'tenure';
  if (!/^[\w.:-]{1,64}$/.test(space)) throw bad(url.href, `${space} is no space: up to 64 letters, digits and any of _ . : -`);
  const replicas = settings.get('replicas') ?? 'perhaps';
  if (replicas !== 'none' && replicas !== 'perhaps') throw bad(url.href, `replicas is none or perhaps, not ${replicas}`);
  const connection = new URL(url);
  connection.search = '';
  const { create } = options;
  return await RedisStore.open(
    { connectionString: connection.href, url: withoutPassword(url), space, replicas, ...(create === undefined ? {} : { create }) },
    options,
  );
}

/** The caller closes it. */
export async function connectStore(url: string, options: OpenStoreOptions = {}): Promise<Store> {
  const parsed = parse(url);
  return await openerOf(parsed)(parsed, options);
}

/** The URL as it may be shown: without a password. Throws if it cannot name a store. */
export function shownUrl(url: string): string {
  const parsed = parse(url);
  openerOf(parsed);
  return withoutPassword(parsed);
}

function openerOf(url: URL): Opener {
  const opener = OPENERS[url.protocol];
  if (!opener) throw bad(url.href, `there is no store of the kind ${url.protocol} (there are ${Object.keys(OPENERS).join(', ')})`);
  return opener;
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

function withoutPassword(url: URL): string {
  const shown = new URL(url);
  shown.password = '';
  for (const name of ['password', 'sslpassword']) shown.searchParams.delete(name);
  return shown.href;
}

/** Without what stands between the slashes and the host: it may be a password. */
function bad(url: string, why: string): TenureError {
  const shown = url.replace(/\/\/[^/@]*@/, '//');
  return new TenureError('TENURE_BAD_ARGUMENT', `${shown} cannot name a store: ${why}`, { url: shown });
}
