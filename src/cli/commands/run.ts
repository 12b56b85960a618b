/** `tenure run`: a command under a lease. Reads the command line; the code that runs it is loaded from `../run`. */
import { constants } from 'node:os';
import { Command } from 'commander';
import { SLOTS_MAX } from '../../core/index.ts';
import { checkName, parseDuration, TenureError } from '../../kernel/index.ts';
import { addLeaseOptions, type CellFlags } from '../config.ts';
import { EXIT } from '../exit-codes.ts';
import { CGROUP_HELP, readCgroupWish } from '../run/enclosure.ts';
import { runUnderLease } from '../run/run.ts';
import { termMsOf, waitMsOf } from '../term.ts';

interface RunFlags extends CellFlags {
  readonly nonblock?: boolean;
  readonly wait?: string;
  readonly shared?: boolean;
  readonly slots?: string;
  readonly term?: string;
  readonly grace?: string;
  readonly cgroup: string;
  readonly conflictExitCode?: string;
  readonly onLost: string;
  readonly json?: boolean;
}

const HELP = `
The command runs in a session and process group of its own, with our standard input, output and error. Signals are passed on to
the whole group. When the lease cannot be renewed, the command is told to stop and then killed, before the lease ends; also if
tenure run itself is killed or stopped. Children that leave the group are ended too, where the command has a cgroup (--cgroup).
The command finds TENURE_NAME, TENURE_TOKEN, TENURE_HOLDER and TENURE_DEADLINE (milliseconds since 1970, of the first grant) in
its environment, and TENURE_SLOT with --slots.

Examples:
  tenure run nightly -- ./backup.sh                wait for the lease, however long
  tenure run -n nightly -- ./backup.sh             leave it to another who has it (exit code 75)
  tenure run -w 30s deploy -- make deploy          wait no longer than half a minute (exit code 76)
  tenure run -s catalog -- ./read.sh               beside other readers; ./write.sh runs without -s, alone
  tenure run --slots 64 workers -- ./worker        with a worker id of its own, TENURE_SLOT
  tenure run report -- sh -c './report > out.txt'  a shell for what only shells can do
  tenure run --store file:///var/lib/leases nightly -- ./backup.sh      where there is a directory and no cell

Exit codes: the command's own, or 128 + signal; 64 usage, 69 no quorum, or the store does not answer, 73 lease lost,
75 taken by another (-n, or -E), 76 waited too long, 77 not allowed, 78 bad configuration, 126 the command cannot be run, 127 no such command.`;

export function runCommand(setExit: (code: number) => void): Command {
  const command = new Command('run')
    .summary('run a command under a lease')
    .description('Takes the lease NAME, runs the command while it is held, and gives it back when the command has ended.')
    .usage('<name> [options] -- <command> [arguments...]')
    .argument('<name>', 'what the lease is on: 1 to 255 bytes')
    .argument('<command...>', 'what to run, after --')
    .option('-n, --nonblock', 'do not wait: exit with 75 if another has it')
    .option('-w, --wait <duration>', 'wait no longer than this, a plain number is seconds: exit with 76; 0 is -n')
    .option('-s, --shared', 'beside others that run with -s, and nobody else')
    .option('--slots <n>', 'have one of so many slots, TENURE_SLOT, each held by one')
    .option('--term <duration>', 'how long the lease outlives us if we vanish; the longest there is unless told otherwise')
    .option('-E, --conflict-exit-code <code>', 'exit with this instead of 75')
    .option('--on-lost <signal>', 'what tells the command to stop when the lease is lost', 'TERM')
    .option('--grace <duration>', 'how long it then has before it is killed: 5s, or what fits into the term')
    .option('--cgroup <which>', CGROUP_HELP, 'auto');
  return addLeaseOptions(command)
    .option('--json', 'what tenure itself has to say is one JSON object a line, on standard error')
    .addHelpText('after', HELP)
    .action(async (name: string, words: string[], flags: RunFlags) => {
      requireGroups();
      requireDashes(words);
      checkName(name);
      setExit(
        await runUnderLease({
          flags,
          name,
          command: words,
          mode: flags.shared === true ? 'shared' : 'exclusive',
          slots: slotsOf(flags),
          waitMs: waitOf(flags),
          termMs: termMsOf(flags.term),
          graceMs: milliseconds(flags.grace),
          onLost: signalOf(flags.onLost),
          cgroup: readCgroupWish(flags.cgroup),
          conflictCode: conflictCodeOf(flags),
          json: flags.json === true,
        }),
      );
    });
}

/** Killing all that a command has started needs them. */
function requireGroups(): void {
  if (process.platform === 'win32') throw usage('tenure run needs process groups, which Windows does not have');
}

/** Without them, options of the command would be taken for ours, and the other way round. */
function requireDashes(words: readonly string[]): void {
  const dashes = process.argv.indexOf('--');
  if (dashes < 0 || process.argv.length - dashes - 1 !== words.length)
    throw usage('put -- before the command: tenure run NAME [options] -- command');
}

function slotsOf({ slots, shared }: RunFlags): number | undefined {
  if (slots === undefined) return undefined;
  if (shared) throw usage('-s has no slots, and --slots are not shared: give one of them');
  if (!/^[1-9]\d{0,3}$/.test(slots) || Number(slots) > SLOTS_MAX)
    throw usage(`--slots takes a number from 1 to ${SLOTS_MAX}, not '${slots}'`);
  return Number(slots);
}

function waitOf({ nonblock, wait }: RunFlags): number | undefined {
  if (nonblock && wait !== undefined) throw usage('-n does not wait and -w does: give one of them');
  const waitMs = waitMsOf(wait);
  return nonblock ? 0 : waitMs;
}

function milliseconds(duration: string | undefined): number | undefined {
  return duration === undefined ? undefined : parseDuration(duration) / 1000;
}

function conflictCodeOf({ conflictExitCode: text }: RunFlags): number {
  if (text === undefined) return EXIT.conflict;
  if (!/^\d{1,3}$/.test(text) || Number(text) > 255) throw usage(`-E takes an exit code from 0 to 255, not '${text}'`);
  return Number(text);
}

/** `TERM`, `sigterm` and `SIGTERM` are one. */
function signalOf(text: string): NodeJS.Signals {
  const name = `SIG${text.toUpperCase().replace(/^SIG/, '')}`;
  if (name in constants.signals) return name as NodeJS.Signals;
  throw usage(`--on-lost: there is no signal '${text}'; TERM, INT, HUP, USR1 and KILL are some there are`);
}

function usage(message: string): TenureError {
  return new TenureError('TENURE_BAD_ARGUMENT', message);
}
