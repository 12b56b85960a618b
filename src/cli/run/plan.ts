/**
 * When the command of `tenure run` is told to stop, and when it is killed: counted back from the end of the lease, so
 * that nothing of it is left when another may begin. All durations of `run` are derived here, from the term and the grace.
 */
import { formatDuration, spanUs, TenureError } from '../../kernel/index.ts';

export interface Plan {
  /** The command has so long between the signal that tells it to stop and the signal that cannot be caught. */
  readonly graceMs: number;
  /** So long before the lease ends it is killed. */
  readonly killBeforeMs: number;
  /** So long before the lease ends its guards kill it: `tenure run` itself has not, so it must be gone, stopped or stuck. */
  readonly guardsBeforeMs: number;
  /** Clocks are looked at so often: a machine that slept is noticed by its wall clock only, which no timer follows. */
  readonly lookMs: number;
  /** A guard that has not answered for so long is replaced. */
  readonly guardPatienceMs: number;
}

const GRACE_MS = 5000;
const KILL_BEFORE_MS_MAX = 1000;
/** The part of a term, and of a short one, by which a command is killed early. A busy machine may take a tenth of a second to run a guard. */
const KILL_BEFORE = 1 / 20;
const KILL_BEFORE_SHORT = 1 / 5;
const KILL_BEFORE_SHORT_MS_MAX = 150;
/** The part of that time that is left when the guards kill. One of them is a shell, which needs some milliseconds to notice the time. */
const LEFT_TO_GUARDS = 3 / 4;
const LOOK_MS_MAX = 250;
const LOOK_MS_MIN = 20;
const GUARD_PATIENCE_MS_MIN = 2000;
/** The part of a term that is left to renewals before the command is told to stop: the first begins after a third. */
const RENEWALS = 1 / 2;

/** `askedGraceMs` is what a person wrote: it is taken as it is or refused. The usual grace gives way to a short term. */
export function planFor(termMs: number, askedGraceMs: number | undefined): Plan {
  const killBeforeMs = Math.min(
    KILL_BEFORE_MS_MAX,
    Math.max(termMs * KILL_BEFORE, Math.min(KILL_BEFORE_SHORT_MS_MAX, termMs * KILL_BEFORE_SHORT)),
  );
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
    guardsBeforeMs: killBeforeMs * LEFT_TO_GUARDS,
    lookMs: Math.min(LOOK_MS_MAX, Math.max(LOOK_MS_MIN, termMs / 20)),
    guardPatienceMs: Math.max(GUARD_PATIENCE_MS_MIN, termMs / 4),
  };
}

/** The shortest term into which a grace fits: what `planFor` takes off a term, solved for the term. */
function shortestTermMs(graceMs: number): number {
  const whole = 1 - RENEWALS;
  const ofShort = Math.min((graceMs + KILL_BEFORE_SHORT_MS_MAX) / whole, graceMs / (whole - KILL_BEFORE_SHORT));
  return Math.ceil(Math.min((graceMs + KILL_BEFORE_MS_MAX) / whole, Math.max(graceMs / (whole - KILL_BEFORE), ofShort)));
}

function inWords(ms: number): string {
  return formatDuration(spanUs(Math.round(ms * 1000)));
}
