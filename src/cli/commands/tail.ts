/** `tenure tail`: prints the messages of a log in their order, as they come. */
import { Command, InvalidArgumentError } from 'commander';
import type { BroadcastLog, LogMessage } from '../../api/index.ts';
import { addCellOptions, type CellFlags } from '../config.ts';
import { openCell } from '../connection.ts';
import { StoppedBySignal, stopSignals } from '../stop-signals.ts';
import { metaText, paletteFor, printJson } from '../terminal.ts';
import { wholeNumber } from '../whole-number.ts';

interface TailFlags extends CellFlags {
  readonly from: number | 'first' | 'next';
  readonly count?: number;
  readonly follow: boolean;
  readonly json?: boolean;
}

export function tailCommand(): Command {
  return addCellOptions(
    new Command('tail')
      .summary('print the messages of a log, in their order')
      .description(
        'Prints the messages of LOG in the one order in which all processes read them, and goes on as more come, until SIGINT, SIGTERM or SIGHUP.\n' +
          'Each has a position; --from goes on where another tail has stopped.',
      )
      .argument('<log>', 'the name of the log')
      .option('--from <position>', 'a position; first: the oldest message that is kept; next: only what comes from now on', fromOf, 'first')
      .option('-n, --count <count>', 'end after so many messages', wholeNumber(1))
      .option('--no-follow', 'end where the log ends now')
      .option('--json', 'print JSON lines'),
  )
    .addHelpText(
      'after',
      `
Examples:
  tenure tail flags
  tenure tail flags --from 1042 --json | jq -r .message
  tenure tail flags --no-follow -n 1               the oldest message

Exit codes: 0 ended, also by a signal, 66 the position is kept no more (the message says which is the first that is), 69 no quorum, or broadcast has not begun,
77 not allowed, 78 the members do not broadcast.`,
    )
    .action(async (name: string, flags: TailFlags) => {
      const stop = stopSignals();
      try {
        const cell = await openCell(flags, { signal: stop.signal, name: 'tenure-tail' });
        try {
          await tail(cell.broadcast(name), flags, stop.signal);
        } finally {
          await cell.close();
        }
      } catch (error) {
        if (!(error instanceof StoppedBySignal)) throw error;
      } finally {
        stop.disarm();
      }
    });
}

async function tail(log: BroadcastLog, { from, count, follow, json }: TailFlags, signal: AbortSignal): Promise<void> {
  // Where broadcast has not begun, the waiting user is told so.
  await log.ready({ signal });
  let told = 0;
  for await (const message of log.read({ from, follow, signal })) {
    print(message, json === true);
    if (++told === count) return;
  }
}

function print(message: LogMessage, json: boolean): void {
  const { position, from, message: bytes, text } = message;
  if (json) {
    const isText = Buffer.from(text).equals(bytes);
    printJson({ position, from, ...(isText ? { message: text } : { base64: Buffer.from(bytes).toString('base64') }) });
    return;
  }
  const { bold, dim } = paletteFor(process.stdout);
  process.stdout.write(`${dim(String(position))} ${bold(from)} ${metaText(bytes) ?? ''}\n`);
}

function fromOf(text: string): TailFlags['from'] {
  if (text === 'first' || text === 'next') return text;
  const position = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(position) && position >= 1) return position;
  throw new InvalidArgumentError('a position (a whole number from 1 on), first or next is needed.');
}
