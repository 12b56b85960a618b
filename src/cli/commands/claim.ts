/** `tenure claim`: claims integers for ever, a given range or the next block that is free. */
import { Command } from 'commander';
import type { Block, Cell } from '../../api/index.ts';
import { checkInterval } from '../../core/index.ts';
import { parseDuration, TenureError } from '../../kernel/index.ts';
import { addCellOptions, type CellFlags } from '../config.ts';
import { openCell } from '../connection.ts';
import { EXIT } from '../exit-codes.ts';
import { StoppedBySignal, stopSignals } from '../stop-signals.ts';
import { paletteFor, printJson } from '../terminal.ts';
import { wholeNumber } from '../whole-number.ts';

interface ClaimFlags extends CellFlags {
  readonly next?: number;
  readonly wait?: string;
  readonly json?: boolean;
}

/** The wanted claim: an interval, or a block of a size. */
type Wanted = Block | number;

/** No timer is longer. */
const WAIT_MS_MAX = 2 ** 31 - 1;

export function claimCommand(setExit: (code: number) => void): Command {
  return addCellOptions(
    new Command('claim')
      .summary('claim integers that nobody else will ever get')
      .description(
        'Claims the integers FROM to TO of SPACE, both included, or with --next the next so many that are free, wherever they are. What is granted is granted\n' +
          'once and for ever: no other claim gets any of it, whatever crashes, and nothing can be given back. A claim that is refused or given up leaves nothing behind.',
      )
      .argument('<space>', 'the name of the space; each has all integers from 0 to 2^53-1')
      .argument('[from]', 'the first integer', wholeNumber(0))
      .argument('[to]', 'the last integer', wholeNumber(0))
      .option('--next <size>', 'a block of so many integers that are free', wholeNumber(1))
      .option('-w, --wait <duration>', 'wait at most this long for an answer (default: as long as it takes)')
      .option('--json', 'print one JSON object'),
  )
    .addHelpText(
      'after',
      `
Examples:
  tenure claim invoices --next 1000               a thousand invoice numbers for this process
  tenure claim shards 0 4095                      exactly these, or nothing
  tenure claim invoices --next 1 --json | jq .from

Exit codes: 0 granted, 64 no such range, 69 no quorum, or claims have not begun (tenure bootstrap), 75 another has some of it, or claims some of it at the
same time, 76 not answered in time (-w), 77 not allowed, 78 the members keep no claims: they have no data directories.`,
    )
    .action(async (space: string, from: number | undefined, to: number | undefined, flags: ClaimFlags) => {
      const wanted = wantedOf(from, to, flags);
      const stop = stopSignals();
      try {
        const cell = await openCell(flags, { signal: stop.signal });
        try {
          setExit(await claim(cell, space, wanted, flags, stop.signal));
        } finally {
          // A refused claim is withdrawn meanwhile.
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

function wantedOf(from: number | undefined, to: number | undefined, { next }: ClaimFlags): Wanted {
  if (next !== undefined && from === undefined) return next;
  if (next === undefined && from !== undefined && to !== undefined) {
    checkInterval(from, to);
    return { from, to };
  }
  throw new TenureError('TENURE_BAD_ARGUMENT', 'give either FROM and TO, or --next SIZE');
}

async function claim(cell: Cell, space: string, wanted: Wanted, { wait, json }: ClaimFlags, stop: AbortSignal): Promise<number> {
  const limit = wait === undefined ? null : AbortSignal.timeout(Math.min(WAIT_MS_MAX, parseDuration(wait) / 1000));
  const signal = limit === null ? stop : AbortSignal.any([stop, limit]);
  try {
    return await claimed(cell, space, wanted, signal, json === true);
  } catch (error) {
    if (limit?.aborted !== true || stop.aborted) throw error;
    throw new TenureError('TENURE_WAIT_TIMEOUT', `no majority of the members answered the claim within ${wait}; it was withdrawn`, {
      space,
    });
  }
}

async function claimed(cell: Cell, space: string, wanted: Wanted, signal: AbortSignal, json: boolean): Promise<number> {
  const { bold, green } = paletteFor(process.stdout);
  const claims = cell.claims(space);
  const answer =
    typeof wanted === 'number'
      ? { ok: true as const, ...(await claims.next(wanted, { signal })) }
      : await claims.claim(wanted.from, wanted.to, { signal });
  if (answer.ok) {
    const { from, to } = answer;
    if (json) printJson({ space, granted: true, from, to });
    else process.stdout.write(`${bold(space)} ${from}-${to} ${green('claimed')}\n`);
    return EXIT.ok;
  }
  const { overlap, nextFree } = answer;
  if (json) {
    printJson({ space, granted: false, ...(typeof wanted === 'number' ? {} : wanted), overlap, nextFree });
    return EXIT.conflict;
  }
  const hint = nextFree === null ? '' : `; as many may be free from ${nextFree} on`;
  throw new TenureError('TENURE_HELD', `${overlap.from}-${overlap.to} of '${space}' is another's, or is being claimed${hint}`);
}
