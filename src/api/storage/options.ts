/** What `openStorage` is told, and what follows from it for the parameters of the store. */
import type { RenewalKind } from '../../core/index.ts';
import { parseDuration, spanUs, TenureError, type Duration, type OptionTable } from '../../kernel/index.ts';
import { OPEN_STORE_OPTIONS, type OpenStoreOptions, type Parameters } from '../../store/index.ts';
import type { HistoryOptions } from '../observing/history-file.ts';
import type { Logger } from '../observing/logging.ts';

/** How leases are kept: one record a name that is replaced on a condition, or two plain registers a name. */
export type StorageEngineName = 'compare-and-set' | 'plain';

export interface StorageOptions extends OpenStoreOptions {
  /** δ: how long an access may take, as a rule. A δ that is too small costs progress, never safety. What the store was set up with unless told otherwise; another one is refused. */
  readonly delta?: Duration;
  /** Δ: the longest term of any lease on the store. What it was set up with unless told otherwise; another one is refused. */
  readonly maxTerm?: Duration;
  /** ρ: how far the rate of any clock may be off. What the store was set up with unless told otherwise; another one is refused. */
  readonly rateError?: number;
  /** `compare-and-set` where the store can, unless it was set up otherwise; the same for all users of the store, another one is refused. */
  readonly engine?: StorageEngineName;
  /** How plain leases are renewed, Figure 5 (`eventual-nd`, the default) or section 7.1 of the paper (`nd`): faster, but if an assumption ever breaks, two holders may renew for ever. */
  readonly renewal?: RenewalKind;
  /** Tells people which process this is. */
  readonly name?: string;
  /** Where to log, in pino's shape; nowhere unless told otherwise. */
  readonly logger?: Logger;
  /** A file for the history of this process, which `tenure check` judges; or a directory. */
  readonly history?: string | HistoryOptions;
}

/** Options of leases; the others open the store. */
const OF_LEASES: OptionTable<Omit<StorageOptions, keyof OpenStoreOptions>> = {
  delta: 'any',
  maxTerm: 'any',
  rateError: 'number',
  engine: 'any',
  renewal: 'any',
  name: 'text',
  logger: 'object',
  history: 'any',
};

export const STORAGE_OPTIONS: OptionTable<StorageOptions> = { ...OF_LEASES, ...OPEN_STORE_OPTIONS };

const RATE_PPM = 1_000_000;

/** What the caller asks the parameters of the store to be. */
export function wantedParameters({ delta, maxTerm, rateError, engine }: StorageOptions): Partial<Parameters> {
  if (engine !== undefined && engine !== 'compare-and-set' && engine !== 'plain') {
    throw new TenureError('TENURE_BAD_ARGUMENT', `engine is 'compare-and-set' or 'plain', not '${String(engine)}'`);
  }
  return {
    ...(delta === undefined ? {} : { deltaUs: spanUs(parseDuration(delta)) }),
    ...(maxTerm === undefined ? {} : { maxTermUs: spanUs(parseDuration(maxTerm)) }),
    ...(rateError === undefined ? {} : { rateErrorPpm: Math.round(rateError * RATE_PPM) }),
    ...(engine === undefined ? {} : { isPlain: engine === 'plain' }),
  };
}
