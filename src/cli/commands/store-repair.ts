/** `tenure store repair`: makes units of a replicated store whole again that lost their registers, while the others are in use. */
import { Command } from 'commander';
import { parseDuration, TenureError } from '../../kernel/index.ts';
import { beginAnew, connectForRepair } from '../../store/by-url.ts';
import type { ReplicatedStore, UnitReport } from '../../store/index.ts';
import { EXIT } from '../exit-codes.ts';
import { Progress } from '../progress.ts';
import { paletteFor, printJson, table } from '../terminal.ts';

interface RepairFlags {
  readonly timeout: string;
  readonly json?: boolean;
  readonly beginAnew?: boolean;
}

interface Repaired {
  readonly url: string;
  /** As it was found. */
  readonly standing: UnitReport['standing'];
  /** How many registers it got; null if it was not repaired. */
  readonly registers: number | null;
  readonly failure: string | null;
}

export function storeRepairCommand(setExit: (code: number) => void): Command {
  return new Command('repair')
    .summary('make the units of a replicated store whole again')
    .description(
      'Looks at every unit of a replicated store. One that was wiped, or may have lost writes, is marked, gets what a majority of the others has,\n' +
        'and counts again. The others may be in use meanwhile. Run it only for units whose old contents are gone for good: a directory\n' +
        'that is merely not mounted comes back by itself.',
    )
    .argument('<url>', "'replicated:?unit=…&unit=…&unit=…'")
    .option('--timeout <duration>', 'how long each unit may take', '10m')
    .option('--begin-anew', 'too few units are whole to repair from: begin anew with what all of them still have; stop everybody first')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  tenure store repair 'replicated:?unit=file:///a&unit=file:///b&unit=file:///c'
  tenure store repair --begin-anew 'replicated:?unit=…&unit=…&unit=…'          most units lost what they had, for good

Exit codes: 0 every unit is whole, 64 usage, 69 a unit does not answer, or too few are whole to repair from, 78 a unit belongs to another store.`,
    )
    .action(async (url: string, { timeout, json, beginAnew: isAnew }: RepairFlags) => {
      const timeoutMs = Math.ceil(parseDuration(timeout) / 1000);
      if (isAnew) {
        const begun = await beginAnew(url, { timeoutMs });
        if (json) printJson(begun);
        else printBegun(begun);
        return;
      }
      const store = await connectForRepair(url);
      try {
        const units = await repairAll(store, timeoutMs);
        if (json) printJson({ url: store.url, units });
        else print(units);
        const isForeign = units.some(({ standing }) => standing === 'foreign');
        const isWhole = units.every(({ standing, registers }) => standing === 'whole' || registers !== null);
        setExit(isWhole ? EXIT.ok : isForeign ? EXIT.badConfig : EXIT.noQuorum);
      } finally {
        await store.close();
      }
    });
}

async function repairAll(store: ReplicatedStore, timeoutMs: number): Promise<Repaired[]> {
  const line = new Progress();
  const done: Repaired[] = [];
  try {
    for (const { url, standing, failure } of await store.unitReports()) {
      if (standing === 'whole' || standing === 'silent' || standing === 'foreign') {
        done.push({ url, standing, registers: null, failure: failure?.message ?? null });
        continue;
      }
      line.say(`${url} is repaired …`);
      try {
        done.push({ url, standing, registers: await store.repair(url, { timeoutMs }), failure: null });
      } catch (error) {
        if (!(error instanceof TenureError)) throw error;
        done.push({ url, standing, registers: null, failure: error.message });
      }
    }
    return done;
  } finally {
    line.clear();
  }
}

function printBegun({ registers, lost }: { readonly registers: number; readonly lost: readonly string[] }): void {
  const { green, red } = paletteFor(process.stdout);
  const rows = [[green('begun anew'), `${registers} registers; leases are granted after one observation`]];
  for (const name of lost) rows.push([red('lost'), name]);
  process.stdout.write(table(rows));
}

function print(units: readonly Repaired[]): void {
  const { green, red } = paletteFor(process.stdout);
  const rows = units.map(({ url, standing, registers, failure }) => {
    if (registers !== null) return [green('repaired'), `${url}: ${registers} registers`];
    return standing === 'whole' ? [green('whole'), url] : [red(standing), failure === null ? url : `${url}: ${failure}`];
  });
  process.stdout.write(table(rows));
}
