/** The `tenure` command: finds the subcommand, and turns what went wrong into a message and an exit code. */
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { TenureError } from '../kernel/index.ts';
import { checkCommand } from './commands/check.ts';
import { exploreCommand } from './commands/explore.ts';
import { scriptCommand } from './commands/script.ts';
import { shrinkCommand } from './commands/shrink.ts';
import { simCommand } from './commands/sim.ts';
import { timingCommand } from './commands/timing.ts';
import { EXIT } from './exit-codes.ts';

/** Runs the command line and answers with the exit code. Never throws. */
export async function main(argv: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.ok;
  process.stdout.on('error', endWithReader);
  const setExit = (code: number): void => {
    exitCode = code;
  };
  const program = new Command('tenure')
    .description('Leases, locks and leaders without a lock server.')
    .version(packageVersion(), '-V, --version')
    .showHelpAfterError('(tenure --help shows what there is)')
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 2 violation found, 3 a "sometimes" was never reached or a search ended early, 64 usage, 70 internal error, 78 bad configuration.',
    )
    .configureHelp({ showGlobalOptions: true })
    .exitOverride();
  program.addCommand(inherit(program, simCommand(setExit)));
  program.addCommand(inherit(program, shrinkCommand(setExit)));
  program.addCommand(inherit(program, scriptCommand(setExit)));
  program.addCommand(inherit(program, exploreCommand(setExit)));
  program.addCommand(inherit(program, checkCommand(setExit)));
  program.addCommand(inherit(program, timingCommand(setExit)));
  try {
    await program.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (error instanceof TenureError && error.code !== 'TENURE_INTERNAL') {
      process.stderr.write(`tenure: ${error.message} (${error.code})\n`);
      return EXIT.usage;
    }
    process.stderr.write(`tenure: internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    return EXIT.internal;
  }
}

/** Whoever read our output has seen enough (`tenure … | head`). */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(EXIT.ok);
  throw error;
}

function inherit(program: Command, command: Command): Command {
  return command.copyInheritedSettings(program);
}

function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
