/** `tenure explore`: everything that can happen in a small world of a protocol, and the shortest script to a violation if there is one. */
import { Argument, Command, InvalidArgumentError } from 'commander';
import { parseDuration, spanUs, formatDuration, TenureError } from '../../kernel/index.ts';
import {
  explorings,
  simulations,
  theatres,
  writeScript,
  type Bounds,
  type Exploration,
  type Exploring,
  type FoundScript,
  type SearchLimits,
} from '../../sim/index.ts';
import { EXIT } from '../exit-codes.ts';
import { Progress } from '../progress.ts';
import { checkWritable, toldOfFile, writeScriptFile } from '../script-file.ts';

interface ExploreOptions extends Partial<Omit<Bounds, 'releases' | 'driftPpm'>> {
  release: boolean;
  drift?: number;
  mutant?: string;
  maxStates: number;
  timeBudget: number;
  output?: string;
  json?: boolean;
}

const MAX_STATES = 100_000_000;
const PPM = 1_000_000;
/** Options that are not called as their bounds are. */
const OPTION_OF: Partial<Record<keyof Bounds, string>> = { driftPpm: '--drift', releases: '--no-release' };
/** What a world says that cannot be. */
const UNFIT: ReadonlySet<string> = new Set(['TENURE_BAD_TIMING', 'TENURE_BAD_ARGUMENT']);

export function exploreCommand(setExit: (code: number) => void): Command {
  return new Command('explore')
    .summary('try everything that can happen in a small world')
    .description(
      'Searches a small world of a protocol exhaustively: every order of messages, every crash, every late wake, at every instant, within\n' +
        'the bounds below. Breadth first, so a violation comes with its shortest script. docs/explorer.md says what is covered.',
    )
    .addArgument(new Argument('<protocol>', 'which protocol').choices(explorings.map(({ protocol }) => protocol)))
    .option('--acceptors <n>', 'nodes that vote', within(1, 5))
    .option('--proposers <n>', 'nodes that ask', within(1, 5))
    .option('--attempts <n>', 'how often each proposer asks', within(1, 4))
    .option('--tries <n>', 'how often one asking is tried', within(1, 4))
    .option('--handles <n>', 'how many leases a proposer asks for at once', within(1, 3))
    .option('--renewals <n>', 'how often a holder renews', within(0, 4))
    .option('--no-release', 'holders give nothing back')
    .option('--crashes <n>', 'crashes in all', within(0, 8))
    .option('--duplicates <n>', 'messages delivered twice, in all', within(0, 8))
    .option('--losses <n>', 'messages dropped, in all (a message that never comes is covered without)', within(0, 8))
    .option('--term <n>', 'how many instants a lease lasts', within(1, 8))
    .option('--instants <n>', 'the last instant', within(0, 15))
    .option('--drift <share>', 'how far clocks run apart, as the engine is told: 0.1 is 10 %', share)
    .option('--skew <n>', 'by how many instants wall clocks are apart, as the engine is told', within(0, 4))
    .option('--beyond <n>', 'by how many instants more they are apart, which the engine is not told', within(0, 4))
    .option('-m, --mutant <name>', 'take one rule out of the core; tenure sim --list names them')
    .option('--max-states <n>', 'stop after so many states', within(1, 1_000_000_000), MAX_STATES)
    .option('--time-budget <duration>', 'stop after so long', duration, parseDuration('1h'))
    .option('-o, --output <file>', 'write the script to a violation to a file')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  tenure explore quorum                                  the world of the defaults, to its end
  tenure explore quorum --mutant no-restart-silence      two holders, and the shortest way there
  tenure explore quorum --renewals 0 --duplicates 1      another world
  tenure explore flease --crashes 1 --no-release         another engine, one crash
  tenure explore rounds-register                         the register under it: lemmas R1 to R5

Exit codes: 0 clean and exhausted, 2 a violation, 3 ended early by a budget, 64 usage, also bounds that do not go together, 70 internal error.`,
    )
    .action((protocol: string, options: ExploreOptions, command: Command) => {
      const exploring = explorings.find((one) => one.protocol === protocol) as Exploring;
      const mutant = options.mutant ?? null;
      if (mutant !== null && !exploring.mutants.includes(mutant)) {
        command.error(
          `error: ${protocol} has no mutant '${mutant}'. ${exploring.mutants.length > 0 ? `Known: ${exploring.mutants.join(', ')}` : 'It has none.'}`,
        );
      }
      const bounds = boundsOf(exploring.bounds, options);
      const strange = exploring.ignores.filter((name) => bounds[name] !== exploring.bounds[name]);
      if (strange.length > 0)
        command.error(
          `error: the world of ${protocol} knows nothing of ${strange.map((name) => OPTION_OF[name] ?? `--${name}`).join(', ')}`,
        );
      if (bounds.beyond > 0 && bounds.skew === 0)
        command.error('error: --beyond goes with --skew: engines that are told of no skew do not look for any');
      setExit(explore(exploring, bounds, mutant, options, command));
    });
}

function boundsOf(defaults: Bounds, options: ExploreOptions): Bounds {
  const { release, drift } = options;
  const told = Object.keys(defaults).flatMap((name) => {
    const value = options[name as keyof ExploreOptions];
    return typeof value === 'number' ? [[name, value]] : [];
  });
  const driftPpm = drift === undefined ? defaults.driftPpm : Math.round(drift * PPM);
  return { ...defaults, ...(Object.fromEntries(told) as Partial<Bounds>), driftPpm, releases: release && defaults.releases };
}

function explore(exploring: Exploring, bounds: Bounds, mutant: string | null, options: ExploreOptions, command: Command): number {
  const { output } = options;
  if (output !== undefined) checkWritable(output);
  const progress = new Progress();
  const startedMs = performance.now();
  const elapsedMs = (): number => performance.now() - startedMs;
  const limits: SearchLimits = {
    maxStates: options.maxStates,
    isOver({ states, depth, waiting }) {
      const line = `${count(states)} states, ${depth} steps deep, ${count(waiting)} to go, ${perSecond(states, elapsedMs())} states/s`;
      // What goes on in a second line of the terminal could not be cleared.
      progress.say(line.slice(0, (process.stderr.columns || 80) - 1));
      return elapsedMs() * 1000 >= options.timeBudget;
    },
  };
  const outcome = orUnfit(() => exploring.explore(bounds, mutant, limits), command);
  progress.clear();
  const figures = { ms: Math.round(elapsedMs()), statesPerSecond: Math.round((outcome.states / elapsedMs()) * 1000) };
  if (options.json) process.stdout.write(`${JSON.stringify(asJson(exploring, bounds, mutant, outcome, figures))}\n`);
  else print(exploring, bounds, mutant, outcome, figures);
  if (output !== undefined) {
    if (outcome.found) writeScriptFile(output, `${scriptOf(exploring.protocol, mutant, outcome.found).join('\n')}\n`);
    if (!options.json) process.stdout.write(`\n${toldOfFile(output, outcome.found !== null)}\n`);
  }
  if (outcome.found) return EXIT.violation;
  return outcome.exhausted ? EXIT.ok : EXIT.unreached;
}

function orUnfit(search: () => Exploration, command: Command): Exploration {
  try {
    return search();
  } catch (error) {
    if (error instanceof TenureError && UNFIT.has(error.code)) command.error(`error: these bounds do not go together: ${error.message}`);
    throw error;
  }
}

interface Figures {
  readonly ms: number;
  readonly statesPerSecond: number;
}

function asJson(exploring: Exploring, bounds: Bounds, mutant: string | null, outcome: Exploration, figures: Figures): object {
  const { found, ...rest } = outcome;
  const script = found && scriptOf(exploring.protocol, mutant, found);
  const violation = found && {
    property: found.violation.property,
    message: toldIn(script ?? [], found.violation),
    steps: found.lines.length,
    script,
  };
  return { protocol: exploring.protocol, mutant, bounds, ...rest, bytesPerState: bytesPerState(outcome), ...figures, violation };
}

function print(exploring: Exploring, bounds: Bounds, mutant: string | null, outcome: Exploration, figures: Figures): void {
  const { found, states, transitions, depth, nodeStates, messages, coreSteps } = outcome;
  const world = Object.entries(bounds).map(([name, value]) => `${name} ${value}`);
  const lines = [
    `${exploring.protocol}${mutant === null ? '' : ` without ${mutant}`}: ${world.join(', ')}`,
    `${count(states)} states, ${count(transitions)} transitions, ${depth} steps deep, ${formatDuration(spanUs(figures.ms * 1000))}`,
    `${count(figures.statesPerSecond)} states/s, ${bytesPerState(outcome)} bytes/state; ${count(coreSteps)} steps of cores made ` +
      `${count(nodeStates)} node states and ${count(messages)} messages`,
  ];
  if (found) {
    const script = scriptOf(exploring.protocol, mutant, found);
    lines.push(`VIOLATION of ${found.violation.property}: ${toldIn(script, found.violation)}`, '', ...script);
  } else {
    lines.push(
      outcome.exhausted
        ? 'no violation: this world is exhausted'
        : `no violation so far, but NOT exhausted: ${count(outcome.waiting)} states were left`,
    );
  }
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** As a script file has it, with what comes of each block: `tenure script` is content with it as it is. */
function scriptOf(protocol: string, mutant: string | null, { settings, violation, lines }: FoundScript): string[] {
  const defaults = theatres.find((theatre) => theatre.protocol === protocol)?.defaults ?? {};
  const breaks = violation.property;
  const rule = simulations.find(({ name }) => name === protocol)?.mutants.find(({ name }) => name === mutant);
  const comment = rule ? [`${rule.rule}: ${rule.how}`] : [];
  const script = writeScript({ comment, protocol, settings, defaults, mutant, breaks, lines: lines.map(({ line }) => line) });
  return script.trimEnd().split('\n');
}

/** The referee's sentence with the names that the script has for nodes, ballots and tokens. */
function toldIn(script: readonly string[], { property, message }: FoundScript['violation']): string {
  const [told] = script.flatMap((line) => line.split(` VIOLATION of ${property}: `).slice(1));
  return told ?? message;
}

/** Of the visited table and the states that waited. */
function bytesPerState({ visitedBytes, frontierBytes, states }: Exploration): number {
  return Math.round((visitedBytes + frontierBytes) / states);
}

function perSecond(states: number, ms: number): string {
  return count(Math.round((states / ms) * 1000));
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}

function within(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(`a whole number from ${min} to ${max} is needed.`);
    return value;
  };
}

function share(text: string): number {
  const value = Number(text);
  if (!/^\d*\.?\d+$/.test(text) || value > 0.2) throw new InvalidArgumentError('a share from 0 to 0.2 is needed.');
  return value;
}

function duration(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    if (error instanceof TenureError) throw new InvalidArgumentError(error.message);
    throw error;
  }
}
