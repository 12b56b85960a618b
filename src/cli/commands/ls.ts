/** `tenure ls`: the held leases, and their holders. */
import { Command } from 'commander';
import type { Listing } from '../../api/index.ts';
import { addLeaseOptions, type CellFlags } from '../config.ts';
import { EXIT } from '../exit-codes.ts';
import { openLeases } from '../leases.ts';
import type { OpenedLeases } from '../opened-leases.ts';
import { glance, holderText, metaText, paletteFor, printJson, table } from '../terminal.ts';

interface ListFlags extends CellFlags {
  readonly json?: boolean;
}

export function lsCommand(setExit: (code: number) => void): Command {
  return addLeaseOptions(
    new Command('ls')
      .summary('list the leases that are held')
      .description(
        'Asks a majority of the members, or the store, which leases are held whose names begin with PREFIX. It is no snapshot: what begins\n' +
          'or ends meanwhile may be on the list or not. Ended leases are never listed.',
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

Exit codes: 0 listed, 69 not enough members answered, or the store did not: leases may be missing, 77 not allowed,
78 bad configuration.`,
    )
    .action(async (prefix: string, flags: ListFlags) => {
      const opened = await openLeases(flags);
      const { leases, certain, viewEpoch } = await listed(opened, prefix);
      if (flags.json) {
        const told = leases.map(({ name, holder, certain: isSure, meta }) => ({
          name,
          certain: isSure,
          holder: { ...holder, meta: metaText(meta) },
        }));
        printJson({ prefix, certain, leases: told, ...(viewEpoch === null ? {} : { viewEpoch }) });
      } else print(prefix, { leases, certain }, opened.place);
      setExit(certain ? EXIT.ok : EXIT.noQuorum);
    });
}

async function listed({ client, viewEpoch }: OpenedLeases, prefix: string): Promise<Listing & { readonly viewEpoch: number | null }> {
  try {
    return { ...(await client.list(prefix)), viewEpoch: viewEpoch() };
  } finally {
    await client.close();
  }
}

const LACKING = { cell: 'not enough members answered', store: 'the store did not answer in time for all' } as const;

function print(prefix: string, { leases, certain }: Listing, place: OpenedLeases['place']): void {
  const { bold, dim, yellow } = paletteFor(process.stdout);
  const rows = leases.map(({ name, holder, certain: isSure, meta }) => [
    bold(name),
    String(holder.token),
    glance(holder.remainingMsMax),
    holderText(meta, holder) + (isSure ? '' : yellow(' (not sure)')),
  ]);
  if (rows.length > 0) process.stdout.write(table([['NAME', 'TOKEN', 'AT MOST', 'HOLDER'].map(dim), ...rows]));
  else if (certain) process.stderr.write(prefix === '' ? 'nothing is held\n' : `nothing is held under '${prefix}'\n`);
  if (!certain) process.stderr.write(`${LACKING[place]}: leases may be missing\n`);
}
