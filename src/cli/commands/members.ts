/** `tenure members`: the members of a cell, and changing them while it runs. */
import { Command } from 'commander';
import { memberAddCommand, memberRemoveCommand, memberReplaceCommand, memberSetCommand } from './members-change.ts';
import { membersLsCommand } from './members-ls.ts';

export function membersCommand(): Command {
  return new Command('members')
    .summary('show and change the members of a cell')
    .description(
      'Adds, removes and replaces members of a cell, and changes its terms, while leases are held and taken. A change goes from view to view; it ends\n' +
        'when so many members have stored each of them that the one before cannot come back. It may be killed anywhere: say the same again, from anywhere.',
    )
    .addCommand(membersLsCommand())
    .addCommand(memberAddCommand())
    .addCommand(memberRemoveCommand())
    .addCommand(memberReplaceCommand())
    .addCommand(memberSetCommand());
}
