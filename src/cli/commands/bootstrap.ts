/** `tenure bootstrap`: ends the silence of a brand-new cell at once, and begins its claims. A one-shot act, so it is no setting that could stay in a unit file. */
import { Command } from 'commander';
import type { Cell } from '../../api/index.ts';
import { TenureError } from '../../kernel/index.ts';
import { addCellOptions, type CellFlags } from '../config.ts';
import { openCell } from '../connection.ts';
import { printJson } from '../terminal.ts';

interface BootstrapFlags extends CellFlags {
  readonly yes?: boolean;
  readonly claims?: boolean;
  readonly json?: boolean;
}

export function bootstrapCommand(): Command {
  return addCellOptions(
    new Command('bootstrap')
      .summary('begin a brand-new cell, or its claims')
      .description(
        'Members that start vote for nobody for about the longest term, because they may have voted before. Nobody has voted in a cell that\n' +
          'never was: this ends the silence of all its members at once. All must be present and silent, or nothing happens. Needs the secret of\n' +
          'the members (--secret-file). Never do this to a cell that was in use since its members started: two could hold the same lease.\n' +
          'If every member has a data directory, claims begin as well. With --claims nothing else does, for a cell whose leases are in use: every\n' +
          'disk must be blank. Never do this when the disks of all were lost: integers that were claimed before could be claimed again.',
      )
      .option('--yes', 'yes, this cell is brand-new')
      .option('--claims', 'only begin claims (tenure claim)')
      .option('--json', 'print one JSON object'),
  )
    .addHelpText(
      'after',
      `
Examples:
  tenure bootstrap --yes                     right after the first start of all members
  tenure bootstrap --claims --yes            the first claims of a cell that has leases already

Exit codes: 0 done, 64 without --yes, 69 no majority, 77 not allowed: a member is absent, votes or has voted, has claims already, or the secret is wrong;
78 no majority can keep claims: they have no data directories.`,
    )
    .action(async (flags: BootstrapFlags) => {
      if (!flags.yes) {
        throw new TenureError(
          'TENURE_BAD_ARGUMENT',
          flags.claims
            ? 'this is only for a cell in which nobody has claimed anything yet: integers could be claimed twice otherwise. If that is so, say --yes'
            : 'this is only for a cell that nobody has used yet: two could hold the same lease otherwise. If that is so, say --yes',
        );
      }
      const cell = await openCell(flags, { asAdmin: true });
      const only = flags.claims === true;
      let claims: boolean;
      try {
        await cell.bootstrap(only ? { only: 'claims' } : {});
        claims = only || (await haveBegun(cell));
      } finally {
        await cell.close();
      }
      if (flags.json) printJson({ bootstrapped: true, claims });
      else process.stdout.write(`${only ? '' : 'the silence is over: all members vote\n'}${claims ? 'claims have begun\n' : ''}`);
    });
}

async function haveBegun(cell: Cell): Promise<boolean> {
  return (await cell.status()).some(({ claims }) => claims?.phase === 'ready');
}
