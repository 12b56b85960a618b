/** `tenure check`: let the referees read a history from a file. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import {
  AgreementReferee,
  AnswerReferee,
  AtMostOnceReferee,
  BeliefReferee,
  ClaimReferee,
  DataReferee,
  DeadlineReferee,
  ExclusionReferee,
  FencingReferee,
  gatherHistories,
  lemmaReferees,
  MandatoryReferee,
  Panel,
  parseHistory,
  RegularityReferee,
  RequestReferee,
  SequenceReferee,
  TotalOrderReferee,
  Unjudged,
  WallClockReferee,
  withoutTornLine,
  type History,
  type HistoryHeader,
  type RecordKind,
  type Referee,
} from '../../check/index.ts';
import { formatDuration, parseDuration, spanUs, TenureError } from '../../kernel/index.ts';
import { EXIT } from '../exit-codes.ts';

export function checkCommand(setExit: (code: number) => void): Command {
  return new Command('check')
    .summary('judge a history')
    .description(
      'Reads a history (JSON lines, docs/research/simulator.md) and lets the referees judge it. A history in true time, as `tenure sim --trace`\n' +
        'writes it, is judged in full. Of those by wall clocks, as processes write them, several are judged together: overlaps beyond the bound that\n' +
        'their headers state or --clock-bound gives, and what is not judged is named.',
    )
    .argument('<file...>', 'the history, or those of several processes; - is standard input')
    .option('--clock-bound <duration>', 'how far any wall clock is from the true time at most, for histories by wall clocks')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExit codes: 0 nothing to object to, 2 a violation, 64 usage or not a history.')
    .action((files: string[], { json, clockBound }: { json?: boolean; clockBound?: string }) => {
      const torn: string[] = [];
      const parts = files.map((file) => readHistory(file, torn));
      const { header, records } = gatherHistories(parts, clockBound === undefined ? undefined : parseDuration(clockBound));
      const count = parts.reduce((sum, part) => sum + part.records.length, 0);
      const { referees, notJudged } = refereesFor(header, new Set(records.map(({ kind }) => kind)));
      const panel = new Panel(referees);
      for (const record of records) panel.observe(record);
      const violations = panel.finish(records.at(-1)?.at ?? 0);
      if (json) process.stdout.write(`${JSON.stringify({ records: count, clock: header.clock, violations, notJudged, torn })}\n`);
      else {
        const lines = [
          `${count} records, ${panel.violationCount} violations`,
          ...violations.map(({ property, message }) => `  ${property}: ${message}`),
        ];
        for (const file of torn) lines.push(`the last line of ${file} is torn, and was left out: whoever wrote it stopped in the middle`);
        if (notJudged.length > 0)
          lines.push(`not judged${header.clock === 'wall' ? ', for want of a common clock' : ''}: ${notJudged.join('; ')}`);
        process.stdout.write(`${lines.join('\n')}\n`);
      }
      setExit(violations.length > 0 ? EXIT.violation : EXIT.ok);
    });
}

const WAITERS = 'it is kept while they answer in time, which no history says';

/** No referee can judge these without a common clock. */
const ONE_CLOCK_KINDS: readonly RecordKind[] = [
  'believed',
  'queried',
  'answered',
  'listed',
  'synced',
  'fetching',
  'fetched',
  'invoked',
  'responded',
  'asked',
  'committed',
  'aborted',
  'proposed',
  'decided',
];

const CLAIMS_BY_WALL = 'whether a claim was refused for a reason (who was first, and who else claims, no history of one process says)';

/** Referees for true time, and the referees that are left when each record has the clock of its own machine. Kinds of records that no referee judges are named. */
function refereesFor({ clock, clockBoundUs }: HistoryHeader, kinds: ReadonlySet<RecordKind>): { referees: Referee[]; notJudged: string[] } {
  const referees: Referee[] = [new DeadlineReferee(), new RequestReferee(), new Unjudged(['queued'], WAITERS)];
  const notJudged = kinds.has('queued') ? [`the order of waiters (${WAITERS})`] : [];
  // Exclusion of integers needs no clock.
  referees.push(new AtMostOnceReferee(), new ClaimReferee());
  // Neither does an order that is told by positions.
  referees.push(new SequenceReferee());
  if (clock === 'true') {
    referees.push(new ExclusionReferee(), new FencingReferee(), new RegularityReferee(), new AgreementReferee(), new TotalOrderReferee());
    // Liars ask for leases and do not tell the history.
    referees.push(new AnswerReferee(false), new BeliefReferee(false), ...lemmaReferees());
    // What every store keeps: plain registers promise no more.
    referees.push(new DataReferee('each'));
    // As the paper has it: whether refused requests are recorded no history says.
    referees.push(new MandatoryReferee('ever-claimed'));
    return { referees, notJudged };
  }
  referees.push(new Unjudged(ONE_CLOCK_KINDS, 'their order is the order of clocks'));
  notJudged.push(
    ...(kinds.has('believed') ? ['belief'] : []),
    'certain answers',
    'regularity',
    'agreement',
    'total-order of deliveries without positions',
    'R1 to R5',
  );
  referees.push(new Unjudged(['recalled', 'cleared', 'denied'], CLAIMS_BY_WALL));
  if (kinds.has('denied')) notJudged.push(CLAIMS_BY_WALL);
  if (clockBoundUs === undefined) {
    notJudged.unshift('exclusion and fencing (the header states no clockBoundUs)');
  } else {
    referees.push(new WallClockReferee(clockBoundUs));
    notJudged.unshift(`overlaps shorter than twice the clock bound of ${formatDuration(spanUs(clockBoundUs))}`);
  }
  return { referees, notJudged };
}

/** A torn last line is what a crash leaves; anything else that does not fit is refused, with its file. */
function readHistory(file: string, torn: string[]): History {
  const text = readText(file);
  const whole = withoutTornLine(text);
  if (whole.length < text.length) torn.push(file);
  try {
    return parseHistory(whole);
  } catch (error) {
    if (error instanceof TenureError) throw new TenureError(error.code, `${file}: ${error.message}`, { ...error.details, file });
    throw error;
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new TenureError('TENURE_BAD_ARGUMENT', `cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
