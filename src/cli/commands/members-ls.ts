/** `tenure members ls`: the view of a cell: its members, its terms, and what each member has stored. */
import { Command } from 'commander';
import type { CellView } from '../../api/index.ts';
import { formatDuration, spanUs } from '../../kernel/index.ts';
import { addCellOptions, type CellFlags } from '../config.ts';
import { openCell } from '../connection.ts';
import { paletteFor, printJson, table } from '../terminal.ts';

interface LsFlags extends CellFlags {
  readonly json?: boolean;
}

export function membersLsCommand(): Command {
  return addCellOptions(
    new Command('ls')
      .summary('show the members and terms of a cell')
      .description(
        'Prints the view that the cell is in: members, how many vote on a name, the longest term, and which view each member has stored.',
      )
      .option('--json', 'print one JSON object; its `view.text` is what a configuration file has as `view`'),
  )
    .addHelpText(
      'after',
      '\nExamples:\n  tenure members ls\n  tenure members ls --json | jq -r .view.text\n\nExit codes: 0 done, 69 no member answers, 77 not allowed, 78 bad configuration.',
    )
    .action(async (flags: LsFlags) => {
      const cell = await openCell(flags, { needs: 'member' });
      const standings = await cell.status();
      const { view } = cell;
      const members = cell.members().map(({ id, number, address, joins, leaves, stats }) => ({
        id,
        number,
        address,
        joins,
        leaves,
        connected: stats?.connected ?? false,
        storedView: standings.find((one) => one.id === id)?.storedView ?? null,
      }));
      await cell.close();
      if (flags.json) return printJson({ view, members });
      const { bold, dim, yellow } = paletteFor(process.stdout);
      if (view) process.stdout.write(`${viewLine(view)}\n`);
      const head = ['MEMBER', 'NUMBER', 'ADDRESS', 'STORED', ''].map(dim);
      const rows = members.map(({ id, number, address, joins, leaves, connected, storedView }) => [
        bold(id),
        String(number),
        address,
        storedView === null ? '-' : storedView === view?.epoch ? String(storedView) : yellow(String(storedView)),
        joins ? yellow('joins') : leaves ? yellow('leaves') : connected ? '' : dim('down'),
      ]);
      process.stdout.write(table([head, ...rows]));
    });
}

/** `view 7: 3 members, 3 vote on a name, terms up to 15s`. */
export function viewLine({ epoch, members, before, replication, maxTermMs }: CellView): string {
  const change = before === null ? '' : `, from ${before.members.length} with ${before.replication} votes`;
  return `view ${epoch}${before === null ? '' : ' (a change is under way)'}: ${members.length} members, ${replication} vote on a name, terms up to ${formatDuration(spanUs(maxTermMs * 1000))}${change}`;
}
