/** `tenure bootstrap`: ends the silence of a brand-new cell at once. A one-shot act, so it is no setting that could stay in a unit file. */
import { Command } from 'commander';
import { TenureError } from '../../kernel/index.ts';
import { addCellOptions, type CellFlags } from '../config.ts';
import { openCell } from '../connection.ts';
import { printJson } from '../terminal.ts';

interface BootstrapFlags extends CellFlags {
  readonly yes?: boolean;
  readonly json?: boolean;
}

export function bootstrapCommand(): Command {
  return addCellOptions(
    new Command('bootstrap')
      .summary('end the silence of a brand-new cell')
      .description(
        'Members that start vote for nobody for about the longest term, because they may have voted before. Nobody has voted in a cell that\n' +
          'never was: this ends the silence of all its members at once. All must be present and silent, or nothing happens. Needs the secret of\n' +
          'the members (--secret-file). Never do this to a cell that was in use since its members started: two could hold the same lease.',
      )
      .option('--yes', 'yes, this cell is brand-new')
      .option('--json', 'print one JSON object'),
  )
    .addHelpText(
      'after',
      `
Examples:
  tenure bootstrap --yes                     right after the first start of all members

Exit codes: 0 the cell votes, 64 without --yes, 69 no majority, 77 not allowed: a member is absent, votes or has voted, or the secret is wrong.`,
    )
    .action(async (flags: BootstrapFlags) => {
      if (!flags.yes) {
        throw new TenureError(
          'TENURE_BAD_ARGUMENT',
          'this is only for a cell that nobody has used yet: two could hold the same lease otherwise. If that is so, say --yes',
        );
      }
      const cell = await openCell(flags, { asAdmin: true });
      try {
        await cell.bootstrap();
      } finally {
        await cell.close();
      }
      if (flags.json) printJson({ bootstrapped: true });
      else process.stdout.write('the silence is over: all members vote\n');
    });
}
