/** `tenure ls`: which leases are held, by whom. */
import { Command } from 'commander';
import type { Cell, Listing } from '../../api/index.ts';
import { addCellOptions, type CellFlags } from '../config.ts';
import { openCell } from '../connection.ts';
import { EXIT } from '../exit-codes.ts';
import { glance, metaText, paletteFor, printJson, table } from '../terminal.ts';

interface ListFlags extends CellFlags {
  readonly json?: boolean;
}

export function lsCommand(setExit: (code: number) => void): Command {
  return addCellOptions(
    new Command('ls')
      .summary('list the leases that are held')
      .description(
        'Asks a majority of the members which leases are held whose names begin with PREFIX. It is no snapshot: what begins or ends\n' +
          'meanwhile may be on the list or not. Ended leases leave nothing behind and are never listed.',
      )
      .argument('[prefix]', 'the beginning of the names; all names without it', '')
      .option('--json', 'print one JSON object'),
  )
    .addHelpText(
      'after',
      `
Examples:
  tenure ls
  tenure ls reports/
  tenure ls --json | jq -r '.leases[].name'

Exit codes: 0 listed, 69 not enough members answered: leases may be missing, 77 not allowed, 78 bad configuration.`,
    )
    .action(async (prefix: string, flags: ListFlags) => {
      const { leases, certain } = await listed(await openCell(flags), prefix);
      if (flags.json) {
        const told = leases.map(({ name, holder, certain: isSure, meta }) => ({
          name,
          certain: isSure,
          holder: { ...holder, meta: metaText(meta) },
        }));
        printJson({ prefix, certain, leases: told });
      } else print(prefix, { leases, certain });
      setExit(certain ? EXIT.ok : EXIT.noQuorum);
    });
}

async function listed(cell: Cell, prefix: string): Promise<Listing> {
  try {
    return await cell.list(prefix);
  } finally {
    await cell.close();
  }
}

function print(prefix: string, { leases, certain }: Listing): void {
  const { bold, dim, yellow } = paletteFor(process.stdout);
  const rows = leases.map(({ name, holder, certain: isSure, meta }) => [
    bold(name),
    String(holder.token),
    glance(holder.remainingMsMax),
    (metaText(meta) ?? `process ${holder.incarnation}`) + (isSure ? '' : yellow(' (not sure)')),
  ]);
  if (rows.length > 0) process.stdout.write(table([['NAME', 'TOKEN', 'AT MOST', 'HOLDER'].map(dim), ...rows]));
  else if (certain) process.stderr.write(prefix === '' ? 'nothing is held\n' : `nothing is held under '${prefix}'\n`);
  if (!certain) process.stderr.write('not enough members answered: leases may be missing\n');
}
