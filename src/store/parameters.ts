/**
 * What all users of one store must agree on: the format, δ (how long an access may take), Δ (the longest term) and
 * ρ (how far the rate of a clock may be off). They are written once, by exclusive creation; where the store cannot
 * create exclusively, by the explicit act `tenure store init`. Later users adopt them or are refused.
 */
import { decodeFloorRecord, deriveStorageTiming, encodeFloorRecord, FLOOR_KEY } from '../core/index.ts';
import { formatDuration, spanUs, TenureError, type SpanUs } from '../kernel/index.ts';
import type { AccessOptions, Store } from './contract.ts';
import { corrupt, laterFormat, openJson, sealJson } from './record.ts';

export interface Parameters {
  /** δ. Too small a one costs progress, never safety. */
  readonly deltaUs: SpanUs;
  /** Δ. */
  readonly maxTermUs: SpanUs;
  /** ρ, in millionths. */
  readonly rateErrorPpm: number;
  /** Leases are kept on plain registers though the store can compare and set. All users must do the same: the two ways do not exclude each other. */
  readonly isPlain?: boolean;
}

export const PARAMETERS_KEY = '_tenure/parameters';
export const WAITED_KEY = '_tenure/waited';
const FORMAT = 1;

/** Room for five renewals of four accesses each in the two thirds of a term that are left when renewals begin. */
export const TERM_DELTAS_MIN = 30;

const MAX_TERM_US = spanUs(15_000_000);
/** Clocks are slewed by far more than they drift: chrony's own limit is a twelfth. */
const RATE_ERROR_PPM = 100_000;

/** δ for stores that were not measured: generous, because a δ that is too small costs attempts. */
const DELTA_US: Readonly<Record<string, SpanUs>> = {
  memory: spanUs(10_000),
  file: spanUs(250_000),
  postgres: spanUs(250_000),
  redis: spanUs(100_000),
  etcd: spanUs(250_000),
  block: spanUs(250_000),
  s3: spanUs(1_000_000),
};

/** Where accesses are slow and each costs money. */
const MAX_TERM_US_OF: Readonly<Record<string, SpanUs>> = { s3: spanUs(60_000_000) };

export function defaultParameters(kind: string): Parameters {
  return { deltaUs: DELTA_US[kind] ?? spanUs(500_000), maxTermUs: MAX_TERM_US_OF[kind] ?? MAX_TERM_US, rateErrorPpm: RATE_ERROR_PPM };
}

/** The parameters of this store; null before any process wrote them. */
export async function readParameters(store: Store, options?: AccessOptions): Promise<Parameters | null> {
  const bytes = await store.read(PARAMETERS_KEY, options);
  return bytes === null ? null : parse(openJson(PARAMETERS_KEY, 'parameters', bytes));
}

/** The store's parameters. They must equal those the caller asked for; a store without parameters gets them. */
export async function adoptParameters(store: Store, wanted: Partial<Parameters> = {}, options?: AccessOptions): Promise<Parameters> {
  const found = await readParameters(store, options);
  if (found) return agreed(store, found, wanted);
  if (!store.can.swap) {
    throw new TenureError(
      'TENURE_STORE_PARAMS',
      `the store ${store.url} has no parameters, and cannot create them exclusively: run tenure store init ${store.url} once`,
      { url: store.url },
    );
  }
  return agreed(store, await createParameters(store, wanted, options), wanted);
}

/** The explicit act. `created` is false if they were there before, and then they must equal the requested ones. */
export async function initParameters(
  store: Store,
  wanted: Partial<Parameters> = {},
  options?: AccessOptions,
): Promise<{ parameters: Parameters; created: boolean }> {
  const found = await readParameters(store, options);
  if (found) return { parameters: agreed(store, found, wanted), created: false };
  const parameters = store.can.swap
    ? await createParameters(store, wanted, options)
    : await writeParameters(store, complete(store.kind, wanted), options);
  return { parameters: agreed(store, parameters, wanted), created: true };
}

/** Whether a process has waited out the first observation under this epoch (rule 23). */
export async function isWaitedOut(store: Store, epoch: string, options?: AccessOptions): Promise<boolean> {
  const bytes = await store.read(WAITED_KEY, options);
  if (bytes === null) return false;
  const content = openJson(WAITED_KEY, 'waited', bytes);
  return isRecord(content) && content['epoch'] === epoch;
}

/** A plain write will do: an older epoch that lands late makes others wait once more, which is safe. */
export async function noteWaitedOut(store: Store, epoch: string, options?: AccessOptions): Promise<void> {
  await store.write(WAITED_KEY, sealJson(WAITED_KEY, 'waited', { epoch }), options);
}

/** The highest token of any record that was ever erased; 0 if none was. The cores keep the same record. */
export async function readFloor(store: Store, options?: AccessOptions): Promise<number> {
  return floorIn(await store.read(FLOOR_KEY, options));
}

/** The floor only rises. Resolves once it is at least `floor`, and must do so before the record is erased. */
export async function raiseFloor(store: Store, floor: number, options?: AccessOptions): Promise<void> {
  for (;;) {
    const seen = await store.read(FLOOR_KEY, options);
    if (floorIn(seen) >= floor) return;
    // Lost or unknown: the next read tells.
    await store.swap(FLOOR_KEY, seen, encodeFloorRecord(floor), options);
  }
}

/** Lost and unknown alike: every process adopts the parameters that are there now. */
async function createParameters(store: Store, wanted: Partial<Parameters>, options?: AccessOptions): Promise<Parameters> {
  await store.swap(PARAMETERS_KEY, null, seal(complete(store.kind, wanted)), options);
  return await writtenParameters(store, options);
}

async function writeParameters(store: Store, parameters: Parameters, options?: AccessOptions): Promise<Parameters> {
  await store.write(PARAMETERS_KEY, seal(parameters), options);
  return await writtenParameters(store, options);
}

async function writtenParameters(store: Store, options?: AccessOptions): Promise<Parameters> {
  const found = await readParameters(store, options);
  if (found) return found;
  throw (
    store.lastUnknown ??
    new TenureError('TENURE_STORE_UNREACHABLE', `the parameters of ${store.url} could not be written`, { url: store.url })
  );
}

function complete(kind: string, wanted: Partial<Parameters>): Parameters {
  const parameters = { ...defaultParameters(kind), ...wanted };
  const { deltaUs, maxTermUs, rateErrorPpm } = parameters;
  if (!(deltaUs > 0) || !Number.isSafeInteger(deltaUs)) throw odd('delta', `it is ${deltaUs} µs`);
  if (!(rateErrorPpm >= 0 && rateErrorPpm < 500_000)) throw odd('rateError', `it is ${rateErrorPpm} millionths`);
  if (!(maxTermUs >= deltaUs * 5) || !Number.isSafeInteger(maxTermUs)) {
    throw odd('maxTerm', `${formatDuration(maxTermUs)} is less than five times delta (${formatDuration(deltaUs)})`);
  }
  // Parameters that no engine takes would shut every process out for good.
  deriveStorageTiming({ deltaUs, maxTermUs, rateErrorPpm });
  return { deltaUs, maxTermUs, rateErrorPpm, ...(parameters.isPlain ? { isPlain: true } : {}) };
}

function agreed(store: Store, found: Parameters, wanted: Partial<Parameters>): Parameters {
  for (const field of ['deltaUs', 'maxTermUs', 'rateErrorPpm'] as const) {
    const asked = wanted[field];
    if (asked === undefined || asked === found[field]) continue;
    throw new TenureError(
      'TENURE_STORE_PARAMS',
      `the store ${store.url} was set up with ${inWords(field, found[field])}, and ${inWords(field, asked)} was asked for: ask for nothing, or for the same`,
      { url: store.url, field, found: found[field], asked },
    );
  }
  if (wanted.isPlain === undefined || !store.can.swap || wanted.isPlain === (found.isPlain ?? false)) return found;
  const [way, other] = found.isPlain ? ['plain registers', 'compare-and-set'] : ['compare-and-set', 'plain registers'];
  throw new TenureError(
    'TENURE_STORE_PARAMS',
    `the leases of ${store.url} are kept with ${way}, and ${other} was asked for: ask for nothing, or for the same`,
    {
      url: store.url,
      field: 'isPlain',
      found: found.isPlain ?? false,
      asked: wanted.isPlain,
    },
  );
}

function seal(parameters: Parameters): Uint8Array {
  return sealJson(PARAMETERS_KEY, 'parameters', { format: FORMAT, ...parameters });
}

function parse(content: unknown): Parameters {
  if (!isRecord(content)) throw corrupt(PARAMETERS_KEY, 'its content is no object');
  const { format, deltaUs, maxTermUs, rateErrorPpm, isPlain } = content;
  if (typeof format === 'number' && format !== FORMAT) throw laterFormat(PARAMETERS_KEY, format, FORMAT);
  if (typeof deltaUs !== 'number' || typeof maxTermUs !== 'number' || typeof rateErrorPpm !== 'number') {
    throw corrupt(PARAMETERS_KEY, 'a parameter is missing');
  }
  return { deltaUs: spanUs(deltaUs), maxTermUs: spanUs(maxTermUs), rateErrorPpm, ...(isPlain === true ? { isPlain } : {}) };
}

function inWords(field: 'deltaUs' | 'maxTermUs' | 'rateErrorPpm', value: number): string {
  if (field === 'rateErrorPpm') return `rateError ${value / 1_000_000}`;
  return `${field === 'deltaUs' ? 'delta' : 'maxTerm'} ${formatDuration(spanUs(value))}`;
}

function floorIn(bytes: Uint8Array | null): number {
  const floor = decodeFloorRecord(bytes);
  if (floor === 'format')
    throw new TenureError('TENURE_STORE_FORMAT', `the record ${FLOOR_KEY} was written by a later version of Tenure: upgrade it`, {
      key: FLOOR_KEY,
    });
  if (floor === 'corrupt') throw corrupt(FLOOR_KEY, 'it is no floor of tokens');
  return floor;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function odd(name: string, why: string): TenureError {
  return new TenureError('TENURE_BAD_ARGUMENT', `${name} cannot be used: ${why}`, { name });
}
