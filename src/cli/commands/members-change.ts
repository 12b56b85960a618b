/** `tenure members add|remove|replace|set`: changes of a cell, and what each waits for. */
import { Command } from 'commander';
import type { CellView, ChangeProgress, MemberChange } from '../../api/index.ts';
import { TenureError } from '../../kernel/index.ts';
import { addCellOptions, type CellFlags } from '../config.ts';
import { openCell } from '../connection.ts';
import { stopSignals } from '../stop-signals.ts';
import { printJson } from '../terminal.ts';
import { viewLine } from './members-ls.ts';

interface ChangeFlags extends CellFlags {
  readonly json?: boolean;
  readonly dropServices?: boolean;
}

interface SetFlags extends ChangeFlags {
  readonly maxTerm?: string;
  readonly rateError?: string;
  readonly replication?: string;
}

const EXIT_CODES =
  'Needs the secret of the members (--secret-file). Killed or given up, it leaves nothing that the next one cannot finish.\n\n' +
  'Exit codes: 0 done, 64 that cannot be, 69 no majority, 77 not allowed, 78 bad configuration, or a member that is too old, 130 given up (SIGINT).';
/** A step that may pass by itself is not told of before it has lasted so long. */
const PATIENCE_MS = 2000;

function changeCommand(name: string, summary: string, description: string, examples: string): Command {
  return addCellOptions(
    new Command(name)
      .summary(summary)
      .description(description)
      .option('--json', 'print one JSON object for each step, and the view at the end'),
  )
    .option('--drop-services', 'claims and broadcast of this cell may end, for ever')
    .addHelpText('after', `\nExamples:\n${examples}\n\n${EXIT_CODES}`);
}

export function memberAddCommand(): Command {
  return changeCommand(
    'add',
    'add members',
    'Adds members to the cell, one after the other. Start each first: with the members of the cell as they are, --self and --listen; it waits to be added.',
    '  tenure members add d=10.0.0.4:4600 --config tenure.yaml\n  tenure members add d=10.0.0.4:4600 e=10.0.0.5:4600',
  )
    .argument('<members...>', 'id=host:port')
    .action((members: string[], flags: ChangeFlags) => change({ add: Object.fromEntries(members.map(parted)) }, flags));
}

export function memberRemoveCommand(): Command {
  return changeCommand(
    'remove',
    'remove members',
    'Removes members from the cell, one after the other. Stop each afterwards; it says that it is out (TENURE_REMOVED) and ends.',
    '  tenure members remove c',
  )
    .argument('<members...>', 'ids')
    .action((remove: string[], flags: ChangeFlags) => change({ remove }, flags));
}

export function memberReplaceCommand(): Command {
  return changeCommand(
    'replace',
    'put one member in the place of another',
    'Replaces a member by another in one step. A new machine under the old id needs no change at all: start it there.',
    '  tenure members replace c d=10.0.0.4:4600',
  )
    .argument('<member>', 'the id of the one that goes')
    .argument('<by>', 'id=host:port of the one that comes')
    .action((member: string, by: string, flags: ChangeFlags) => {
      const [id, address] = parted(by);
      return change({ replace: { member, by: id, address } }, flags);
    });
}

export function memberSetCommand(): Command {
  return changeCommand(
    'set',
    'change terms and voters',
    'Changes the longest term of any lease, how far the rate of a clock may be off, and how many members vote on a name.',
    '  tenure members set --max-term 30s\n  tenure members set --replication 3\n  tenure members set --replication all',
  )
    .option('--max-term <duration>', 'the longest term of any lease')
    .option('--rate-error <ratio>', 'how far the rate of a clock may be off')
    .option('--replication <n>', 'how many members vote on a name, or all')
    .action(({ maxTerm, rateError, replication, ...flags }: SetFlags) => {
      if (maxTerm === undefined && rateError === undefined && replication === undefined) {
        throw new TenureError('TENURE_BAD_ARGUMENT', 'nothing to set: give --max-term, --rate-error or --replication');
      }
      return change(
        {
          ...(maxTerm === undefined ? {} : { maxTerm }),
          ...(rateError === undefined ? {} : { rateError: Number(rateError) }),
          ...(replication === undefined ? {} : { replication: replication === 'all' ? 'all' : Number(replication) }),
        },
        flags,
      );
    });
}

function parted(member: string): [id: string, address: string] {
  const at = member.indexOf('=');
  if (at <= 0) throw new TenureError('TENURE_BAD_ARGUMENT', `'${member}' is no member: write id=host:port`);
  return [member.slice(0, at), member.slice(at + 1)];
}

async function change(asked: MemberChange, flags: ChangeFlags): Promise<void> {
  const stop = stopSignals();
  const cell = await openCell(flags, { asAdmin: true, signal: stop.signal });
  const news = new Progress(flags.json === true);
  try {
    const view = await cell.changeMembers(
      { ...asked, ...(flags.dropServices ? { dropServices: true } : {}) },
      { signal: stop.signal, onProgress: (progress) => news.show(progress) },
    );
    news.end();
    tellDone(view, flags.json === true);
  } finally {
    news.end();
    await cell.close();
    stop.disarm();
  }
}

function tellDone(view: CellView, asJson: boolean): void {
  if (asJson) printJson({ event: 'done', view });
  else process.stdout.write(`${viewLine(view)}\n`);
}

/** Steps are told at once as JSON; to people only steps that are not over in a moment. */
class Progress {
  readonly #asJson: boolean;
  #timer: NodeJS.Timeout | null = null;

  constructor(asJson: boolean) {
    this.#asJson = asJson;
  }

  show(progress: ChangeProgress): void {
    this.end();
    if (this.#asJson) printJson({ event: 'progress', ...progress });
    else if (progress.kind !== 'done')
      this.#timer = setTimeout(() => process.stderr.write(`view ${progress.epoch}: ${progress.text}\n`), PATIENCE_MS);
  }

  end(): void {
    if (this.#timer) clearTimeout(this.#timer);
  }
}
