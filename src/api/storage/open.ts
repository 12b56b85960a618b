/** `openStorage`: a store, its parameters and its epoch become a client of leases. Whatever is wrong with the store is said before anything relies on it. */
import { randomBytes } from 'node:crypto';
import { checkOptions, incarnation, SeededChooser, TenureError, type Incarnation } from '../../kernel/index.ts';
import { SystemClocks } from '../../runtime/index.ts';
import { adoptParameters, openStore, qualify, type AccessOptions, type Parameters, type Store } from '../../store/index.ts';
import { storageEngine } from './engine.ts';
import { askEpoch } from './epochs.ts';
import { StorageNode, type StorageSurroundings } from './node.ts';
import { StorageObserver } from './observer.ts';
import { STORAGE_OPTIONS, wantedParameters, type StorageOptions } from './options.ts';
import { LeaseStorage } from './storage.ts';

const MORE_BITS = 5;

/**
 * Leases on a store, by its URL or as it is. It fails unless the store passes the probe (`TENURE_STORE_UNFIT`), and unless its
 * parameters are the requested ones (`TENURE_STORE_PARAMS`); where it has none they are created, if the store can do so
 * exclusively. A store that was handed over is not closed with the leases.
 */
export async function openStorage(where: string | Store, options: StorageOptions = {}): Promise<LeaseStorage> {
  checkOptions('openStorage', options, STORAGE_OPTIONS);
  if (typeof where !== 'string' && typeof (where as Partial<Store> | undefined)?.epoch !== 'function') {
    throw new TenureError('TENURE_BAD_ARGUMENT', "openStorage takes a URL, like 'file:///var/lib/leases', or a store");
  }
  const wanted = wantedParameters(options);
  const { create } = options;
  const storeOptions = { ...accessOf(options), ...(create === undefined ? {} : { create }) };
  const store = typeof where === 'string' ? await openStore(where, storeOptions) : where;
  const isOwned = typeof where === 'string';
  try {
    if (!isOwned) {
      // It may have started anew since its owner looked.
      await askEpoch(store, accessOf(options));
      await qualify(store, options);
    }
    const node = await startNode(store, isOwned, wanted, options, {
      clocks: new SystemClocks(),
      chooser: new SeededChooser(randomBytes(6).readUIntBE(0, 6)),
    });
    return new LeaseStorage(node);
  } catch (error) {
    if (isOwned) await store.close();
    throw error;
  }
}

async function startNode(
  store: Store,
  isOwned: boolean,
  wanted: Partial<Parameters>,
  options: StorageOptions,
  surroundings: StorageSurroundings,
): Promise<StorageNode> {
  if (wanted.isPlain === false && !store.can.swap) {
    throw new TenureError('TENURE_STORE_PARAMS', `the store ${store.url} cannot compare and set: ask for nothing, or for engine 'plain'`, {
      url: store.url,
    });
  }
  const parameters = await adoptParameters(store, wanted, options);
  const engine = storageEngine(store, parameters, options.renewal);
  return await runNode({ store, isOwned, engine, born: bornNow(), options, surroundings });
}

/** The testing kit begins here, with parts of its own. */
export async function runNode({
  store,
  isOwned,
  engine,
  born,
  options,
  surroundings,
}: {
  readonly store: Store;
  readonly isOwned: boolean;
  readonly engine: ReturnType<typeof storageEngine>;
  readonly born: Incarnation;
  readonly options: Pick<StorageOptions, 'name' | 'logger' | 'history' | 'timeoutMs' | 'signal'>;
  readonly surroundings: StorageSurroundings;
}): Promise<StorageNode> {
  const { name = `process-${born}`, logger, history } = options;
  const observer = new StorageObserver({ cell: store.url, node: name, incarnation: born, logger, history });
  const node = new StorageNode({ store, isOwned, engine, incarnation: born, surroundings, observer });
  try {
    await node.begin(accessOf(options));
    return node;
  } catch (error) {
    node.die();
    await observer.close();
    throw error;
  }
}

function accessOf({ timeoutMs, signal }: AccessOptions): AccessOptions {
  return { ...(timeoutMs === undefined ? {} : { timeoutMs }), ...(signal === undefined ? {} : { signal }) };
}

/** 53 random bits, and never 0: no other start of any process has the same. */
function bornNow(): Incarnation {
  const bytes = randomBytes(7);
  return incarnation(Math.max(1, bytes.readUIntBE(0, 6) * 2 ** MORE_BITS + ((bytes[6] ?? 0) >>> (8 - MORE_BITS))));
}
