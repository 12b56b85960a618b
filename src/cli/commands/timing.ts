/** `tenure timing`: print every duration the quorum engine derives from the longest term, the rate error and the round trip. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { abortMarginUs, deriveTiming, renewAfterUs, shortestTermUs, stretch } from '../../core/index.ts';
import { formatDuration, parseDuration, spanUs, TenureError, type SpanUs } from '../../kernel/index.ts';
import { EXIT } from '../exit-codes.ts';

interface TimingOptions {
  maxTerm: SpanUs;
  rateError: number;
  rtt: SpanUs;
  term?: SpanUs;
  json?: boolean;
}

/** The same durations by name, with what each is for. */
interface Line {
  readonly name: string;
  readonly us: number;
  readonly meaning: string;
}

export function timingCommand(setExit: (code: number) => void): Command {
  return new Command('timing')
    .summary('print the durations derived from a term')
    .description('Derives all timing of the quorum engine and says whether it can work: three renewals must fit into a term.')
    .addOption(
      new Option('--max-term <duration>', 'the longest term of any lease').argParser(duration).default(parseDuration('15s'), '15s'),
    )
    .option('--rate-error <ratio>', 'how far the rate of a clock may be off: 0.001 is a thousandth', ratio, 0.001)
    .addOption(
      new Option('--rtt <duration>', 'a usual round trip between members').argParser(duration).default(parseDuration('2ms'), '2ms'),
    )
    .option('--term <duration>', 'the term of the lease to show (default: the longest)', duration)
    .option('--json', 'print one JSON object, durations in microseconds')
    .addHelpText(
      'after',
      `
Examples:
  tenure timing --max-term 15s --rate-error 0.001 --rtt 2ms
  tenure timing --max-term 1m --term 10s --rtt 80ms       members far apart

Exit codes: 0 it can work, 64 usage, 78 it cannot work (the message says what would).`,
    )
    .action((options: TimingOptions) => {
      const lines = derive(options, setExit);
      if (!lines) return;
      if (options.json) process.stdout.write(`${JSON.stringify(Object.fromEntries(lines.map(({ name, us }) => [name, us])))}\n`);
      else process.stdout.write(`${lines.map((line) => format(line)).join('\n')}\n`);
    });
}

function derive({ maxTerm, rateError, rtt, term }: TimingOptions, setExit: (code: number) => void): Line[] | null {
  try {
    const timing = deriveTiming({ maxTermUs: maxTerm, rateErrorPpm: Math.round(rateError * 1_000_000), rttUs: rtt });
    const termUs = term ?? maxTerm;
    const shortestUs = shortestTermUs(timing);
    if (termUs > maxTerm)
      throw new TenureError('TENURE_BAD_TIMING', `a term of ${formatDuration(termUs)} is above the maxTerm of ${formatDuration(maxTerm)}`);
    if (termUs < shortestUs) {
      throw new TenureError(
        'TENURE_BAD_TIMING',
        `a term of ${formatDuration(termUs)} leaves no room for three renewals. Use at least ${formatDuration(shortestUs)}`,
      );
    }
    return [
      { name: 'termUs', us: termUs, meaning: 'the holder may act this long, by its own clock, from its first message on' },
      { name: 'acceptorTermUs', us: stretch(termUs, timing.rateErrorPpm), meaning: "an acceptor's vote lasts this long, by its own clock" },
      { name: 'silenceUs', us: timing.silenceUs, meaning: 'a member that starts without its state votes for nobody this long' },
      { name: 'attemptUs', us: timing.attemptUs, meaning: 'an attempt that has no quorum by then is given up' },
      { name: 'renewAfterUs', us: renewAfterUs(termUs), meaning: 'a lease is renewed this long after its last extension began' },
      { name: 'retryUs', us: timing.retryUs, meaning: 'a failed renewal is tried again after this' },
      { name: 'abortMarginUs', us: abortMarginUs(termUs), meaning: 'the holder is told to stop this long before its deadline' },
      { name: 'backOffUs', us: timing.backOffUs, meaning: 'after a split vote: a random part of this, doubled each time' },
      { name: 'headStartUs', us: timing.headStartUs, meaning: 'the first in the queue has a free lease to itself this long' },
      { name: 'waiterUs', us: timing.waiterUs, meaning: 'a waiter that is not heard of is forgotten after this' },
      { name: 'shortestTermUs', us: shortestUs, meaning: 'no term may be shorter, or three renewals would not fit' },
    ];
  } catch (error) {
    if (!(error instanceof TenureError) || error.code !== 'TENURE_BAD_TIMING') throw error;
    process.stderr.write(`tenure: ${error.message} (${error.code})\n`);
    setExit(EXIT.badConfig);
    return null;
  }
}

function format({ name, us, meaning }: Line): string {
  return `${name.replace(/Us$/, '').padEnd(14)} ${formatDuration(spanUs(us)).padStart(14)}  ${meaning}`;
}

function duration(text: string): SpanUs {
  try {
    return parseDuration(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

function ratio(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value <= 0.2))
    throw new InvalidArgumentError('a number from 0 to 0.2 is needed; a thousandth is 0.001.');
  return value;
}
