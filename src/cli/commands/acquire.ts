/** `tenure acquire`: holds a lease until standard input closes or a signal comes, for scripts that cannot be a child of `tenure run`. */
import { Command } from 'commander';
import type { AcquireOptions, Lease, LeaseClient } from '../../api/index.ts';
import { TenureError } from '../../kernel/index.ts';
import { addLeaseOptions, type CellFlags } from '../config.ts';
import { EXIT } from '../exit-codes.ts';
import { openLeases } from '../leases.ts';
import { StoppedBySignal, stopSignals } from '../stop-signals.ts';
import { glance, holderText, paletteFor, printJson } from '../terminal.ts';
import { checkTerm, termMsOf, waitMsOf } from '../term.ts';
import { whoAmI } from '../who-am-i.ts';
import { namingHolder } from '../who-has.ts';

interface AcquireFlags extends CellFlags {
  readonly term?: string;
  readonly nonblock?: boolean;
  readonly wait?: string;
  readonly meta?: string;
  readonly json?: boolean;
}

export function acquireCommand(setExit: (code: number) => void): Command {
  return addLeaseOptions(
    new Command('acquire')
      .summary('hold a lease until standard input closes')
      .description(
        'Takes the lease on NAME, prints one line with its token, and holds it until standard input closes or SIGINT, SIGTERM or SIGHUP comes;\n' +
          'then gives it back. If the lease is lost it says so and exits with 73 before the lease is over: end the work when this process ends.\n' +
          'Where the work is a command, use tenure run: it also sees to it that the work ends in time.',
      )
      .argument('<name>', 'the name of the lease')
      .option(
        '-w, --wait <duration>',
        'wait at most this long while another holds it, a plain number is seconds (default: as long as it takes)',
      )
      .option('-n, --nonblock', 'do not wait: exit with 75 if another holds it')
      .option('--term <duration>', 'how long a grant lasts unless renewed (default: the longest there is)')
      .option('--meta <text>', 'a note for whoever asks who holds it (default: user@host and process id)')
      .option('--json', 'print JSON lines'),
  )
    .addHelpText(
      'after',
      `
Examples:
  tenure acquire deploy                            hold it until Ctrl-D or Ctrl-C
  coproc tenure acquire deploy; read -r _ <&"\${COPROC[0]}"; ./deploy; kill "$COPROC_PID"      in bash
  tenure acquire -w 30s deploy < fifo &            hold it while somebody has the fifo open

With standard input from /dev/null it would be given back at once.

Exit codes: 0 held and given back, 69 no quorum, or the store does not answer, 73 lost, 75 another holds it (-n), 76 not free
in time (-w), 77 not allowed, 78 bad configuration.`,
    )
    .action(async (name: string, flags: AcquireFlags) => {
      if (flags.nonblock && flags.wait !== undefined) {
        throw new TenureError('TENURE_BAD_ARGUMENT', '-n does not wait and -w does: give one of them');
      }
      const [termMs, waitMs] = [termMsOf(flags.term), waitMsOf(flags.wait)];
      const stop = stopSignals();
      try {
        const leases = await openLeases(flags, { signal: stop.signal });
        const { client } = leases;
        try {
          checkTerm(termMs, leases);
          const taking = { isTry: flags.nonblock === true || waitMs === 0, waitMs, termMs };
          setExit(await holdUntilTold(client, name, flags, taking, stop.signal));
        } finally {
          await client.close();
        }
      } catch (error) {
        if (!(error instanceof StoppedBySignal)) throw error;
        setExit(error.exitCode);
      } finally {
        stop.disarm();
      }
    });
}

/** How the lease is asked for. */
interface Taking {
  readonly isTry: boolean;
  readonly waitMs: number | undefined;
  readonly termMs: number | undefined;
}

async function holdUntilTold(client: LeaseClient, name: string, flags: AcquireFlags, taking: Taking, signal: AbortSignal): Promise<number> {
  const { termMs } = taking;
  const options: AcquireOptions = { signal, meta: flags.meta ?? whoAmI(), ...(termMs === undefined ? {} : { term: termMs }) };
  const lease = await take(client, name, taking, options);
  const { bold, dim } = paletteFor(process.stdout);
  if (flags.json) printJson({ event: 'acquired', name, token: lease.token, remainingMs: Math.round(lease.remainingMs()) });
  else
    process.stdout.write(
      `${bold(name)} acquired, token ${lease.token} ${dim(`(renews itself, ${glance(lease.remainingMs())} at a time)`)}\n`,
    );
  await untilStopped(lease, signal);
  if (!lease.valid || lease.signal.aborted) {
    // Not given back, it runs out: work under it stops only when this process has ended.
    throw new TenureError('TENURE_LEASE_LOST', `the lease on '${name}' was lost: stop what was done under it`);
  }
  await lease.release();
  if (flags.json) printJson({ event: 'released', name, token: lease.token });
  else process.stdout.write(`${bold(name)} released\n`);
  return EXIT.ok;
}

async function take(client: LeaseClient, name: string, { isTry, waitMs }: Taking, options: AcquireOptions): Promise<Lease> {
  if (!isTry) {
    try {
      return await client.acquire(name, { ...options, ...(waitMs === undefined ? {} : { wait: waitMs }) });
    } catch (error) {
      throw await namingHolder(error, client, name);
    }
  }
  const outcome = await client.tryAcquire(name, options);
  if (outcome.ok) return outcome.lease;
  const { holder, reason, meta } = outcome;
  const who = holder
    ? `held by ${holderText(meta, holder)}, for ${glance(holder.remainingMsMax)} at most unless renewed`
    : `it is ${reason}`;
  throw new TenureError('TENURE_HELD', `'${name}' is not free: ${who}`);
}

/** Resolves when standard input closes, a signal comes, or the lease is about to end. */
async function untilStopped(lease: Lease, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    process.stdin.once('end', resolve).once('error', () => resolve());
    process.stdin.resume();
    for (const either of [signal, lease.signal]) {
      if (either.aborted) resolve();
      else either.addEventListener('abort', () => resolve(), { once: true });
    }
  });
  // An open standard input would keep the process.
  process.stdin.pause();
  process.stdin.unref?.();
}
