/** `tenure store compact`: clears a store of the records of leases that have no holder any more. */
import { Command } from 'commander';
import { TenureError } from '../../kernel/index.ts';
import { compactUnits, openStore, ReplicatedStore } from '../../store/index.ts';
import { EXIT } from '../exit-codes.ts';
import { Progress } from '../progress.ts';
import { compactStore, type CompactionResult } from '../store-compaction.ts';
import { paletteFor, printJson } from '../terminal.ts';

export function storeCompactCommand(setExit: (code: number) => void): Command {
  return new Command('compact')
    .summary('erase the records of leases that were given back')
    .description(
      'A lease that was given back leaves its record in the store, so that the next token is higher. This erases such records and notes the\n' +
        'highest of their tokens once, as a floor for all that come later. It can be run at any time, beside those who use the store.\n' +
        'Units of a replicated store are cleared of the registers of processes that are gone. For that nobody may use the store: say --offline.',
    )
    .argument('<url>', 'file:///DIRECTORY, postgres://…, redis://…')
    .option('--offline', 'nobody uses the replicated store, and nobody will before this has ended')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  tenure store compact file:///var/lib/leases
  tenure store compact postgres://leases@db.internal/app --json

Records of leases that are held stay, and so do those of holders that vanished: they go after somebody has taken the lease and given it
back. A store that can only read and write cannot be compacted.

Exit codes: 0 done, 64 usage, 69 the store does not answer, 77 it does not let us in, 78 it cannot be compacted, or has records that cannot be read.`,
    )
    .action(async (url: string, { json, offline }: { readonly json?: boolean; readonly offline?: boolean }) => {
      const store = await openStore(url, { create: 'never' });
      const line = new Progress();
      try {
        if (store instanceof ReplicatedStore) {
          if (!offline) throw notOffline(store.url);
          const cleared = await compactUnits(store, (registers) => line.say(`${registers} registers looked at …`));
          line.clear();
          if (json) printJson({ url: store.url, ...cleared });
          else
            process.stdout.write(
              `${store.url}: ${cleared.blocks} old blocks of ${cleared.registers} registers erased, ${cleared.erased} registers gone\n`,
            );
          return;
        }
        const result = await compactStore(store, (records) => line.say(`${records} records looked at …`));
        line.clear();
        if (json) printJson({ url: store.url, ...result });
        else print(store.url, result);
        setExit(result.unreadable.length > 0 ? EXIT.badConfig : EXIT.ok);
      } finally {
        line.clear();
        await store.close();
      }
    });
}

function notOffline(url: string): TenureError {
  return new TenureError(
    'TENURE_BAD_ARGUMENT',
    `the units of ${url} are cleared only while nobody uses it: stop everybody, then say --offline`,
    { url },
  );
}

function print(url: string, { records, erased, held, changed, unreadable, floor }: CompactionResult): void {
  const { bold, red } = paletteFor(process.stdout);
  const rest = [
    ...(held > 0 ? [`${held} held`] : []),
    ...(changed > 0 ? [`${changed} changed meanwhile`] : []),
    ...(unreadable.length > 0 ? [red(`${unreadable.length} cannot be read`)] : []),
  ];
  const left = rest.length > 0 ? ` (${rest.join(', ')})` : '';
  const tokens = floor > 0 ? `; new tokens are above ${floor}` : '';
  process.stdout.write(`${bold(url)}: ${erased} of ${records} records erased${left}${tokens}\n`);
  for (const name of unreadable) process.stderr.write(`the record of '${name}' cannot be read and was left as it is\n`);
}
