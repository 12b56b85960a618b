/** `tenure store init`: writes the parameters of a store once, where the first process that opens it cannot. */
import { Command } from 'commander';
import { formatDuration, parseDuration, TenureError, type SpanUs } from '../../kernel/index.ts';
import { initParameters, openStore } from '../../store/index.ts';
import { SECTOR_BYTES } from '../../store/block/sectors.ts';
import { printJson } from '../terminal.ts';
import { wholeNumber } from '../whole-number.ts';

interface InitFlags {
  readonly delta?: string;
  readonly maxTerm?: string;
  readonly rateError?: string;
  readonly plain?: boolean;
  readonly sectors?: number;
  readonly json?: boolean;
}

export function storeInitCommand(): Command {
  return new Command('init')
    .summary('set up a store')
    .description(
      'Writes what all users of a store agree on: how long an access may take (delta), the longest term of a lease, how far the rate of a\n' +
        'clock may be off. A store that can compare and set is set up by its first user, and this only chooses the values; one that can\n' +
        'only read and write needs it, once, before anybody uses it. What is set up stays: asking for something else is refused.',
    )
    .argument('<url>', 'file:///DIRECTORY, postgres://…, redis://…')
    .option('--delta <duration>', 'how long an access may take; progress depends on it, safety does not')
    .option('--max-term <duration>', 'the longest term of any lease')
    .option('--rate-error <ratio>', 'how far the rate of a clock may be off: 0.001 is a thousandth')
    .option('--plain', 'keep leases on plain registers, though the store can compare and set')
    .option(
      '--sectors <n>',
      'block: only: how many sectors of 4096 bytes a file is made, with holes; the more, the rarer two names share one',
      wholeNumber(1, 2 ** 38),
    )
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  tenure store init file:///var/lib/leases
  tenure store init postgres://leases@db.internal/app --max-term 1m
  tenure store init 'file:///mnt/nfs/leases?swap=off' --delta 2s --max-term 2m
  tenure store init block:///srv/shared/leases --sectors 268435456

Exit codes: 0 it is set up, 64 usage, 69 the store does not answer, 77 it does not let us in, 78 it is set up differently or is not fit.`,
    )
    .action(async (url: string, { delta, maxTerm, rateError, plain, sectors, json }: InitFlags) => {
      const wanted = {
        ...given('deltaUs', delta, parseDuration),
        ...given('maxTermUs', maxTerm, parseDuration),
        ...given('rateErrorPpm', rateError, (ratio) => Math.round(Number(ratio) * 1_000_000)),
        ...(plain ? { isPlain: true } : {}),
      };
      const store = await openStore(sectors === undefined ? url : withSectors(url, sectors), { create: 'init' });
      try {
        const { parameters, created } = await initParameters(store, wanted);
        const identity = await store.identity();
        const isPlain = !store.can.swap || parameters.isPlain === true;
        if (json) {
          const { deltaUs, maxTermUs, rateErrorPpm } = parameters;
          printJson({ url: store.url, created, identity, swap: store.can.swap, plain: isPlain, deltaUs, maxTermUs, rateErrorPpm });
          return;
        }
        const path = isPlain ? 'plain registers' : 'compare-and-set';
        process.stdout.write(
          `${store.url} ${created ? 'is set up' : 'was set up before'} (${path}): delta ${formatDuration(parameters.deltaUs)}, longest term ${formatDuration(parameters.maxTermUs)}, rate error ${parameters.rateErrorPpm / 1_000_000}\n`,
        );
      } finally {
        await store.close();
      }
    });
}

/** As the URL says it. A file that has another length already, and a device, are refused. */
function withSectors(url: string, sectors: number): string {
  if (!url.startsWith('block:')) throw new TenureError('TENURE_BAD_ARGUMENT', '--sectors is for stores of the kind block:');
  const longer = new URL(url);
  longer.searchParams.set('bytes', String(sectors * SECTOR_BYTES));
  return longer.href;
}

/** The value given on the command line; empty if none was given. */
function given<Name extends string, Value extends SpanUs | number>(
  name: Name,
  text: string | undefined,
  parse: (text: string) => Value,
): Partial<Record<Name, Value>> {
  return text === undefined ? {} : ({ [name]: parse(text) } as Partial<Record<Name, Value>>);
}
