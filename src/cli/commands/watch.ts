/** `tenure watch`: tells of changes of leases as they happen, and says so when some may have been missed. */
import { Command } from 'commander';
import type { Change } from '../../api/index.ts';
import { addCellOptions, type CellFlags } from '../config.ts';
import { openCell } from '../connection.ts';
import { stopSignals } from '../stop-signals.ts';
import { glance, paletteFor, printJson } from '../terminal.ts';

interface WatchFlags extends CellFlags {
  readonly renewals?: boolean;
  readonly json?: boolean;
}

export function watchCommand(): Command {
  return addCellOptions(
    new Command('watch')
      .summary('tell of changes of leases')
      .description(
        'Prints a line whenever a lease whose name begins with PREFIX is granted or ends, until SIGINT or SIGTERM.\n' +
          'Changes are hints that holders send: to be sure of one, ask tenure holder. When some may have been missed, a line says gap.',
      )
      .argument('[prefix]', 'the beginning of the names to watch; all names without it', '')
      .option('--renewals', 'tell of renewals too')
      .option('--json', 'print JSON lines'),
  )
    .addHelpText(
      'after',
      `
Examples:
  tenure watch
  tenure watch reports/
  tenure watch --json | jq -c 'select(.kind == "held")'

Exit codes: 0 ended by a signal, 69 no quorum at the start, 77 not allowed, 78 bad configuration.`,
    )
    .action(async (prefix: string, flags: WatchFlags) => {
      const stop = stopSignals();
      const cell = await openCell(flags);
      const changes = cell.watch(prefix);
      if (stop.signal.aborted) changes.end();
      stop.signal.addEventListener('abort', () => changes.end());
      const tokens = new Map<string, number | null>();
      for await (const change of changes) {
        const isRenewal = change.kind === 'change' && tokens.get(change.name) === (change.holder?.token ?? null);
        if (change.kind === 'change') tokens.set(change.name, change.holder?.token ?? null);
        if (isRenewal && !(flags.renewals && change.holder)) continue;
        if (flags.json) printJson(asJson(change, isRenewal));
        else process.stdout.write(`${inWords(change, isRenewal)}\n`);
      }
      await cell.close();
      stop.disarm();
    });
}

function asJson(change: Change, isRenewal: boolean): object {
  const at = new Date().toISOString();
  if (change.kind === 'gap') return { at, kind: 'gap' };
  const { name, holder } = change;
  return holder ? { at, kind: isRenewal ? 'renewed' : 'held', name, holder } : { at, kind: 'ended', name };
}

function inWords(change: Change, isRenewal: boolean): string {
  const { bold, dim, green, yellow, red } = paletteFor(process.stdout);
  const at = dim(new Date().toISOString());
  if (change.kind === 'gap') return `${at}  ${red('gap')}    something may have been missed`;
  const { name, holder } = change;
  if (!holder) return `${at}  ${green('ended')}  ${bold(name)}`;
  const what = isRenewal ? dim('renew') : yellow('held ');
  return `${at}  ${what}  ${bold(name)}  token ${holder.token}  process ${holder.incarnation}  for ${glance(holder.remainingMsMax)} at most`;
}
