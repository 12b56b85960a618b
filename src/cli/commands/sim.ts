/** `tenure sim`: run a protocol through faulty worlds, replay one of them, or watch it happen. */
import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { deriveSeed, TenureError } from '../../kernel/index.ts';
import { formatHeader, formatRecord } from '../../check/index.ts';
import { formatEntry, kits, type CampaignResult, type Simulation, type TracedRun } from '../../sim/index.ts';
import { EXIT } from '../exit-codes.ts';
import { Progress } from '../progress.ts';
import { runCampaign } from '../sim-pool.ts';
import { watchRun, worldWorthWatching } from '../watch.ts';
import { wholeNumber } from '../whole-number.ts';

interface SimOptions {
  runs: number;
  seed?: number;
  mutant?: string;
  replay?: number;
  watch?: boolean;
  first?: boolean;
  speed: number;
  threads: number;
  trace?: string;
  list?: boolean;
  json?: boolean;
}

export function simCommand(setExit: (code: number) => void): Command {
  return new Command('sim')
    .summary('run a protocol through thousands of faulty worlds')
    .description(
      'Runs a protocol core in a simulated world with a faulty network, wrong clocks, crashes and stalls, and lets referees judge\n' +
        'the history. A seed draws everything: the same seed gives the same run, byte for byte.',
    )
    .addArgument(new Argument('[protocol]', 'which protocol; see --list').choices(kits.map(({ name }) => name)))
    .option('-n, --runs <n>', 'how many worlds to draw', wholeNumber(1), 1000)
    .option('-s, --seed <n>', 'the seed of the campaign (default: a fresh one, printed)', wholeNumber(0))
    .option('-m, --mutant <name>', 'take one rule out of the core; see --list')
    .option('--first', 'stop at the first violation')
    .option('--replay <seed>', 'run one world again and print its steps', wholeNumber(0))
    .option('--watch', 'run one world slowly and show it happening (--seed: which; default: one worth seeing)')
    .addOption(new Option('--speed <x>', 'with --watch: simulated seconds per second').argParser(positiveNumber).default(1))
    .option('--trace <file>', 'write the history of the first violating run (or else of the first run) as JSON lines')
    .option('--threads <n>', 'worker threads', wholeNumber(1), availableParallelism())
    .option('--list', 'list protocols and mutants')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  tenure sim toy --runs 2000 --seed 1        find two holders in a naive protocol
  tenure sim toy --replay 42                 one world again, step by step
  tenure sim --list                          protocols, and the rules that can be taken out

Exit codes: 0 clean, 2 a safety or liveness violation, 3 a "sometimes" was never reached, 64 usage, 70 internal error.`,
    )
    .action(async (protocol: string | undefined, options: SimOptions, command: Command) => {
      if (options.list) {
        list(options.json === true);
        return;
      }
      if (protocol === undefined) command.error(`error: which protocol? One of: ${kits.map(({ name }) => name).join(', ')}`);
      const simulation = kits.find(({ name }) => name === protocol) as Simulation;
      const mutant = options.mutant ?? null;
      if (mutant !== null && !simulation.mutants.some(({ name }) => name === mutant)) {
        const known = simulation.mutants.map(({ name }) => name).join(', ');
        command.error(`error: ${protocol} has no mutant '${mutant}'. ${known ? `Known: ${known}` : 'It has none.'}`);
      }
      if (options.replay !== undefined) setExit(replay(simulation, mutant, options.replay, options));
      else if (options.watch) {
        const seed = options.seed ?? worldWorthWatching(simulation, mutant, randomInt(2 ** 32));
        setExit(await watchRun(simulation, mutant, seed, options.speed));
      } else setExit(await campaign(simulation, mutant, options));
    });
}

async function campaign(simulation: Simulation, mutant: string | null, options: SimOptions): Promise<number> {
  const { runs, threads } = options;
  const seed = options.seed ?? randomInt(2 ** 32);
  const progress = new Progress();
  const result = await runCampaign({
    simulation,
    mutant,
    runs,
    seed,
    threads,
    stopAtViolation: options.first === true,
    onProgress: (done, violations) => progress.update(done, runs, `${violations} violations`),
  });
  progress.clear();
  const unreached = Object.entries(result.sometimes).flatMap(([name, count]) => (count === 0 ? [name] : []));
  if (options.trace !== undefined) {
    writeHistory(options.trace, simulation.replay(result.violations[0]?.seed ?? deriveSeed(seed, 0), mutant));
  }
  if (options.json) process.stdout.write(`${JSON.stringify(asJson(simulation, mutant, seed, result))}\n`);
  else print(simulation, mutant, seed, result, unreached);
  if (result.violations.length > 0) return EXIT.violation;
  return unreached.length > 0 ? EXIT.unreached : EXIT.ok;
}

function asJson(simulation: Simulation, mutant: string | null, seed: number, result: CampaignResult): object {
  return {
    protocol: simulation.name,
    mutant,
    runs: result.runs,
    seed,
    events: result.events,
    grants: result.grants,
    violations: result.violations.map((found) => ({
      seed: found.seed,
      property: found.property,
      at: found.at,
      replay: replayCommand(simulation, mutant, found.seed),
    })),
    sometimes: result.sometimes,
    liveness: result.liveness,
  };
}

function print(simulation: Simulation, mutant: string | null, seed: number, result: CampaignResult, unreached: readonly string[]): void {
  const lines = [
    `${simulation.name}${mutant === null ? '' : ` without ${mutant}`}: ${result.runs} runs of seed ${seed}, ${result.events} events, ${result.grants} grants`,
    `liveness: ${result.liveness.checked} runs checked, ${result.liveness.failed} failed`,
    'sometimes:',
    ...simulation.sometimes.map(({ name, description }) => `  ${String(result.sometimes[name]).padStart(9)}  ${name}: ${description}`),
  ];
  if (result.violations.length === 0) lines.push('no violations');
  else lines.push(`${result.violations.length} runs with violations:`);
  for (const found of result.violations.slice(0, 5)) {
    lines.push(`  ${found.property}: ${found.message}`, `    ${replayCommand(simulation, mutant, found.seed)}`);
  }
  if (result.violations.length > 5) lines.push(`  … and ${result.violations.length - 5} more (--json lists all)`);
  const [first] = result.violations;
  if (first) lines.push(`to make the first one small: tenure shrink ${simulation.name} --seed ${first.seed}${mutantOption(mutant)}`);
  if (unreached.length > 0) lines.push(`never reached: ${unreached.join(', ')} (more --runs may reach it)`);
  process.stdout.write(`${lines.join('\n')}\n`);
}

function replay(simulation: Simulation, mutant: string | null, seed: number, options: SimOptions): number {
  const run = simulation.replay(seed, mutant);
  if (options.trace !== undefined) writeHistory(options.trace, run);
  const steps = run.entries.map((entry) => formatEntry(entry, (node) => run.nodeNames[node] ?? String(node)));
  if (options.json) {
    const { events, grants, violations } = run;
    process.stdout.write(`${JSON.stringify({ protocol: simulation.name, mutant, seed, events, grants, violations, steps })}\n`);
  } else {
    const found = run.violations.map(({ property, message }) => `VIOLATION of ${property}: ${message}`);
    process.stdout.write(`${[...steps, ...(found.length > 0 ? found : ['no violation'])].join('\n')}\n`);
  }
  return run.violations.length > 0 ? EXIT.violation : EXIT.ok;
}

function writeHistory(file: string, run: TracedRun): void {
  const lines = [formatHeader({ 'tenure-history': 1, clock: 'true' })];
  for (const { record } of run.entries) if (record) lines.push(formatRecord(record));
  try {
    writeFileSync(file, `${lines.join('\n')}\n`);
  } catch (error) {
    throw new TenureError('TENURE_BAD_ARGUMENT', `cannot write ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function list(json: boolean): void {
  if (json) {
    const protocols = kits.map(({ name, mutants }) => ({
      name,
      mutants: mutants.map((mutant) => ({ name: mutant.name, rule: mutant.rule })),
    }));
    process.stdout.write(`${JSON.stringify({ protocols })}\n`);
    return;
  }
  for (const { name, summary, mutants } of kits) {
    process.stdout.write(`${name}: ${summary}\n`);
    for (const mutant of mutants) process.stdout.write(`  --mutant ${mutant.name}  (${mutant.rule})\n`);
  }
}

function replayCommand(simulation: Simulation, mutant: string | null, seed: number): string {
  return `tenure sim ${simulation.name} --replay ${seed}${mutantOption(mutant)}`;
}

function mutantOption(mutant: string | null): string {
  return mutant === null ? '' : ` --mutant ${mutant}`;
}

function positiveNumber(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value < Infinity)) throw new InvalidArgumentError('a number above 0 is needed.');
  return value;
}
