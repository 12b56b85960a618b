/** `tenure timing`: print every duration an engine derives from the longest term, the rate error, the round trip and the skew of clocks. */
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Engine } from '../../api/engines/engine.ts';
import { makeEngine, parseEngine, type EngineOptions } from '../../api/engines/index.ts';
import { MAX_TERM, RATE_ERROR, RTT_US, termOptions } from '../../api/engines/terms.ts';
import {
  abortMarginUs,
  rateWindowUs,
  renewAfterUs,
  renewalPatienceUs,
  roundPatienceUs,
  shortestTermUs,
  stretch,
  type RoundTiming,
  type Timing,
} from '../../core/index.ts';
import { formatDuration, parseDuration, spanUs, TenureError, type SpanUs } from '../../kernel/index.ts';
import { skewLacking } from '../engine-of.ts';
import { ENGINE_MEANING } from '../settings.ts';

interface TimingOptions {
  engine: EngineOptions;
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

export function timingCommand(): Command {
  return new Command('timing')
    .summary('print the durations derived from a term')
    .description('Derives all timing of an engine and says whether it can work: three renewals must fit into a term.')
    .addOption(new Option('--engine <engine>', ENGINE_MEANING).argParser(engineText).default('quorum'))
    .addOption(
      new Option('--max-term <duration>', 'the longest term of any lease').argParser(duration).default(parseDuration(MAX_TERM), MAX_TERM),
    )
    .option('--rate-error <ratio>', 'how far the rate of a clock may be off: 0.1 is a tenth', ratio, RATE_ERROR)
    .addOption(
      new Option('--rtt <duration>', 'a usual round trip between members')
        .argParser(duration)
        .default(spanUs(RTT_US), formatDuration(spanUs(RTT_US))),
    )
    .option('--term <duration>', 'the term of the lease to show (default: the longest)', duration)
    .option('--json', 'print one JSON object, durations in microseconds')
    .addHelpText(
      'after',
      `
Examples:
  tenure timing --max-term 15s --rate-error 0.1 --rtt 2ms
  tenure timing --max-term 1m --term 10s --rtt 80ms       members far apart
  tenure timing --engine flease:4,skew=500ms --json

Exit codes: 0 it can work, 64 usage, 78 it cannot work (the message says what would).`,
    )
    .action((options: TimingOptions) => {
      const lines = derive(options);
      if (options.json) process.stdout.write(`${JSON.stringify(Object.fromEntries(lines.map(({ name, us }) => [name, us])))}\n`);
      else process.stdout.write(`${lines.map((line) => format(line)).join('\n')}\n`);
    });
}

/** Throws if the values cannot work, and says which would. */
function derive({ engine: wanted, maxTerm, rateError, rtt, term }: TimingOptions): Line[] {
  const lacking = skewLacking(wanted);
  if (lacking !== null) throw new TenureError('TENURE_BAD_CONFIG', `--engine: ${lacking}`);
  const engine = makeEngine(wanted, { ...termOptions({ rateError }), maxTermUs: maxTerm, rttUs: rtt });
  const termUs = term ?? maxTerm;
  const shortestUs = shortestTermUs(engine.timing);
  if (termUs > maxTerm)
    throw new TenureError('TENURE_BAD_TIMING', `a term of ${formatDuration(termUs)} is above the maxTerm of ${formatDuration(maxTerm)}`);
  if (termUs < shortestUs) {
    throw new TenureError(
      'TENURE_BAD_TIMING',
      `a term of ${formatDuration(termUs)} leaves no room for three renewals. Use at least ${formatDuration(shortestUs)}`,
    );
  }
  return linesOf(engine, termUs, shortestUs);
}

function linesOf({ timing, can, skewUs }: Engine, termUs: number, shortestUs: number): Line[] {
  const lines: Line[] = [
    { name: 'termUs', us: termUs, meaning: 'the holder may act this long, by its own clock, from its first message on' },
    {
      name: 'acceptorTermUs',
      us: stretch(termUs + skewUs, timing.rateErrorPpm),
      meaning: "an acceptor's vote lasts this long, by its own clock" + (skewUs > 0 ? ', if that shows the same as the holder’s' : ''),
    },
    { name: 'silenceUs', us: timing.silenceUs, meaning: 'a member that starts without its state votes for nobody this long' },
    { name: 'attemptUs', us: timing.attemptUs, meaning: 'an attempt that has no quorum by then is given up' },
  ];
  if (can.renew) {
    lines.push(
      { name: 'renewAfterUs', us: renewAfterUs(termUs), meaning: 'a lease is renewed this long after its last extension began' },
      {
        name: 'renewalUs',
        us: isRoundTiming(timing) ? roundPatienceUs(timing, true, termUs) : renewalPatienceUs(timing, termUs),
        meaning: 'a renewal that has no quorum by then is given up',
      },
      { name: 'retryUs', us: timing.retryUs, meaning: 'a failed renewal is tried again after this' },
    );
  }
  lines.push(
    { name: 'abortMarginUs', us: abortMarginUs(termUs), meaning: 'the holder is told to stop this long before its deadline' },
    { name: 'backOffUs', us: timing.backOffUs, meaning: 'after a split vote: a random part of this, doubled each time' },
  );
  if (can.ordered) {
    lines.push(
      { name: 'headStartUs', us: timing.headStartUs, meaning: 'the first in the queue has a free lease to itself this long' },
      { name: 'waiterUs', us: timing.waiterUs, meaning: 'a waiter that is not heard of is forgotten after this' },
    );
  }
  if (isRoundTiming(timing)) {
    lines.push({ name: 'pollUs', us: timing.pollUs, meaning: 'one that waits looks again after this, half as much more or less' });
    if (skewUs > 0) lines.push({ name: 'skewUs', us: skewUs, meaning: 'wall clocks may be apart by this; votes across more do not count' });
  }
  lines.push({ name: 'aheadUsMax', us: timing.aheadUsMax, meaning: 'a ballot further ahead of a node’s own clock is not believed' });
  lines.push({ name: 'rateWindowUs', us: rateWindowUs(timing), meaning: 'rates of clocks are compared over this long' });
  return [...lines, { name: 'shortestTermUs', us: shortestUs, meaning: 'no term may be shorter, or three renewals would not fit' }];
}

/** The timing of engines that look again instead of standing in line. */
function isRoundTiming(timing: Timing): timing is RoundTiming {
  return 'pollUs' in timing;
}

function format({ name, us, meaning }: Line): string {
  return `${name.replace(/Us(?:Max)?$/, '').padEnd(14)} ${formatDuration(spanUs(us)).padStart(14)}  ${meaning}`;
}

function duration(text: string): SpanUs {
  try {
    return parseDuration(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

function engineText(text: string): EngineOptions {
  try {
    return parseEngine(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

function ratio(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value <= 0.2))
    throw new InvalidArgumentError('a number from 0 to 0.2 is needed; a tenth is 0.1.');
  return value;
}
