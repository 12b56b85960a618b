/** `tenure holder`: asks for the present holder of a lease. */
import { Command } from 'commander';
import type { HolderAnswer, LeaseWaiter } from '../../api/index.ts';
import { addLeaseOptions, type CellFlags } from '../config.ts';
import { EXIT } from '../exit-codes.ts';
import { openLeases } from '../leases.ts';
import type { OpenedLeases } from '../opened-leases.ts';
import { glance, holderText, metaText, paletteFor, printJson } from '../terminal.ts';

interface HolderFlags extends CellFlags {
  readonly json?: boolean;
  readonly quiet?: boolean;
}

export function holderCommand(setExit: (code: number) => void): Command {
  return addLeaseOptions(
    new Command('holder')
      .summary('ask who holds a lease')
      .description(
        'Asks a majority of the members, or the store, who holds the lease on NAME. The answer was true at some moment while the question was under way;\n' +
          'it may be different by the time you read it. To act on it, take the lease (tenure run, tenure acquire).',
      )
      .argument('<name>', 'the name of the lease')
      .option('-q, --quiet', 'print nothing, only exit')
      .option('--json', 'print one JSON object'),
  )
    .addHelpText(
      'after',
      `
Examples:
  tenure holder reports/nightly                    who is it?
  tenure holder --json reports/nightly | jq .holder.token
  until ! tenure holder -q deploy; do sleep 1; done     wait until nobody has it, without taking it

Exit codes: 0 held, 1 free, 69 it is not certain: not enough members answered, the store did not, or it has plain registers and
another holds the lease, 77 not allowed, 78 bad configuration.`,
    )
    .action(async (name: string, flags: HolderFlags) => {
      const leases = await openLeases(flags);
      const { answer, waiters, viewEpoch } = await asked(leases, name, flags.quiet === true);
      const more = { ...(waiters === null ? {} : { waiters }), ...(viewEpoch === null ? {} : { viewEpoch }) };
      if (flags.json)
        printJson({ name, state: stateOf(answer), holder: answer.holder && { ...answer.holder, meta: metaText(answer.meta) }, ...more });
      else if (!flags.quiet) process.stdout.write(`${inWords(name, answer, leases.unsure)}${waitersText(waiters)}\n`);
      setExit({ held: EXIT.ok, free: EXIT.free, unknown: EXIT.noQuorum }[stateOf(answer)]);
    });
}

interface Asked {
  readonly answer: HolderAnswer;
  readonly waiters: readonly LeaseWaiter[] | null;
  readonly viewEpoch: number | null;
}

async function asked({ client, waiters, viewEpoch }: OpenedLeases, name: string, isQuiet: boolean): Promise<Asked> {
  try {
    const [answer, line] = await Promise.all([client.holder(name), isQuiet ? null : waiters(name)]);
    return { answer, waiters: line, viewEpoch: viewEpoch() };
  } finally {
    await client.close();
  }
}

function waitersText(waiters: readonly LeaseWaiter[] | null): string {
  if (waiters === null || waiters.length === 0) return '';
  return waiters.length === 1 ? '; 1 waits for it' : `; ${waiters.length} wait for it`;
}

function stateOf({ holder, certain }: HolderAnswer): 'held' | 'free' | 'unknown' {
  if (!certain) return 'unknown';
  return holder === null ? 'free' : 'held';
}

function inWords(name: string, answer: HolderAnswer, unsure: string): string {
  const { bold, green, yellow } = paletteFor(process.stdout);
  const { holder } = answer;
  if (holder === null) return answer.certain ? `${bold(name)} ${green('free')}` : `${bold(name)} ${yellow('unknown')}: ${unsure}`;
  const held = `held by ${holderText(answer.meta, holder)}, token ${holder.token}, for ${glance(holder.remainingMsMax)} at most unless renewed`;
  return answer.certain
    ? `${bold(name)} ${held.replace('held', yellow('held'))}`
    : `${bold(name)} ${yellow('unknown')}: ${unsure}; perhaps ${held}`;
}
