/** `--term`, the same for every command that holds a lease: a term that cannot work is refused before anything is asked for. */
import { formatDuration, parseDuration, spanUs, TenureError } from '../kernel/index.ts';
import type { OpenedLeases } from './opened-leases.ts';

/** Within a shorter term a process cannot be sure to be run often enough to renew it. */
const TERM_MS_MIN = 100;

/** In milliseconds; undefined where nothing was said. Throws `TENURE_BAD_ARGUMENT`. */
export function termMsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const termMs = parseDuration(text) / 1000;
  if (termMs >= TERM_MS_MIN) return termMs;
  throw new TenureError('TENURE_BAD_ARGUMENT', `--term ${text} is too short to be renewed in time: give at least ${TERM_MS_MIN}ms`);
}

/** Throws `TENURE_BAD_ARGUMENT` for a term that the cell or the store does not have. */
export function checkTerm(termMs: number | undefined, { maxTermMs, place }: Pick<OpenedLeases, 'maxTermMs' | 'place'>): void {
  if (termMs === undefined || termMs <= maxTermMs) return;
  const [term, most] = [termMs, maxTermMs].map((ms) => formatDuration(spanUs(ms * 1000)));
  throw new TenureError('TENURE_BAD_ARGUMENT', `--term ${term} is longer than the longest of this ${place}, ${most}`);
}

/** `-w`: a duration, or a number of seconds as flock(1) takes it. */
export function waitMsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const isSeconds = /^\s*\d+(?:\.\d+)?\s*$/.test(text);
  return parseDuration(isSeconds ? `${text.trim()}s` : text) / 1000;
}
