/** `tenure bootstrap`: ends the silence of a brand-new cell at once, and begins its claims and logs. A one-shot act, so it is no setting that could stay in a unit file. */
import { Command, Option } from 'commander';
import type { Cell } from '../../api/index.ts';
import { TenureError } from '../../kernel/index.ts';
import { addCellOptions, type CellFlags } from '../config.ts';
import { openCell } from '../connection.ts';
import { printJson } from '../terminal.ts';

interface BootstrapFlags extends CellFlags {
  readonly yes?: boolean;
  readonly claims?: boolean;
  readonly broadcast?: boolean;
  readonly json?: boolean;
}

export function bootstrapCommand(): Command {
  return addCellOptions(
    new Command('bootstrap')
      .summary('begin a brand-new cell, its claims, or its logs')
      .description(
        'Members that start vote for nobody for about the longest term, because they may have voted before. Nobody has voted in a cell that\n' +
          'never was: this ends the silence of all its members at once. All must be present and silent, or nothing happens. Needs the secret of\n' +
          'the members (--secret-file). Never do this to a cell that was in use since its members started: two could hold the same lease.\n' +
          'If every member has a data directory, claims begin as well. With --claims nothing else does, for a cell whose leases are in use: every\n' +
          'disk must be blank. Never do this when the disks of all were lost: integers that were claimed before could be claimed again.\n' +
          'Broadcast begins as well. With --broadcast nothing else does: for a cell whose leases are in use, or for one in which so many members have lost their\n' +
          'memory that its logs stand still. It goes on with the longest log that a member has; messages that only those had known are lost.',
      )
      .option('--yes', 'yes, this cell is brand-new')
      .option('--claims', 'only begin claims (tenure claim)')
      .addOption(new Option('--broadcast', 'only begin broadcast, or begin it anew (tenure publish, tenure tail)').conflicts('claims'))
      .option('--json', 'print one JSON object'),
  )
    .addHelpText(
      'after',
      `
Examples:
  tenure bootstrap --yes                     right after the first start of all members
  tenure bootstrap --claims --yes            the first claims of a cell that has leases already
  tenure bootstrap --broadcast --yes         the same for its logs; or its logs, after most members have lost their memory

Exit codes: 0 done, 64 without --yes, 69 no majority, 77 not allowed: a member is absent, votes or has voted, has claims already,
is in a log that goes on, or the secret is wrong;
78 no majority can keep claims: they have no data directories.`,
    )
    .action(async (flags: BootstrapFlags) => {
      const only = flags.claims ? 'claims' : flags.broadcast ? 'broadcast' : undefined;
      if (!flags.yes) throw new TenureError('TENURE_BAD_ARGUMENT', CAUTIONS[only ?? 'all']);
      const cell = await openCell(flags, { asAdmin: true });
      let begun: Begun;
      try {
        await cell.bootstrap(only === undefined ? {} : { only });
        begun = await haveBegun(cell);
      } finally {
        await cell.close();
      }
      if (flags.json) return printJson({ bootstrapped: true, ...begun });
      const said = [
        only === undefined ? 'the silence is over: all members vote\n' : '',
        begun.claims && only !== 'broadcast' ? 'claims have begun\n' : '',
        begun.broadcast && only !== 'claims' ? 'broadcast has begun\n' : '',
      ];
      process.stdout.write(said.join(''));
    });
}

const CAUTIONS = {
  all: 'this is only for a cell that nobody has used yet: two could hold the same lease otherwise. If that is so, say --yes',
  claims:
    'this is only for a cell in which nobody has claimed anything yet: integers could be claimed twice otherwise. If that is so, say --yes',
  broadcast:
    'this is only for a cell in which nothing was broadcast yet, or whose members will not get their memory back: messages that were acknowledged could be lost ' +
    'otherwise. If that is so, say --yes',
} as const;

interface Begun {
  readonly claims: boolean;
  readonly broadcast: boolean;
}

async function haveBegun(cell: Cell): Promise<Begun> {
  const members = await cell.status();
  return {
    claims: members.some(({ claims }) => claims?.phase === 'ready'),
    broadcast: members.some(({ broadcast }) => broadcast?.standing === 'ready'),
  };
}
