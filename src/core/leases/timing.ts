/**
 * All timing of the lease engines, derived in one place from three numbers: the longest term, the
 * largest clock-rate error ρ, and the round-trip time. No engine invents a duration.
 */
import { formatDuration, spanUs, TenureError, type SpanUs } from '../../kernel/index.ts';

export interface TimingInput {
  /** The longest term any lease of the cell may have. */
  readonly maxTermUs: number;
  /** ρ, in parts per million: how far the rate of any clock may be off. */
  readonly rateErrorPpm: number;
  /** A usual round trip between members. */
  readonly rttUs: number;
}

export interface Timing extends TimingInput {
  /** How long a member that starts keeps silent: whatever it voted for in an earlier life is over by then (rule 4). */
  readonly silenceUs: SpanUs;
  /** How long one attempt may take, from its first message on (rule 1). */
  readonly attemptUs: SpanUs;
  /** How long an acceptor honours a promise: no longer than the attempt it was made to. */
  readonly promiseUs: SpanUs;
  /** How long after a failed renewal the next is tried. */
  readonly retryUs: SpanUs;
  /** Back-off after a split vote: a random part of this, doubled with every try. */
  readonly backOffUs: SpanUs;
  /** How long the head of a queue has a free lease to itself. */
  readonly headStartUs: SpanUs;
  /** How long an acceptor keeps a waiter it does not hear from. */
  readonly waiterUs: SpanUs;
  /** How often a waiter, or a watcher, says that it is still there. */
  readonly refreshUs: SpanUs;
  /** How often an unanswered release is sent again. */
  readonly resendUs: SpanUs;
  /** How far ahead of a node's own wall clock a ballot may be before the node does not believe it. */
  readonly aheadUsMax: SpanUs;
}

/** A restarted member keeps silent for as long. */
export const MAX_TERM_US_MAX = 86_400_000_000;
export const RATE_ERROR_PPM_MAX = 200_000;

/**
 * A day, so that half of it, the most that others are told to go above, covers a clock that is set to the wrong time
 * zone. Not less than so many of the longest terms: floors that members write ahead (rule 18) stay far below it.
 */
const AHEAD_US_MIN = 86_400_000_000;
const AHEAD_TERMS = 2;

const PPM = 1_000_000;
const PATIENCE_US = 100_000;
/** An attempt waits for so many round trips. */
const ATTEMPT_TRIPS = 3;
/** Of the longest term: no attempt is more patient, however often it went unanswered. */
const PATIENCE_PARTS = 8;
const DOUBLINGS_MAX = 10;
/** A renewal begins after this part of the term. */
const RENEW_AT = 1 / 3;
/** A holder is told to stop this part of the term before its deadline. */
const ABORT_MARGIN = 1 / 10;
/** So many attempts in a row must fit between the renewal point and the abort margin. */
const RENEWALS_THAT_FIT = 3;

/** Rates of clocks are judged over this part of the longest term, so that a member falls silent before votes of that term end too early. */
const RATE_WINDOW = 1 / 2;
/** Clocks are compared about once a second: over less there is little to judge by, and over more a slow answer matters no more. */
const RATE_WINDOW_US_MIN = 2_000_000;
const RATE_WINDOW_US_MAX = 10_000_000;

/**
 * A span on one clock that is sure to cover `termUs` on any other: both may be wrong by ρ, in opposite directions. The product of a long
 * term and a rate is beyond 2^53, and would be rounded down; the addend is reckoned from whole quotient and rest, so it is exact.
 */
export function stretch(termUs: number, rateErrorPpm: number): SpanUs {
  const slowest = PPM - rateErrorPpm;
  // Not by `%`: of numbers beyond 32 bits that is a call of the C library. The quotient is exact enough for any term.
  const whole = Math.floor(termUs / slowest);
  const rest = termUs - whole * slowest;
  return spanUs(Math.ceil(termUs + whole * 2 * rateErrorPpm + Math.ceil((rest * 2 * rateErrorPpm) / slowest)));
}

/** How long an attempt waits after so many unanswered attempts: more each time, or many askers that ask again would drown the answers. */
export function patienceUs({ attemptUs, maxTermUs }: Timing, unanswered: number): SpanUs {
  return spanUs(
    Math.max(attemptUs, Math.min(attemptUs * (1 << Math.min(unanswered, DOUBLINGS_MAX)), Math.floor(maxTermUs / PATIENCE_PARTS))),
  );
}

/** How long a renewal waits before voters are asked again, after so many times that too few answered: more each time, but so that others fit before the end. */
export function renewalPatienceUs({ attemptUs }: Pick<Timing, 'attemptUs'>, termUs: number, unanswered: number = 0): SpanUs {
  const longestUs = Math.ceil((termUs * (1 - RENEW_AT - ABORT_MARGIN)) / RENEWALS_THAT_FIT);
  return spanUs(Math.min(attemptUs * (1 << Math.min(unanswered, DOUBLINGS_MAX)), longestUs));
}

/** Over how much of its clock a node compares its rate with the members'. */
export function rateWindowUs({ maxTermUs }: Pick<Timing, 'maxTermUs'>): SpanUs {
  return spanUs(Math.min(RATE_WINDOW_US_MAX, Math.max(RATE_WINDOW_US_MIN, Math.floor(maxTermUs * RATE_WINDOW))));
}

/** When, after its last extension began, a lease is renewed. */
export function renewAfterUs(termUs: number): SpanUs {
  return spanUs(Math.floor(termUs * RENEW_AT));
}

/** How long before its deadline a holder is told to stop. */
export function abortMarginUs(termUs: number): SpanUs {
  return spanUs(Math.ceil(termUs * ABORT_MARGIN));
}

/** The shortest term that still leaves room for the renewals that must fit. */
export function shortestTermUs(timing: Timing): SpanUs {
  return spanUs(Math.ceil((RENEWALS_THAT_FIT * (timing.attemptUs + timing.retryUs)) / (1 - RENEW_AT - ABORT_MARGIN)));
}

export function deriveTiming(input: TimingInput): Timing {
  const { maxTermUs, rateErrorPpm, rttUs } = input;
  if (!Number.isSafeInteger(maxTermUs) || maxTermUs < 1000) throw bad('maxTerm must be at least 1ms', input);
  if (maxTermUs > MAX_TERM_US_MAX) throw bad('maxTerm must be at most 1d: a restarted member keeps silent for as long', input);
  if (!Number.isSafeInteger(rateErrorPpm) || rateErrorPpm < 0 || rateErrorPpm > RATE_ERROR_PPM_MAX)
    throw bad('the rate error must be from 0 to 0.2', input);
  if (!Number.isSafeInteger(rttUs) || rttUs < 1) throw bad('the round trip must be at least 1us', input);
  // A pause of a few milliseconds is nothing unusual in a process: neither an attempt nor a turn should end over it.
  const attemptUs = spanUs(Math.max(ATTEMPT_TRIPS * rttUs, Math.min(PATIENCE_US, Math.floor(maxTermUs / 50))));
  const headStartUs = spanUs(Math.max(2 * rttUs, Math.min(PATIENCE_US, Math.floor(maxTermUs / 20))));
  const retryUs = spanUs(rttUs);
  const timing: Timing = {
    ...input,
    silenceUs: stretch(maxTermUs, rateErrorPpm),
    attemptUs,
    promiseUs: stretch(attemptUs, rateErrorPpm),
    retryUs,
    backOffUs: spanUs(2 * rttUs),
    headStartUs,
    waiterUs: spanUs(maxTermUs),
    refreshUs: spanUs(Math.floor(maxTermUs / 3)),
    resendUs: spanUs(2 * rttUs),
    aheadUsMax: spanUs(Math.max(AHEAD_US_MIN, AHEAD_TERMS * maxTermUs)),
  };
  const shortestUs = shortestTermUs(timing);
  if (maxTermUs < shortestUs) {
    throw bad(
      `a maxTerm of ${formatDuration(spanUs(maxTermUs))} is too short for round trips of ${formatDuration(spanUs(rttUs))}: ` +
        `${RENEWALS_THAT_FIT} renewals do not fit. Use at least ${formatDuration(shortestUs)}`,
      input,
    );
  }
  return timing;
}

/**
 * The same cell with round trips as they are measured: never less patient than it was set up to be, and never so
 * patient that renewals no longer fit the longest term. What others rely on (terms, silence, refreshes) stays.
 */
export function retime(setUp: Timing, rttUs: number): Timing {
  const roomUs = setUp.maxTermUs * (1 - RENEW_AT - ABORT_MARGIN);
  const longestUs = Math.floor(roomUs / (RENEWALS_THAT_FIT * (ATTEMPT_TRIPS + 1)));
  const { maxTermUs, rateErrorPpm } = setUp;
  const knownUs = Math.max(setUp.rttUs, Math.min(Math.ceil(rttUs), longestUs));
  // A stage says how long an attempt takes: that is not to be derived anew while nothing has changed.
  return knownUs === setUp.rttUs ? setUp : { ...deriveTiming({ maxTermUs, rateErrorPpm, rttUs: knownUs }), aheadUsMax: setUp.aheadUsMax };
}

/** The same cell in a view with other terms. Round trips that are too long for these are taken for as long as fits. */
export function timingFor(setUp: Timing, maxTermUs: number, rateErrorPpm: number): Timing {
  if (maxTermUs === setUp.maxTermUs && rateErrorPpm === setUp.rateErrorPpm) return setUp;
  const roomUs = maxTermUs * (1 - RENEW_AT - ABORT_MARGIN);
  const longestUs = Math.max(1, Math.floor(roomUs / (RENEWALS_THAT_FIT * (ATTEMPT_TRIPS + 1))));
  return { ...deriveTiming({ maxTermUs, rateErrorPpm, rttUs: Math.min(setUp.rttUs, longestUs) }), aheadUsMax: setUp.aheadUsMax };
}

function bad(message: string, { maxTermUs, rateErrorPpm, rttUs }: TimingInput): TenureError {
  return new TenureError('TENURE_BAD_TIMING', message, { maxTermUs, rateErrorPpm, rttUs });
}
