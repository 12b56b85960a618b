/**
 * The `tenure` command: finds the subcommand, loads only that one, and turns what went wrong into a message and an exit code.
 * `tenure run` starts often (cron, loops in shells), so nothing is loaded that is not needed.
 */
import { Command, CommanderError } from 'commander';
import { TenureError, type ErrorCode } from '../kernel/index.ts';
import { inCommandWords } from './command-words.ts';
import { EXIT, exitCodeOf } from './exit-codes.ts';
import { packageVersion } from './package-version.ts';

/** Few commands need to know the others. */
type Build = (setExit: (code: number) => void, whole: () => Promise<Command>) => Command;

interface Entry {
  readonly summary: string;
  readonly load: () => Promise<Build>;
}

/** Every subcommand, in the order in which help lists them. */
const COMMANDS: Readonly<Record<string, Entry>> = {
  run: { summary: 'run a command under a lease', load: async () => (await import('./commands/run.ts')).runCommand },
  serve: { summary: 'be a member of a cell', load: async () => (await import('./commands/serve.ts')).serveCommand },
  init: { summary: 'write a config file and secrets to start from', load: async () => (await import('./commands/init.ts')).initCommand },
  config: { summary: 'look at a configuration', load: async () => (await import('./commands/config.ts')).configCommand },
  acquire: {
    summary: 'hold a lease until standard input closes',
    load: async () => (await import('./commands/acquire.ts')).acquireCommand,
  },
  holder: { summary: 'ask who holds a lease', load: async () => (await import('./commands/holder.ts')).holderCommand },
  elect: { summary: 'lead, or see who leads', load: async () => (await import('./commands/elect.ts')).electCommand },
  ls: { summary: 'list the leases that are held', load: async () => (await import('./commands/ls.ts')).lsCommand },
  watch: { summary: 'tell of changes of leases', load: async () => (await import('./commands/watch.ts')).watchCommand },
  claim: { summary: 'claim integers that nobody else will ever get', load: async () => (await import('./commands/claim.ts')).claimCommand },
  decide: {
    summary: 'decide a value once and for ever, in a store',
    load: async () => (await import('./commands/decide.ts')).decideCommand,
  },
  publish: {
    summary: 'publish messages that all read in one order',
    load: async () => (await import('./commands/publish.ts')).publishCommand,
  },
  tail: { summary: 'print the messages of a log, in their order', load: async () => (await import('./commands/tail.ts')).tailCommand },
  status: { summary: 'show the members of a cell', load: async () => (await import('./commands/status.ts')).statusCommand },
  members: {
    summary: 'show and change the members of a cell',
    load: async () => (await import('./commands/members.ts')).membersCommand,
  },
  bootstrap: {
    summary: 'begin a brand-new cell, its claims, or its logs',
    load: async () => (await import('./commands/bootstrap.ts')).bootstrapCommand,
  },
  store: { summary: 'set up, examine, repair and clear a store', load: async () => (await import('./commands/store.ts')).storeCommand },
  demo: { summary: 'a cell to look at and to break, on this machine', load: async () => (await import('./commands/demo.ts')).demoCommand },
  sim: {
    summary: 'run a protocol through thousands of faulty worlds',
    load: async () => (await import('./commands/sim.ts')).simCommand,
  },
  shrink: {
    summary: 'reduce a failing seed to a readable script',
    load: async () => (await import('./commands/shrink.ts')).shrinkCommand,
  },
  script: { summary: 'play scripted scenarios', load: async () => (await import('./commands/script.ts')).scriptCommand },
  explore: {
    summary: 'search a small world to its end',
    load: async () => (await import('./commands/explore.ts')).exploreCommand,
  },
  check: { summary: 'judge a history', load: async () => (await import('./commands/check.ts')).checkCommand },
  figures: {
    summary: 'measure the figures of the papers anew',
    load: async () => (await import('./commands/figures.ts')).figuresCommand,
  },
  completion: {
    summary: 'completion for a shell, or the manual page',
    load: async () => (await import('./commands/completion.ts')).completionCommand,
  },
  timing: { summary: 'print the durations derived from a term', load: async () => (await import('./commands/timing.ts')).timingCommand },
};

/** Commands that go on until they are told to stop. */
const ENDLESS: ReadonlySet<string> = new Set(['run', 'serve', 'acquire', 'elect', 'watch', 'tail', 'demo']);
let isEndless = false;

/** The second is what later writes say of a pipe whose first failed. */
const READER_GONE: ReadonlySet<string> = new Set(['EPIPE', 'ERR_STREAM_DESTROYED']);

/** Runs the command line and answers with the exit code. Never throws. */
export async function main(argv: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.ok;
  const asJson = wantsJson(argv);
  const wanted = wantedCommand(argv);
  isEndless = ENDLESS.has(wanted ?? '');
  // Node's streams cost a part of the start, and `tenure run` leaves ours to its command.
  if (wanted !== 'run') outputs();
  const program = emptyProgram()
    .addHelpText('after', '\nEach command has --help with examples. Exit codes: docs/cli.md.')
    .exitOverride()
    .configureOutput({ writeOut: (text) => outputs().stdout.write(text), writeErr: (text) => outputs().stderr.write(text) });
  if (asJson) program.configureOutput({ outputError: (text) => sayJson('TENURE_BAD_ARGUMENT', text.replace(/^error: /, '').trim()) });
  else program.showHelpAfterError('(tenure --help shows what there is)');
  try {
    for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
      const command = name === wanted ? (await load())((code) => (exitCode = code), wholeProgram) : new Command(name).summary(summary);
      program.addCommand(inherited(command, program, `tenure ${name}`, asJson));
    }
    await program.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (error instanceof TenureError && error.code !== 'TENURE_INTERNAL') {
      const said = inCommandWords(error);
      if (asJson) sayJson(said.code, said.message);
      else outputs().stderr.write(`tenure: ${withCode(said)}\n`);
      return exitCodeOf(said);
    }
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
    if (asJson) sayJson('TENURE_INTERNAL', what);
    else outputs().stderr.write(`tenure: internal error: ${what}\n`);
    return EXIT.internal;
  }
}

function emptyProgram(): Command {
  return new Command('tenure')
    .description('Leases, locks and leaders without a lock server.')
    .usage('<command> [options]')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print the help of a command');
}

/** With every command loaded, to be looked at. */
async function wholeProgram(): Promise<Command> {
  const program = emptyProgram();
  for (const { load } of Object.values(COMMANDS)) program.addCommand((await load())(() => {}, wholeProgram));
  return program;
}

/** Also for commands within a command: usage errors are the same everywhere. */
function inherited(command: Command, from: Command, path: string, asJson: boolean): Command {
  command.copyInheritedSettings(from).helpOption('-h, --help', 'print this help');
  if (!asJson) command.showHelpAfterError(`(${path} --help shows what there is)`);
  for (const inner of command.commands) inherited(inner, command, `${path} ${inner.name()}`, asJson);
  return command;
}

/** Arguments after -- are not for us. */
function wantsJson(argv: readonly string[]): boolean {
  const dashes = argv.indexOf('--');
  return argv.slice(0, dashes < 0 ? argv.length : dashes).includes('--json');
}

function sayJson(code: ErrorCode, message: string): void {
  outputs().stderr.write(`${JSON.stringify({ event: 'error', code, message })}\n`);
}

/** The message with its code, which belongs to the first line. */
function withCode({ message, code }: TenureError): string {
  const [first = '', ...rest] = message.split('\n');
  return [`${first} (${code})`, ...rest].join('\n');
}

/** The first word that is no option; `tenure help run` is about `run`. */
function wantedCommand(argv: readonly string[]): string | undefined {
  const [first, second] = argv.filter((word) => !word.startsWith('-'));
  return first === 'help' ? second : first;
}

/** Our standard output and error, with handlers for when they take no more. */
function outputs(): Pick<NodeJS.Process, 'stdout' | 'stderr'> {
  const { stdout, stderr } = process;
  if (!stdout.listeners('error').includes(endWithReader)) {
    stdout.on('error', endWithReader);
    // A user that closes standard error wants no errors.
    stderr.on('error', () => {});
  }
  return { stdout, stderr };
}

/**
 * The reader of our output has seen enough (`tenure … | head`). A command that has no end of its own ends then; the others go on without a
 * reader, so that the exit code says what came of them. A full disk is another matter: the requested output is not there.
 */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (READER_GONE.has(error.code ?? '')) {
    if (isEndless) process.exit(EXIT.ok);
    return;
  }
  process.stderr.write(`tenure: cannot write to standard output: ${error.message}\n`);
  process.exit(EXIT.internal);
}
