/** What a URL means: which kind of store, where, with which settings. The store has not been probed yet. */
import { fileURLToPath } from 'node:url';
import { TenureError, type OptionTable } from '../kernel/index.ts';
import type { AccessOptions, Store } from './contract.ts';
import { BlockStore } from './block/store.ts';
import type { EtcdAddress } from './etcd/gateway.ts';
import { EtcdStore } from './etcd/store.ts';
import { FileStore } from './file/store.ts';
import { memorySpace, MemoryStore } from './memory.ts';
import { isTableName } from './postgres/statements.ts';
import { PostgresStore } from './postgres/store.ts';
import { qualify } from './probe.ts';
import { RedisStore } from './redis/store.ts';
import { beginUnitsAnew, type BegunAnew } from './replicated/beginning-anew.ts';
import { ReplicatedStore } from './replicated/store.ts';
import { S3Store } from './s3/store.ts';

export interface OpenStoreOptions extends AccessOptions {
  /**
   * What becomes of a place that is no store yet: it is made one if that can be done exclusively (`adopt`, unless told
   * otherwise), in any case (`init`, the explicit act), or never.
   */
  readonly create?: 'adopt' | 'init' | 'never';
}

export const OPEN_STORE_OPTIONS: OptionTable<OpenStoreOptions> = { create: 'any', timeoutMs: 'any', signal: 'signal' };

const UNITS_MIN = 3;
const UNITS_MAX = 9;
/** A late write to a sector could set such a unit back, and units have no units. */
const NO_UNITS = ['block:', 'replicated:'];

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
  'block:': openBlock,
  'etcd:': openEtcd,
  'etcds:': openEtcd,
  'postgres:': openPostgres,
  'postgresql:': openPostgres,
  'redis:': openRedis,
  'rediss:': openRedis,
  'replicated:': openReplicated,
  's3:': openS3,
};

async function openBlock(url: URL, options: OpenStoreOptions): Promise<Store> {
  const settings = settingsOf(url, ['direct', 'bytes']);
  if (url.hostname !== '' || url.pathname.length < 2) throw bad(url.href, 'a file or a device is block:/// and its whole path');
  const bytes = settings.get('bytes');
  if (bytes !== null && !/^[1-9]\d{0,14}$/.test(bytes)) throw bad(url.href, `bytes is how long a file is made, not ${bytes}`);
  const { create } = options;
  return await BlockStore.open(
    {
      path: decodeURIComponent(url.pathname),
      url: url.href,
      ...switchOf(url, settings, 'direct'),
      ...(bytes === null ? {} : { bytes: Number(bytes) }),
      ...(create === undefined ? {} : { create }),
    },
    options,
  );
}

const ETCD_PORT = 2379;

async function openEtcd(url: URL, options: OpenStoreOptions): Promise<Store> {
  const settings = settingsOf(url, ['also']);
  const space = decodeURIComponent(url.pathname.replace(/^\/+|\/+$/g, '')) || 'tenure';
  if (!/^[\w.:/-]{1,64}$/.test(space)) throw bad(url.href, `${space} is no space: up to 64 letters, digits and any of _ . : - /`);
  if (url.hostname === '') throw bad(url.href, 'it names no server, such as etcd://host:2379/leases');
  const { create } = options;
  return await EtcdStore.open(
    {
      url: withoutPassword(url),
      addresses: [url.host, ...settings.getAll('also')].map((text) => addressOf(url, text)),
      isTls: url.protocol === 'etcds:',
      space,
      ...(url.username === '' ? {} : { user: { name: decodeURIComponent(url.username), password: decodeURIComponent(url.password) } }),
      ...(create === undefined ? {} : { create }),
    },
    options,
  );
}

function addressOf(url: URL, text: string): EtcdAddress {
  const [, host = '', port] = /^(\[[^\]]+\]|[^:]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (host === '') throw bad(url.href, `${text} is no address, such as host:2379`);
  return { host: host.replace(/^\[|\]$/g, ''), port: port === undefined ? ETCD_PORT : Number(port) };
}

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

async function openReplicated(url: URL, options: OpenStoreOptions): Promise<ReplicatedStore> {
  return await openUnits(url, options.create === 'init' ? 'init' : 'never', options);
}

/** Opens a replicated store to repair its units: also wiped units. The caller closes it. */
export async function connectForRepair(url: string, options: AccessOptions = {}): Promise<ReplicatedStore> {
  const parsed = parse(url);
  if (parsed.protocol !== 'replicated:') throw bad(parsed.href, 'only the units of a replicated store are repaired');
  return await openUnits(parsed, 'repair', options);
}

/** A replicated store whose units lost too much begins anew with their remaining registers. No other process may use it meanwhile. */
export async function beginAnew(url: string, options: AccessOptions = {}): Promise<BegunAnew> {
  const parsed = parse(url);
  if (parsed.protocol !== 'replicated:') throw bad(parsed.href, 'only a replicated store begins anew');
  const units = unitsOf(parsed);
  const stores: Store[] = [];
  try {
    // One after the other: whichever is missing, nothing was changed.
    for (const unit of units) stores.push(await openUnit(unit.url, 'init', options));
    const shown = units.map((unit) => unit.shown);
    return await beginUnitsAnew(withoutPassword(parsed), stores, shown, options);
  } finally {
    await Promise.all(stores.map(async (store) => await store.close()));
  }
}

async function openUnit(unit: string, how: 'init' | 'never', access: AccessOptions): Promise<Store> {
  const store = await connectStore(unit, { create: how });
  try {
    await qualify(store, access.timeoutMs === undefined ? {} : { timeoutMs: access.timeoutMs });
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function openUnits(url: URL, create: 'init' | 'never' | 'repair', access: AccessOptions): Promise<ReplicatedStore> {
  const units = unitsOf(url);
  const connect = async (unit: string, how: 'init' | 'never'): Promise<Store> => await openUnit(unit, how, access);
  return await ReplicatedStore.open({ url: withoutPassword(url), units, connect, create }, access);
}

/** In an order that does not depend on how they were written down. */
function unitsOf(url: URL): { readonly url: string; readonly shown: string }[] {
  const units = settingsOf(url, ['unit']).getAll('unit');
  const parsed = units.map((unit) => ({ url: unit, shown: shownUrl(unit) }));
  if (units.length < UNITS_MIN || units.length > UNITS_MAX) {
    throw bad(url.href, `it has from ${UNITS_MIN} to ${UNITS_MAX} units, such as replicated:?unit=file:///a&unit=file:///b&unit=file:///c`);
  }
  const same = parsed.find(({ shown }, index) => parsed.findIndex((other) => other.shown === shown) < index);
  if (same) throw bad(url.href, `${same.shown} is there twice`);
  const odd = parsed.find(({ shown }) => NO_UNITS.some((scheme) => shown.startsWith(scheme)));
  if (odd) throw bad(url.href, `${odd.shown} cannot be a unit`);
  return parsed.sort((a, b) => (a.shown < b.shown ? -1 : 1));
}

async function openS3(url: URL, options: OpenStoreOptions): Promise<Store> {
  const settings = settingsOf(url, ['endpoint', 'region', 'swap']);
  const space = decodeURIComponent(url.pathname.replace(/^\/+|\/+$/g, '')) || 'tenure';
  if (url.hostname === '') throw bad(url.href, 'it names no bucket, such as s3://bucket/leases');
  if (!/^[\w.:/-]{1,128}$/.test(space)) throw bad(url.href, `${space} is no space: up to 128 letters, digits and any of _ . : - /`);
  const [endpoint, region] = [settings.get('endpoint'), settings.get('region')];
  if (endpoint !== null && !URL.canParse(endpoint)) throw bad(url.href, `endpoint is the URL of a server, not ${endpoint}`);
  const { create } = options;
  return await S3Store.open(
    {
      url: withoutPassword(url),
      bucket: url.host,
      space,
      ...switchOf(url, settings, 'swap'),
      ...(endpoint === null ? {} : { endpoint }),
      ...(region === null ? {} : { region }),
      ...(url.username === ''
        ? {}
        : { credentials: { accessKeyId: decodeURIComponent(url.username), secretAccessKey: decodeURIComponent(url.password) } }),
      ...(create === undefined ? {} : { create }),
    },
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

/** The part behind the question mark. */
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
  if (url.protocol === 'replicated:')
    return `replicated:?${unitsOf(url)
      .map(({ shown }) => `unit=${shown.replace(/[%&+#]/g, encodeURIComponent)}`)
      .join('&')}`;
  const shown = new URL(url);
  shown.password = '';
  for (const name of ['password', 'sslpassword']) shown.searchParams.delete(name);
  return shown.href;
}

/** Leaves out the text between the slashes and the host: it may be a password. */
function bad(url: string, why: string): TenureError {
  const shown = url.replace(/\/\/[^/@]*@/, '//');
  return new TenureError('TENURE_BAD_ARGUMENT', `${shown} cannot name a store: ${why}`, { url: shown });
}
