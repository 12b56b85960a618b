/** `tenure publish`: publishes messages to a log of a cell, a given message or each line of standard input, and prints their positions. */
import { setMaxListeners } from 'node:events';
import { createInterface } from 'node:readline';
import { Command } from 'commander';
import type { BroadcastLog, Cell } from '../../api/index.ts';
import { parseDuration, TenureError } from '../../kernel/index.ts';
import { addCellOptions, type CellFlags } from '../config.ts';
import { openCell } from '../connection.ts';
import { StoppedBySignal, stopSignals } from '../stop-signals.ts';
import { printJson } from '../terminal.ts';

interface PublishFlags extends CellFlags {
  readonly wait?: string;
  readonly json?: boolean;
}

/** No timer is longer. */
const WAIT_MS_MAX = 2 ** 31 - 1;
/** So many lines are under way at once. */
const LINES_AT_ONCE = 1024;

export function publishCommand(setExit: (code: number) => void): Command {
  return addCellOptions(
    new Command('publish')
      .summary('publish messages that all read in one order')
      .description(
        'Publishes MESSAGE to the log called LOG, or without MESSAGE each line of standard input, in order. Prints the position of each once a majority of the\n' +
          'members has it. What was answered is in the log for good, as long as the log keeps it; a message is never there twice.',
      )
      .argument('<log>', 'the name of the log')
      .argument('[message]', 'the message; without it, each line of standard input is one')
      .option('-w, --wait <duration>', 'wait at most this long for the answers (default: as long as it takes)')
      .option('--json', 'print one JSON object for each message'),
  )
    .addHelpText(
      'after',
      `
Examples:
  tenure publish flags 'dark-mode on'
  jq -c '.[]' flags.json | tenure publish flags --json

Exit codes: 0 published, 69 no quorum, or broadcast has not begun (tenure bootstrap), 76 not answered in time (-w): it may be published yet, 77 not allowed,
78 the members do not broadcast.`,
    )
    .action(async (log: string, message: string | undefined, flags: PublishFlags) => {
      const stop = stopSignals();
      try {
        const cell = await openCell(flags, { signal: stop.signal, name: 'tenure-publish' });
        try {
          await publish(cell, log, message, flags, stop.signal);
        } finally {
          await cell.close();
        }
      } catch (error) {
        if (!(error instanceof StoppedBySignal)) throw error;
        setExit(error.exitCode);
      } finally {
        stop.disarm();
      }
    });
}

async function publish(
  cell: Cell,
  name: string,
  message: string | undefined,
  { wait, json }: PublishFlags,
  stop: AbortSignal,
): Promise<void> {
  const limit = wait === undefined ? null : AbortSignal.timeout(Math.min(WAIT_MS_MAX, parseDuration(wait) / 1000));
  const signal = limit === null ? stop : AbortSignal.any([stop, limit]);
  const tell = (position: number): void => {
    if (json) printJson({ log: name, position });
    else process.stdout.write(`${position}\n`);
  };
  try {
    const log = cell.broadcast(name);
    if (message === undefined) await publishLines(log, signal, tell);
    else tell(await log.publish(message, { signal }));
  } catch (error) {
    if (limit?.aborted !== true || stop.aborted) throw error;
    throw new TenureError('TENURE_WAIT_TIMEOUT', `the members did not answer within ${wait}; what was not answered may be published yet`, {
      log: name,
    });
  }
}

/** Positions are told in the order of the lines. */
async function publishLines(log: BroadcastLog, signal: AbortSignal, tell: (position: number) => void): Promise<void> {
  const underWay: Promise<number>[] = [];
  // Each message listens to it.
  setMaxListeners(0, signal);
  const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
  const end = (): void => lines.close();
  signal.addEventListener('abort', end, { once: true });
  try {
    for await (const line of lines) {
      const position = log.publish(line, { signal });
      // It is looked at below; until then its rejection is handled here.
      position.catch(() => undefined);
      underWay.push(position);
      if (underWay.length >= LINES_AT_ONCE) tell(await (underWay.shift() as Promise<number>));
    }
    for (const position of underWay) tell(await position);
    signal.throwIfAborted();
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}
