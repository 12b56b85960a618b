/** `tenure elect`: stand for the leader of something, and be it; run a command while leading; or only look up the leader. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import type { Election, Leadership, LeaderChange } from '../../api/index.ts';
import { checkName, parseDuration, TenureError } from '../../kernel/index.ts';
import { addLeaseOptions, type CellFlags } from '../config.ts';
import { EXIT } from '../exit-codes.ts';
import { handOver } from '../hand-over.ts';
import { openLeases } from '../leases.ts';
import type { OpenedLeases } from '../opened-leases.ts';
import { CGROUP_HELP, readCgroupWish } from '../run/enclosure.ts';
import { runUnderLease } from '../run/run.ts';
import { whenReaderGone } from '../reader-gone.ts';
import { stopSignals } from '../stop-signals.ts';
import { checkTerm, termMsOf } from '../term.ts';
import { holderText, metaText, paletteFor, printJson } from '../terminal.ts';
import { whoAmI } from '../who-am-i.ts';

interface ElectFlags extends CellFlags {
  readonly observe?: boolean;
  readonly value?: string;
  readonly term?: string;
  readonly grace?: string;
  readonly cgroup: string;
  readonly json?: boolean;
}

const HELP = `
Without a command it leads until SIGINT, SIGTERM or SIGHUP, and prints a line whenever something changes. If it is cut off it says lost, before
anybody else can be elected, and stands again.

With a command it runs the command while it leads, as tenure run does: in a process group of its own, ended in time when the
leadership is lost. Then it stands again, and starts the command anew when it is elected. When the command ends by itself, it
resigns and exits with the command's code. Whoever resigns hands over to the next candidate in line, if there is one.

Examples:
  tenure elect scheduler -- ./scheduler            one of all who run this has a scheduler running
  tenure elect --observe scheduler                 who leads, and whenever that changes
  tenure elect scheduler --value 10.0.0.7:8080     lead, and tell others where to find us; also with a command

Exit codes: 0 resigned on a signal, or the command's code, or 128 + signal; 64 usage, 69 no quorum or no store at the start,
77 not allowed, 78 bad configuration, 126 and 127 as in sh.`;

export function electCommand(setExit: (code: number) => void): Command {
  return addLeaseOptions(
    new Command('elect')
      .summary('lead, or see who leads')
      .description('Stands for the leadership of NAME, waits in line until it is elected, and leads until it is told to stop.')
      .usage('<name> [options] [-- <command> [arguments...]]')
      .argument('<name>', 'what is to be led')
      .argument('[command...]', 'what to run while leading, after --')
      .option('--observe', 'do not stand: only tell who leads, and whenever that changes')
      .option('--value <text>', 'what the leader says of itself (default: user@host and process id)')
      .option('--term <duration>', 'how long a leader stays one unless it renews (default: the longest there is)')
      .option('--grace <duration>', 'how long a command has between TERM and KILL when the leadership is lost: 5s, or what fits')
      .option('--cgroup <which>', CGROUP_HELP, 'auto')
      .option('--json', 'print JSON lines'),
  )
    .addHelpText('after', HELP)
    .action(async (name: string, command: string[], flags: ElectFlags) => {
      checkName(name);
      if (command.length > 0) setExit(await leadWithCommand(name, command, flags));
      else setExit(await leadOrLook(name, flags));
    });
}

/** As often as the leadership is lost. */
async function leadWithCommand(name: string, command: readonly string[], flags: ElectFlags): Promise<number> {
  if (!process.argv.includes('--')) {
    throw new TenureError('TENURE_BAD_ARGUMENT', 'put -- before the command: tenure elect NAME [options] -- command');
  }
  if (flags.observe) throw new TenureError('TENURE_BAD_ARGUMENT', '--observe and a command do not go together: give one of them');
  for (;;) {
    let isLost = false;
    const code = await runUnderLease({
      flags,
      name,
      command,
      waitMs: undefined,
      termMs: termMsOf(flags.term),
      value: flags.value,
      graceMs: milliseconds(flags.grace),
      onLost: 'SIGTERM',
      cgroup: readCgroupWish(flags.cgroup),
      conflictCode: EXIT.conflict,
      handsOver: true,
      json: flags.json === true,
      onOutcome: (outcome) => {
        isLost = outcome.kind === 'lost';
      },
    });
    if (!isLost) return code;
  }
}

async function leadOrLook(name: string, flags: ElectFlags): Promise<number> {
  const termMs = termMsOf(flags.term);
  const stop = stopSignals();
  const leases = await openLeases(flags, { signal: stop.signal });
  const told = new Told(name, flags.json === true);
  const calm = whenReaderGone(() => stop.stop());
  try {
    await leases.settled();
    checkTerm(termMs, leases);
    const election = leases.client.elect(name, termMs === undefined ? {} : { term: termMs });
    // Both at once: an error that ends one ends the other.
    if (flags.observe) await look(election, told, stop.signal);
    else await Promise.all([lookIfTold(election, told, stop.signal), lead(leases, election, flags.value ?? whoAmI(), told, stop.signal)]);
    return EXIT.ok;
  } finally {
    calm();
    await leases.client.close();
    stop.disarm();
  }
}

async function look(election: Election, told: Told, signal: AbortSignal): Promise<void> {
  try {
    for await (const change of election.observe({ signal })) told.change(change);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** A candidate can stand without being told of other leaders: not every engine tells. */
async function lookIfTold(election: Election, told: Told, signal: AbortSignal): Promise<void> {
  try {
    await look(election, told, signal);
  } catch (error) {
    if (!(error instanceof TenureError && error.code === 'TENURE_UNSUPPORTED')) throw error;
  }
}

async function lead(leases: OpenedLeases, election: Election, value: string, told: Told, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const leadership = await election.campaign({ value, signal }).catch((error: unknown) => {
      if (signal.aborted) return null;
      throw error;
    });
    if (leadership === null) return;
    told.mine('elected', leadership);
    await either(signal, leadership.signal);
    const isLost = leadership.signal.aborted;
    if (isLost) {
      told.mine('lost', leadership);
      // A program that leads because we said so has the rest of the term to stop: nothing is given back before.
      await sleep(leadership.remainingMs());
    }
    const handedOver = !isLost && (await handOver(leadership));
    if (!handedOver) await leadership.resign();
    if (!isLost) told.mine('resigned', leadership, { handedOver });
    if (isLost && !signal.aborted) await leases.ready(signal).catch(() => {});
  }
}

function either(...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    // Leases do not keep the process.
    const kept = setInterval(() => {}, 3_600_000);
    const end = (): void => {
      clearInterval(kept);
      resolve();
    };
    for (const signal of signals) {
      if (signal.aborted) end();
      else signal.addEventListener('abort', end, { once: true });
    }
  });
}

/** Prints the leader, and our own standing. */
class Told {
  readonly #name: string;
  readonly #json: boolean;

  constructor(name: string, json: boolean) {
    this.#name = name;
    this.#json = json;
  }

  mine(event: 'elected' | 'lost' | 'resigned', { token }: Leadership, more: { readonly handedOver?: boolean } = {}): void {
    const { bold, green, yellow, red } = paletteFor(process.stdout);
    const paint = { elected: green, lost: red, resigned: yellow }[event];
    const to = more.handedOver ? ', and handed over to the next in line' : '';
    this.#say({ event, token, ...more }, `${paint(event)} ${bold(this.#name)}, token ${token}${to}`);
  }

  change(change: LeaderChange): void {
    const { bold, dim, red } = paletteFor(process.stdout);
    if (change.kind === 'gap') this.#say({ event: 'gap' }, red('gap: who leads is not known right now'));
    else if (change.leader === null) this.#say({ event: 'leader', leader: null }, `nobody leads ${bold(this.#name)}`);
    else {
      const { incarnation, token, value } = change.leader;
      const text = metaText(value);
      this.#say(
        { event: 'leader', leader: { incarnation, token, value: text } },
        `${holderText(value, change.leader)} leads ${bold(this.#name)} ${dim(`(token ${token})`)}`,
      );
    }
  }

  #say(facts: object, line: string): void {
    const at = new Date().toISOString();
    if (this.#json) printJson({ at, name: this.#name, ...facts });
    else process.stdout.write(`${paletteFor(process.stdout).dim(at)}  ${line}\n`);
  }
}

function milliseconds(duration: string | undefined): number | undefined {
  return duration === undefined ? undefined : parseDuration(duration) / 1000;
}
