/** A limit on how long a client tries to reach a member, and the words for when it was in vain: which members, where, and why not each. */
import { formatDuration, TenureError, type SpanUs } from '../../kernel/index.ts';

export interface Unreached {
  readonly id: string;
  readonly address: string;
  /** What the last attempt met; null if none has ended yet. */
  readonly why: string | null;
}

export function unreachable(cell: string, members: readonly Unreached[], timeoutUs: SpanUs): TenureError {
  const reasons = members.map(({ id, address, why }) => `${id} (${address}): ${why ?? 'no answer yet'}`).join('; ');
  return new TenureError(
    'TENURE_UNREACHABLE',
    `no member of cell ${cell} was reached within ${formatDuration(timeoutUs)}. ${reasons}. Start them, or correct their addresses`,
    { unreached: members.map(({ id }) => id).join(', '), reasons },
  );
}

/** What is thrown when the time is over. */
export const TOO_LATE: Error = new Error('too late');
/** Longer timers fire at once. */
const TIMEOUT_MS_MAX = 2 ** 30;

/** Does something that can be aborted, for so long at most; throws `TOO_LATE`, or what the caller's signal says. */
export async function within(
  timeoutUs: SpanUs,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), Math.min(TIMEOUT_MS_MAX, timeoutUs / 1000));
  try {
    await work(signal ? AbortSignal.any([signal, late.signal]) : late.signal);
  } catch (error) {
    throw late.signal.aborted && !signal?.aborted ? TOO_LATE : error;
  } finally {
    clearTimeout(timer);
  }
}
