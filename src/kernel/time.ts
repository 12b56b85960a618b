/**
 * Instants and spans. Everything inside Tenure counts integer microseconds; a monotonic instant and
 * a wall instant are different types, so that one can never be compared with the other by accident.
 * Nothing here reads a clock.
 */

/** Microseconds on one process's monotonic clock. Means nothing on any other process. */
export type MonoUs = number & { readonly __monoUs: true };

/** Microseconds since the Unix epoch, as one machine's wall clock believes. */
export type WallUs = number & { readonly __wallUs: true };

/** A span of microseconds, on whichever clock. */
export type SpanUs = number & { readonly __spanUs: true };

/** The instant that never comes: "no deadline". */
export const NEVER: MonoUs = Infinity as MonoUs;

export function monoUs(value: number): MonoUs {
  return value as MonoUs;
}

export function wallUs(value: number): WallUs {
  return value as WallUs;
}

export function spanUs(value: number): SpanUs {
  return value as SpanUs;
}

export function spanFromMs(valueMs: number): SpanUs {
  return Math.round(valueMs * 1000) as SpanUs;
}

export function monoAfter(instant: MonoUs, span: SpanUs): MonoUs {
  return (instant + span) as MonoUs;
}

export function wallAfter(instant: WallUs, span: SpanUs): WallUs {
  return (instant + span) as WallUs;
}
