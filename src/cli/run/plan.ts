/**
 * When the command of `tenure run` is told to stop, and when it is killed: counted back from the end of the lease, so
 * that nothing of it is left when another may begin. All durations of `run` are derived here, from the term and the grace.
 */
import { formatDuration, spanUs, TenureError } from '../../kernel/index.ts';

export interface Plan {
  /** The command has so long between the signal that tells it to stop and the one that cannot be caught. */
  readonly graceMs: number;
  /** So long before the lease ends it is killed. */
  readonly killBeforeMs: number;
  /** So long before the lease ends the switch kills it: `tenure run` itself has not, so it must be stopped or stuck. */
  readonly switchBeforeMs: number;
  /** Clocks are looked at so often: a machine that slept is noticed by its wall clock only, which no timer follows. */
  readonly lookMs: number;
  /** A switch that has not answered for so long is replaced. */
  readonly switchPatienceMs: number;
}

const GRACE_MS = 5000;
const KILL_BEFORE_MS_MAX = 1000;
const KILL_BEFORE_MS_MIN = 20;
const LOOK_MS_MAX = 250;
const SWITCH_PATIENCE_MS_MIN = 2000;
/** The part of a term that is left to renewals before the command is told to stop: the first begins after a third. */
const RENEWALS = 1 / 2;

/** `askedGraceMs` is what a person wrote: it is taken as it is or refused. The usual grace gives way to a short term. */
export function planFor(termMs: number, askedGraceMs: number | undefined): Plan {
  const killBeforeMs = Math.min(KILL_BEFORE_MS_MAX, Math.max(KILL_BEFORE_MS_MIN, termMs / 20));
  const graceMsMax = Math.max(0, termMs * (1 - RENEWALS) - killBeforeMs);
  if (askedGraceMs !== undefined && askedGraceMs > graceMsMax) {
    throw new TenureError(
      'TENURE_BAD_ARGUMENT',
      `a grace of ${inWords(askedGraceMs)} does not fit into a term of ${inWords(termMs)}: at most ${inWords(Math.floor(graceMsMax))}, ` +
        `or a term of at least ${inWords(shortestTermMs(askedGraceMs))}`,
    );
  }
  return {
    graceMs: Math.min(askedGraceMs ?? GRACE_MS, graceMsMax),
    killBeforeMs,
    switchBeforeMs: killBeforeMs / 2,
    lookMs: Math.min(LOOK_MS_MAX, Math.max(KILL_BEFORE_MS_MIN, termMs / 20)),
    switchPatienceMs: Math.max(SWITCH_PATIENCE_MS_MIN, termMs / 4),
  };
}

/** The shortest term into which a grace fits; whether a twentieth of it or the most there is comes off, the longer one does. */
function shortestTermMs(graceMs: number): number {
  const whole = 1 - RENEWALS;
  return Math.ceil(
    Math.min((graceMs + KILL_BEFORE_MS_MAX) / whole, Math.max(graceMs / (whole - 1 / 20), (graceMs + KILL_BEFORE_MS_MIN) / whole)),
  );
}

function inWords(ms: number): string {
  return formatDuration(spanUs(Math.round(ms * 1000)));
}
