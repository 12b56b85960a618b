/**
 * All timing of leases on storage, derived in one place from three numbers: δ, how long an access takes at most as
 * a rule; Δ, the longest term of any lease on the store; ρ, how far the rate of a clock may be off. Safety rests on Δ
 * and ρ. δ may be too small: attempts are void then, and nothing else happens.
 */
import { formatDuration, spanUs, TenureError, type SpanUs } from '../../../kernel/index.ts';
import { MAX_TERM_US_MAX, RATE_ERROR_PPM_MAX, stretch } from '../timing.ts';

export interface StorageTimingInput {
  /** δ. */
  readonly deltaUs: number;
  /** Δ. */
  readonly maxTermUs: number;
  /** ρ, in parts per million. */
  readonly rateErrorPpm: number;
}

export interface StorageTiming extends StorageTimingInput {
  /** W: an observer of a plain register waits so long, whatever the record says (rule 21). */
  readonly observationUs: SpanUs;
  /** From the deciding read's invocation to the write's answer it must take less (rule 14). */
  readonly attemptUs: SpanUs;
  /** Between the write's answer and the read-back. */
  readonly pauseUs: SpanUs;
  /** A lease ends at the latest so long after its write's invocation and its term. */
  readonly slackUs: SpanUs;
  /** How long an answer is waited for. */
  readonly patienceUs: SpanUs;
  /** How often a record is looked at while another has it. */
  readonly pollUs: SpanUs;
  /** How long after an access or a renewal that failed the next is tried. */
  readonly retryUs: SpanUs;
}

/** Shorter, and a renewal could not end before the term does even where every access is in time. */
const TERM_DELTAS_MIN = 5;
const ATTEMPT_DELTAS = 2;
const PAUSE_DELTAS = 2;
const SLACK_DELTAS = 4;
/** The paper's Δ+5δ suffices without renewals that read; the product has one observation for both. */
const OBSERVATION_DELTAS = 6;
const OBSERVATION_DELTAS_ND = 5;
const PATIENCE_DELTAS = 4;
/** Clocks count whole microseconds: a wait may be so much shorter than it looks. */
const GRAIN_US = 1;
const POLL_US_MAX = 100_000;
const POLL_US_MIN = 1_000;

/** How long a claim watches a record before the record is free, on a store that can compare and set: the record's own term is enough. */
export function recordObservationUs(termUs: number, { rateErrorPpm }: StorageTiming): SpanUs {
  return waited(termUs, rateErrorPpm);
}

/** How long readers leave a name to a writer that waits, unless it says so again. Some accesses must fit into it. */
export function wantedUs({ maxTermUs, patienceUs }: StorageTiming): number {
  return Math.max(Math.floor(maxTermUs / 8), 4 * patienceUs);
}

/** So long by any clock is at least that long by any other. */
function waited(us: number, rateErrorPpm: number): SpanUs {
  return spanUs(stretch(us, rateErrorPpm) + GRAIN_US);
}

/** The longest that a dead holder keeps waiters waiting, with the accesses of its successor. */
export function takeOverUs({ observationUs, pollUs, pauseUs, patienceUs }: StorageTiming): SpanUs {
  return spanUs(observationUs + 2 * pollUs + pauseUs + 2 * patienceUs);
}

export function deriveStorageTiming(input: StorageTimingInput): StorageTiming {
  const { deltaUs, maxTermUs, rateErrorPpm } = checked(input);
  if (maxTermUs < TERM_DELTAS_MIN * deltaUs) {
    const [delta, least] = [spanUs(deltaUs), spanUs(TERM_DELTAS_MIN * deltaUs)].map(formatDuration);
    const message = `a maxTerm of ${formatDuration(spanUs(maxTermUs))} is too short for accesses of ${delta}: use at least ${least}`;
    throw bad(message, input);
  }
  const observationUs = waited(maxTermUs + OBSERVATION_DELTAS * deltaUs, rateErrorPpm);
  return derived(input, observationUs, waited(PAUSE_DELTAS * deltaUs, rateErrorPpm));
}

/** The paper's own: delays of Δ+5δ, or Δ+6δ where renewals read first, and of 2δ, on clocks without error. Any Δ will do: Figure 8 has one below δ. */
export function literalTiming(input: Omit<StorageTimingInput, 'rateErrorPpm'>, renewal: 'nd' | 'eventual-nd'): StorageTiming {
  const { deltaUs, maxTermUs } = checked({ ...input, rateErrorPpm: 0 });
  const deltas = renewal === 'nd' ? OBSERVATION_DELTAS_ND : OBSERVATION_DELTAS;
  return derived({ ...input, rateErrorPpm: 0 }, spanUs(maxTermUs + deltas * deltaUs), spanUs(PAUSE_DELTAS * deltaUs));
}

function derived(input: StorageTimingInput, observationUs: SpanUs, pauseUs: SpanUs): StorageTiming {
  const { deltaUs } = input;
  return {
    ...input,
    observationUs,
    attemptUs: spanUs(ATTEMPT_DELTAS * deltaUs),
    pauseUs,
    slackUs: spanUs(SLACK_DELTAS * deltaUs),
    patienceUs: spanUs(PATIENCE_DELTAS * deltaUs),
    pollUs: spanUs(Math.max(POLL_US_MIN, Math.min(deltaUs, POLL_US_MAX))),
    retryUs: spanUs(Math.max(POLL_US_MIN, Math.min(deltaUs, POLL_US_MAX))),
  };
}

/** One line for each duration: its name, how long it is, and what it is for. */
export function describeStorageTiming(timing: StorageTiming): readonly (readonly [name: string, value: string, why: string])[] {
  const rows: readonly (readonly [string, number, string])[] = [
    ['delta', timing.deltaUs, 'an access takes at most so long, as a rule; a late one voids an attempt'],
    ['maxTerm', timing.maxTermUs, 'the longest term of any lease on the store'],
    ['observation', timing.observationUs, 'a record that has not changed for so long is free (plain registers)'],
    ['attempt', timing.attemptUs, 'a read that finds a lease free and the write after it, together'],
    ['pause', timing.pauseUs, 'between the write and the read that confirms it'],
    ['slack', timing.slackUs, 'how much later than a term after its write a lease may end'],
    ['patience', timing.patienceUs, 'how long an answer is waited for'],
    ['poll', timing.pollUs, 'how often a held lease is looked at'],
    ['retry', timing.retryUs, 'how long after a failure it is tried again'],
  ];
  const rate = ['rateError', `${timing.rateErrorPpm / 10_000}%`, 'how far the rate of any clock may be off'] as const;
  return [...rows.map(([name, us, why]) => [name, formatDuration(spanUs(us)), why] as const), rate];
}

function checked(input: StorageTimingInput): StorageTimingInput {
  const { deltaUs, maxTermUs, rateErrorPpm } = input;
  if (!Number.isSafeInteger(deltaUs) || deltaUs < 1) throw bad('delta must be at least 1us', input);
  if (!Number.isSafeInteger(maxTermUs) || maxTermUs < 1) throw bad('maxTerm must be at least 1us', input);
  if (maxTermUs > MAX_TERM_US_MAX) throw bad('maxTerm must be at most 1d: a dead holder is waited for as long', input);
  if (!Number.isSafeInteger(rateErrorPpm) || rateErrorPpm < 0 || rateErrorPpm > RATE_ERROR_PPM_MAX)
    throw bad('the rate error must be from 0 to 0.2', input);
  return input;
}

function bad(message: string, { deltaUs, maxTermUs, rateErrorPpm }: StorageTimingInput): TenureError {
  return new TenureError('TENURE_BAD_TIMING', message, { deltaUs, maxTermUs, rateErrorPpm });
}
