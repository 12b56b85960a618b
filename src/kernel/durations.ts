/**
 * Durations as people write them ('15s', '1h30m', a number of milliseconds) and as Tenure counts
 * them (whole microseconds). Everything that a user passes as a time goes through here, once, at
 * the edge; nothing inside Tenure keeps a duration as text.
 */
import { TenureError } from './errors.ts';
import type { SpanUs } from './time.ts';

/** A number of milliseconds, or text such as '15s', '1500ms', '1.5s', '2m', '1h30m', '1d', '250us'. */
export type Duration = number | string;

/** 365 days. A longer one is a wrong unit far more often than a wish. */
export const DURATION_US_MAX: SpanUs = 31_536_000_000_000 as SpanUs;

const EXAMPLES = "write it like '15s', '1500ms', '1.5s', '2m', '1h30m', '1d' or '250us'";
/** For a caller that passed a value and not a text: on a command line everything is text. */
const AS_NUMBER = ', or as a number of milliseconds';

const DAY_US = 86_400_000_000;
const HOUR_US = 3_600_000_000;
const MINUTE_US = 60_000_000;
const SECOND_US = 1_000_000;
const MILLISECOND_US = 1_000;

/** The micro sign and the Greek letter look alike; keyboards and copied text give either. */
const UNITS_US: ReadonlyMap<string, number> = new Map([
  ['d', DAY_US],
  ['h', HOUR_US],
  ['m', MINUTE_US],
  ['s', SECOND_US],
  ['ms', MILLISECOND_US],
  ['us', 1],
  ['\u00b5s', 1],
  ['\u03bcs', 1],
]);

/** Longer than any duration worth writing; keeps hostile text from costing more than a glance. */
const TEXT_LENGTH_MAX = 64;

/**
 * Reads a duration, zero included. Text finer than a microsecond is refused, because its writer
 * expects it to matter. A number is rounded to the microsecond, because it comes out of arithmetic:
 * refusing `deadline - performance.now()` now and then would be a trap.
 */
export function parseDuration(duration: Duration): SpanUs {
  if (typeof duration === 'string') return parseText(duration);
  if (typeof duration !== 'number') throw refusal(duration, 'it is neither a number nor text');
  if (Number.isNaN(duration)) throw refusal(duration, 'it is not a number');
  if (duration < 0) throw refusal(duration, 'it is negative');
  return atMostMax(Math.round(duration * MILLISECOND_US), duration);
}

/**
 * The shortest text that people read at a glance: '15s', '1.5s', '2m 30s', '250µs'. `parseDuration` reads it back to
 * the same span. Spans that no duration can have (negative, endless) are written all the same: this is for display.
 */
export function formatDuration(span: SpanUs): string {
  if (Number.isNaN(span)) return 'NaN';
  if (span < 0) return `-${formatDuration(-span as SpanUs)}`;
  if (span === Infinity) return 'forever';
  let restUs = Math.round(span);
  const parts: string[] = [];
  for (const [unit, unitUs] of [
    ['d', DAY_US],
    ['h', HOUR_US],
    ['m', MINUTE_US],
  ] as const) {
    const count = Math.floor(restUs / unitUs);
    if (count > 0) parts.push(`${count}${unit}`);
    restUs -= count * unitUs;
  }
  if (restUs >= SECOND_US) parts.push(`${restUs / SECOND_US}s`);
  else if (restUs >= MILLISECOND_US) parts.push(`${restUs / MILLISECOND_US}ms`);
  else if (restUs > 0) parts.push(`${restUs}\u00b5s`);
  return parts.length > 0 ? parts.join(' ') : '0s';
}

function parseText(text: string): SpanUs {
  const trimmed = text.trim();
  if (trimmed === '') throw refusal(text, 'it is empty');
  if (trimmed.length > TEXT_LENGTH_MAX) throw refusal(text, 'it is too long');
  if (trimmed.startsWith('-')) throw refusal(text, 'it is negative');

  const part = / *(\d+)(?:\.(\d+))? *(\p{L}*)/uy;
  let totalUs = 0;
  let lastUnitUs = Infinity;
  let fractionSeen = false;
  while (part.lastIndex < trimmed.length) {
    const at = part.lastIndex;
    const match = part.exec(trimmed);
    if (match === null) throw refusal(text, `'${trimmed.slice(at)}' does not begin with a number`);
    const [, whole = '', fraction = '', unit = ''] = match;
    const unitUs = UNITS_US.get(unit);
    if (unitUs === undefined) {
      throw refusal(text, unit === '' ? `'${match[0].trim()}' has no unit` : `there is no unit '${unit}' (there are d, h, m, s, ms, us)`);
    }
    if (unitUs >= lastUnitUs) throw refusal(text, 'each unit may appear once, the larger before the smaller');
    if (fractionSeen) throw refusal(text, 'only the last number may have a fraction');
    fractionSeen = fraction !== '';
    lastUnitUs = unitUs;
    totalUs += Number(whole) * unitUs + fractionUs(fraction, unitUs, text);
  }
  return atMostMax(totalUs, text);
}

/** `0.fraction` of a unit, exactly: in floating point 0.1 of anything is already a guess. */
function fractionUs(fraction: string, unitUs: number, text: string): number {
  const scale = BigInt(`1${'0'.repeat(fraction.length)}`);
  const scaled = BigInt(fraction) * BigInt(unitUs);
  if (scaled % scale !== 0n) throw refusal(text, 'it is finer than a microsecond');
  return Number(scaled / scale);
}

function atMostMax(us: number, input: Duration): SpanUs {
  if (us > DURATION_US_MAX) throw refusal(input, 'it is longer than 365 days');
  // -0 ms is 0: an invisible sign must not travel on.
  return (us + 0) as SpanUs;
}

function refusal(input: unknown, why: string): TenureError {
  const cut = typeof input === 'string' && input.length > TEXT_LENGTH_MAX ? `${input.slice(0, TEXT_LENGTH_MAX)}…` : input;
  const shown = typeof cut === 'string' ? `'${cut}'` : String(cut);
  return new TenureError(
    'TENURE_BAD_DURATION',
    `cannot use ${shown} as a duration: ${why}; ${EXAMPLES}${typeof input === 'string' ? '' : AS_NUMBER}`,
    { input: shown, why },
  );
}
