/** The engines of leases on storage: which core keeps them on this store, its timing, and what it can do. */
import {
  CasLeaseCore,
  DeltaLeaseCore,
  deriveStorageTiming,
  type Boot,
  type Core,
  type RenewalKind,
  type StorageCommand,
  type StorageEvent,
  type StorageTiming,
} from '../../core/index.ts';
import type { MonoUs } from '../../kernel/index.ts';
import type { Parameters, Store } from '../../store/index.ts';
import type { LeaseCore, LeaseEngine } from '../leases/engine.ts';
import type { StorageEngineName } from './options.ts';

/** The number of the one shared unit. */
export const STORE_UNIT = 0;

export interface StorageLeaseCore extends LeaseCore, Core<never, StorageCommand, StorageEvent> {
  /** How long nothing is taken, because the store may have lost writes. */
  silentForUs(mono: MonoUs): number;
  /** Whether a lease that no caller wants any more is not given back yet. */
  readonly isLettingGo: boolean;
}

/** Names that are asked about at once: no more than the store can answer in time. On plain registers most of the time is a pause. */
const ASKED_AT_ONCE: Readonly<Record<StorageEngineName, number>> = { 'compare-and-set': 16, plain: 64 };

export interface StorageEngine extends LeaseEngine {
  readonly name: StorageEngineName;
  readonly askedAtOnce: number;
  readonly timing: StorageTiming;
  /** What all users of the store go by. */
  readonly parameters: Parameters;
  make(boot: Boot): StorageLeaseCore;
}

export function storageEngine(store: Store, parameters: Parameters, renewal: RenewalKind = 'eventual-nd'): StorageEngine {
  const timing = deriveStorageTiming(parameters);
  const isPlain = !store.can.swap || parameters.isPlain === true;
  const name = isPlain ? 'plain' : 'compare-and-set';
  const { list } = store.can;
  return {
    name,
    askedAtOnce: ASKED_AT_ONCE[name],
    parameters: { ...parameters, isPlain },
    granter: `the store ${store.url}`,
    other: 'use another kind of store',
    timing,
    can: {
      ordered: false,
      renew: true,
      releaseLater: false,
      endEarly: false,
      shared: true,
      changeMode: false,
      handOver: false,
      slots: false,
      watch: list ? 'prefix' : 'name',
      list,
    },
    make(boot) {
      const config = { unit: STORE_UNIT, timing };
      return isPlain ? new DeltaLeaseCore({ ...config, renewal }, boot) : new CasLeaseCore(config, boot);
    },
  };
}
