/** `tenure watch`: tells of changes of leases as they happen, and says so when some may have been missed. */
import { Command } from 'commander';
import type { Change } from '../../api/index.ts';
import { checkName } from '../../kernel/index.ts';
import { addLeaseOptions, type CellFlags } from '../config.ts';
import { openLeases } from '../leases.ts';
import { whenReaderGone } from '../reader-gone.ts';
import { stopSignals } from '../stop-signals.ts';
import { holderText, metaText, paletteFor, printJson } from '../terminal.ts';

interface WatchFlags extends CellFlags {
  readonly exact?: boolean;
  readonly json?: boolean;
}

export function watchCommand(): Command {
  return addLeaseOptions(
    new Command('watch')
      .summary('tell of changes of leases')
      .description(
        'Prints what is held under PREFIX, then a line whenever such a lease is granted or ends, until SIGINT, SIGTERM or SIGHUP.\n' +
          'Changes are hints: to be sure of one, ask tenure holder. When some may have been missed, a line says gap,\n' +
          'and what is held is told anew.',
      )
      .argument('[prefix]', 'the beginning of the names to watch; all names without it', '')
      .option('--exact', 'only the very name, not all that begin like it')
      .option('--json', 'print JSON lines'),
  )
    .addHelpText(
      'after',
      `
Examples:
  tenure watch
  tenure watch reports/
  tenure watch --exact reports/nightly             one name; the only way with the engine paxoslease
  tenure watch --json | jq -c 'select(.kind == "held")'

Exit codes: 0 ended by a signal, 69 no quorum or no store at the start, 77 not allowed, 78 bad configuration.`,
    )
    .action(async (prefix: string, flags: WatchFlags) => {
      if (flags.exact) checkName(prefix);
      const stop = stopSignals();
      const { client, settled } = await openLeases(flags);
      await settled();
      const changes = client.watch(prefix, { exact: flags.exact === true });
      if (stop.signal.aborted) changes.end();
      stop.signal.addEventListener('abort', () => changes.end());
      const calm = whenReaderGone(() => changes.end());
      for await (const change of changes) {
        if (flags.json) printJson({ at: new Date().toISOString(), ...asJson(change) });
        else process.stdout.write(`${inWords(change)}\n`);
      }
      calm();
      await client.close();
      stop.disarm();
    });
}

function asJson(change: Change): object {
  if (change.kind !== 'change') return { kind: change.kind };
  const { name, holder, meta } = change;
  return holder ? { kind: 'held', name, holder: { ...holder, meta: metaText(meta) } } : { kind: 'ended', name };
}

function inWords(change: Change): string {
  const { bold, dim, green, yellow, red } = paletteFor(process.stdout);
  const at = dim(new Date().toISOString());
  if (change.kind === 'gap') return `${at}  ${red('gap')}    something may have been missed; what is held is told anew`;
  if (change.kind === 'current') return `${at}  ${dim('current: that is all that is held; changes follow')}`;
  const { name, holder, meta } = change;
  if (!holder) return `${at}  ${green('ended')}  ${bold(name)}`;
  return `${at}  ${yellow('held')}   ${bold(name)}  token ${holder.token}  ${holderText(meta, holder)}`;
}
