/** `tenure store doctor`: whether a store can be trusted with leases, how fast it is, and which delta and term follow. */
import { Command } from 'commander';
import { formatDuration, parseDuration, TenureError, type SpanUs } from '../../kernel/index.ts';
import { connectStore } from '../../store/by-url.ts';
import { contest, probe, readParameters, type ContestResult, type ProbeFinding, type Parameters, type Store } from '../../store/index.ts';
import { EXIT } from '../exit-codes.ts';
import { Progress } from '../progress.ts';
import { glance, paletteFor, printJson, table } from '../terminal.ts';

interface DoctorFlags {
  readonly for: string;
  readonly connections: string;
  readonly json?: boolean;
}

const CONNECTIONS_MAX = 64;

interface Report {
  readonly store: Store;
  readonly connections: number;
  readonly checks: readonly ProbeFinding[];
  readonly parameters: Parameters | null;
  /** Null if the store has failed a check: there is nothing to measure then. */
  readonly contest: ContestResult | null;
}

export function storeDoctorCommand(setExit: (code: number) => void): Command {
  return new Command('doctor')
    .summary('examine a store')
    .description(
      'Works on a store for a while, over several connections and under keys of its own, and throws a part of the answers away. Says whether\n' +
        'the store keeps what leases need, how long accesses take, and proposes delta and the longest term.',
    )
    .argument('<url>', 'file:///DIRECTORY, postgres://…, redis://…')
    .option('--for <duration>', 'how long to work on it', '10s')
    .option('--connections <count>', 'how many connections work at once', '4')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  tenure store doctor file:///var/lib/leases
  tenure store doctor postgres://leases@db.internal/app --for 5m --json

delta is twice the longest access that was seen, as a round number; the term is at least thirty delta. The probability of a late access is
an upper bound at 95% confidence, for a store and a load like those that were measured: run it where and when the store is busy.

Exit codes: 0 nothing to object to, 2 the store broke its promise, 64 usage, 69 it does not answer, 77 it does not let us in, 78 it is not fit or not set up.`,
    )
    .action(async (url: string, flags: DoctorFlags) => {
      const forMs = parseDuration(flags.for) / 1000;
      const count = Number(flags.connections);
      if (!Number.isInteger(count) || count < 1 || count > CONNECTIONS_MAX) {
        throw new TenureError('TENURE_BAD_ARGUMENT', `--connections is a number from 1 to ${CONNECTIONS_MAX}, not ${flags.connections}`);
      }
      const stores: Store[] = [];
      try {
        // The first may have to make the place a store; the others find it.
        for (let index = 0; index < count; index++) stores.push(await connectStore(url));
        const report = await examine(stores, forMs);
        if (flags.json) printJson(await inJson(report, forMs));
        else print(report, forMs);
        setExit(isFit(report) ? EXIT.ok : EXIT.violation);
      } finally {
        await Promise.all(stores.map(async (store) => await store.close()));
      }
    });
}

async function examine(stores: readonly Store[], forMs: number): Promise<Report> {
  const [store] = stores;
  if (!store) throw new TenureError('TENURE_INTERNAL', 'nothing to examine');
  const checks = await probe(stores);
  const isPassed = checks.every(({ wrong }) => wrong === null);
  return {
    store,
    connections: stores.length,
    checks,
    parameters: await readParameters(store),
    contest: isPassed ? await contestOf(stores, forMs) : null,
  };
}

async function contestOf(stores: readonly Store[], forMs: number): Promise<ContestResult> {
  const bar = new Progress();
  try {
    return await contest(stores, { forMs, progress: (part) => bar.update(Math.round(part * 100), 100, `${stores.length} connections`) });
  } finally {
    bar.clear();
  }
}

function isFit({ contest: held }: Report): boolean {
  return held !== null && held.violations.length === 0;
}

async function inJson(report: Report, forMs: number): Promise<unknown> {
  const { store, connections, checks, parameters, contest: held } = report;
  const times = held?.times;
  const proposal = times?.proposal(store.kind);
  return {
    url: store.url,
    kind: store.kind,
    can: store.can,
    identity: await store.identity(),
    epoch: await store.epoch(),
    isFit: isFit(report),
    checks,
    contest: held && {
      connections,
      forMs,
      changes: held.changes,
      lost: held.lost,
      thrownAway: held.thrownAway,
      foundLater: held.foundLater,
      violations: held.violations,
    },
    accessMs: times && {
      count: times.count,
      p50: times.quantile(0.5),
      p99: times.quantile(0.99),
      p999: times.quantile(0.999),
      max: times.quantile(1),
    },
    proposal: times && proposal && { ...proposal, latePartMax: times.latePartMax(proposal.deltaUs) },
    parameters: parameters && {
      ...parameters,
      late: times?.later(parameters.deltaUs) ?? null,
      latePartMax: times?.latePartMax(parameters.deltaUs) ?? null,
    },
  };
}

function print(report: Report, forMs: number): void {
  const { store, connections, checks, parameters, contest: held } = report;
  const { bold, dim, green, red } = paletteFor(process.stdout);
  const line = (text: string): void => void process.stdout.write(`${text}\n`);
  line(`${bold(store.url)} ${dim(store.can.swap ? '(compare-and-set)' : '(plain registers)')}`);
  const rows = checks.map(({ check, wrong }) => [
    wrong === null ? green('ok') : red('WRONG'),
    wrong === null ? check : `${check}: ${wrong}`,
  ]);
  if (held) {
    const told = `${connections} connections worked on it for ${glance(forMs)}: ${held.changes} changes, ${held.thrownAway} answers thrown away`;
    rows.push(
      held.violations.length === 0 ? [green('ok'), `${told}, nothing lost, nothing twice`] : [red('WRONG'), told],
      ...held.violations.map((violation) => [red('WRONG'), violation]),
    );
  }
  process.stdout.write(table(rows));
  if (!held) return;
  const { times } = held;
  const [half, most, nearlyAll, longest] = [0.5, 0.99, 0.999, 1].map((part) => glance(times.quantile(part)));
  line(`${times.count} accesses: half within ${half}, 99% within ${most}, 99.9% within ${nearlyAll}, the longest took ${longest}`);
  const { deltaUs, maxTermUs } = times.proposal(store.kind);
  line(`proposal: --delta ${compact(deltaUs)} --max-term ${compact(maxTermUs)}; ${lateness(report, deltaUs)}`);
  if (parameters)
    line(
      `set up with: delta ${compact(parameters.deltaUs)}, longest term ${compact(parameters.maxTermUs)}; ${lateness(report, parameters.deltaUs)}`,
    );
  if (!isFit(report)) line(red('Do not use this store: two could hold the same lease.'));
}

function lateness({ contest: held }: Report, deltaUs: SpanUs): string {
  if (!held) return '';
  const part = held.times.latePartMax(deltaUs) * 100;
  return `${held.times.later(deltaUs)} accesses took longer than delta, at most ${part >= 0.1 ? part.toFixed(1) : part.toPrecision(1)}% do (95% confidence)`;
}

/** As it can be typed again. */
function compact(span: SpanUs): string {
  return formatDuration(span).replaceAll(' ', '');
}
