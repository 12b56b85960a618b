/** `tenure decide`: proposes a value for a key, and prints the decided value, whichever process proposed it. */
import { Command } from 'commander';
import { openStorage } from '../../api/storage/open.ts';
import { TenureError } from '../../kernel/index.ts';
import { EXIT } from '../exit-codes.ts';
import { stopSignals, StoppedBySignal } from '../stop-signals.ts';
import { printJson } from '../terminal.ts';

interface DecideFlags {
  readonly store?: string;
  readonly wait?: string;
  readonly json?: boolean;
}

export function decideCommand(setExit: (code: number) => void): Command {
  return new Command('decide')
    .summary('decide a value once and for ever, in a store')
    .description(
      'Proposes VALUE for KEY and prints the value that was decided: this one, or what another process proposed before. A decision is for ever. However many\n' +
        'processes ask, whichever of them die, all of them get the same answer.',
    )
    .argument('<key>', 'what is decided')
    .argument('<value>', 'what this process proposes')
    .option('--store <url>', 'file:///DIRECTORY, postgres://…, redis://…, replicated:?unit=…&unit=…&unit=… (TENURE_STORE)')
    .option('-w, --wait <duration>', 'wait at most this long for a decision (default: as long as it takes)')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  tenure decide owner-of-volume-7 "$(hostname)" --store file:///var/lib/leases
  tenure decide schema/v2 "$BUILD" --store 'replicated:?unit=file:///a&unit=file:///b&unit=file:///c' --json

Exit codes: 0 decided, 64 usage, 69 the store does not answer, 76 not decided in time (-w), 77 it does not let us in, 78 it is set up differently or not at all.`,
    )
    .action(async (key: string, value: string, { store = process.env['TENURE_STORE'], wait, json }: DecideFlags) => {
      if (store === undefined || store === '') throw new TenureError('TENURE_BAD_CONFIG', 'which store? Give --store URL (TENURE_STORE)');
      const stop = stopSignals();
      try {
        const storage = await openStorage(store, { signal: stop.signal });
        try {
          const options = { signal: stop.signal, ...(wait === undefined ? {} : { wait }) };
          const decided = Buffer.from(await storage.decide(key, value, options)).toString();
          if (json) printJson({ key, value: decided, isOurs: decided === value });
          else process.stdout.write(`${decided}\n`);
        } finally {
          await storage.close();
        }
        setExit(EXIT.ok);
      } catch (error) {
        if (!(error instanceof StoppedBySignal)) throw error;
        setExit(error.exitCode);
      } finally {
        stop.disarm();
      }
    });
}
