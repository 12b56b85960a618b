/**
 * What Tenure asks of shared storage: registers with names, read and written whole, and where the store can do
 * it a conditional write. Nothing here knows of leases. `conformance.ts` is this contract as tests.
 *
 * Every access is atomic: it takes effect at one instant between its call and its answer. A change whose answer
 * never came (the outcome `unknown`) takes effect at one instant after its call, or never, and never twice: a store
 * does not send a change again, and switches off the retries of its client library (rule 20).
 */
import { CONTENT_FRAME_BYTES, UNIT_REGISTERS } from '../core/index.ts';
import { encodeName, encodePrefix, TenureError } from '../kernel/index.ts';

/** The largest value that stores take; a store that is made of sectors takes less, and says so. */
export const VALUE_BYTES_MAX = 65_536;

/** How long an answer is waited for unless the caller says otherwise. */
export const ACCESS_TIMEOUT_MS = 5000;

/** How many keys one call of `list` gives at most. */
export const LIST_LIMIT_MAX = 1000;

export interface AccessOptions {
  /** How long to wait for the answer. A request not sent by then is never sent. */
  readonly timeoutMs?: number;
  /** Gives the access up, like a timeout, with the reason of the signal. */
  readonly signal?: AbortSignal;
}

export interface ListOptions extends AccessOptions {
  /** Only keys that come after this one. */
  readonly after?: string;
  /** At most `LIST_LIMIT_MAX`, which is also the default. */
  readonly limit?: number;
}

/** Of a plain write. */
export type Landing = 'done' | 'unknown';

/** Of a conditional write. `lost`: the register held something else, and nothing has changed. */
export type SwapOutcome = 'won' | 'lost' | 'unknown';

/** What a store can do beyond reading and writing. Calls that it cannot do end with `TENURE_UNSUPPORTED`. */
export interface Capabilities {
  readonly swap: boolean;
  readonly list: boolean;
  readonly watch: boolean;
}

/**
 * A connection to a store. Keys are names (1 to 255 bytes of UTF-8, no control characters; names that begin with
 * `_tenure/` are Tenure's own). Values are bytes, at most `VALUE_BYTES_MAX`; null stands for "nothing there". Bytes
 * that are handed in may be used again once the call has returned its promise, and bytes that are handed out belong
 * to the caller.
 *
 * A failure is a `TenureError`. A read that fails says nothing. A change that *throws* has not happened and will
 * not; a change that may have happened or may yet happen is `unknown`, and `lastUnknown` says why.
 */
export interface Store {
  /** Without passwords: fit for logs. */
  readonly url: string;
  readonly kind: string;
  readonly can: Capabilities;
  /** The largest value that this store takes, if that is less than `VALUE_BYTES_MAX`. Enough for every record of a lease. */
  readonly valueBytesMax?: number;
  /** Why the last `unknown` was one. */
  readonly lastUnknown: TenureError | null;
  /** False if no process lives that relies on anything the store may have lost so far: then a new epoch need not be waited out (rule 23). */
  readonly mayForget?: boolean;
  /** It has passed the probe already, in all its parts: it need not be probed again. */
  readonly isProbed?: boolean;
  /** Probes of processes that open it at the same moment may share a place: a probe that fails says nothing until it has failed at another place, too. */
  readonly probesMayMeet?: boolean;

  read(key: string, options?: AccessOptions): Promise<Uint8Array | null>;

  /** Whatever is there is replaced; null erases it. */
  write(key: string, value: Uint8Array | null, options?: AccessOptions): Promise<Landing>;

  /**
   * Takes effect only if the register holds exactly `seen` at that instant. On null it creates, to null it erases.
   * Bytes are compared, nothing else: a caller that must know that nothing happened in between never writes the same bytes twice.
   */
  swap(key: string, seen: Uint8Array | null, next: Uint8Array | null, options?: AccessOptions): Promise<SwapOutcome>;

  /** Keys that begin with `prefix`, in the order of their bytes. Keys that were there all the time of the call are in it. */
  list(prefix: string, options?: ListOptions): Promise<string[]>;

  /** Calls `hint` with keys that have perhaps changed. Hints come late, twice or never: a caller that waits for a change reads now and then. */
  watch(prefix: string, hint: (key: string) => void, options?: AccessOptions): Promise<() => Promise<void>>;

  /** Which store this is, for ever. Another identity is another store, whatever its address. */
  identity(options?: AccessOptions): Promise<string>;

  /**
   * Changes whenever the store may have lost writes that it had acknowledged (rule 23). From this call on, accesses are made
   * under the epoch it tells. As soon as the store is in another, they throw `TENURE_STORE_EPOCH` until `epoch` is called again.
   */
  epoch(options?: AccessOptions): Promise<string>;

  /** Accesses under way end, later accesses throw `TENURE_CLOSED`. */
  close(): Promise<void>;
}

/** Throws unless `key` is a name and `value` fits. */
export function checkAccess(key: string, ...values: readonly (Uint8Array | null)[]): void {
  encodeName(key);
  // The largest value of a replicated store has a frame around it in each unit.
  const bytesMax = key.startsWith(UNIT_REGISTERS) ? VALUE_BYTES_MAX + CONTENT_FRAME_BYTES : VALUE_BYTES_MAX;
  for (const value of values) {
    if (value === null) continue;
    if (!(value instanceof Uint8Array)) throw new TenureError('TENURE_BAD_ARGUMENT', `the value of ${key} is neither bytes nor null`);
    if (value.length > bytesMax) {
      throw new TenureError('TENURE_BAD_ARGUMENT', `the value of ${key} has ${value.length} bytes; ${bytesMax} are the limit`, {
        bytes: value.length,
        bytesMax,
      });
    }
  }
}

/** A swap from nothing to nothing would win and mean nothing. */
export function checkSwap(key: string, seen: Uint8Array | null, next: Uint8Array | null): void {
  checkAccess(key, seen, next);
  if (seen === null && next === null)
    throw new TenureError('TENURE_BAD_ARGUMENT', `a swap of ${key} from nothing to nothing changes nothing`);
}

export function checkList(prefix: string, { after, limit = LIST_LIMIT_MAX }: ListOptions): { after: string | null; limit: number } {
  encodePrefix(prefix);
  if (after !== undefined) encodeName(after);
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > LIST_LIMIT_MAX) {
    throw new TenureError('TENURE_BAD_ARGUMENT', `a list has a limit from 1 to ${LIST_LIMIT_MAX}, not ${limit}`);
  }
  return { after: after ?? null, limit };
}

export function equalValues(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === b || (a !== null && b !== null && Buffer.compare(a, b) === 0);
}
