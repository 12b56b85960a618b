/** `tenure explore`: everything that can happen in a small world of a protocol, and the shortest script to a violation if there is one. */
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration, spanUs, formatDuration, TenureError } from '../../kernel/index.ts';
import {
  kits,
  writeScript,
  type Bound,
  type Budgets,
  type Exploration,
  type Exploring,
  type FoundScript,
  type Kit,
  type SearchLimits,
} from '../../sim/index.ts';
import { EXIT } from '../exit-codes.ts';
import { Progress } from '../progress.ts';
import { checkWritable, toldOfFile, writeScriptFile } from '../script-file.ts';
import { wholeNumber } from '../whole-number.ts';

interface ExploreOptions {
  mutant?: string;
  maxStates: number;
  timeBudget: number;
  output?: string;
  json?: boolean;
}

/** A kit whose small world can be searched. */
interface ExploredKit extends Kit {
  readonly exploring: Exploring;
}

const explored = kits.filter((kit): kit is ExploredKit => kit.exploring !== null);
const MAX_STATES = 100_000_000;
/** What a world says that cannot be. */
const UNFIT: ReadonlySet<string> = new Set(['TENURE_BAD_TIMING', 'TENURE_BAD_ARGUMENT']);

export function exploreCommand(setExit: (code: number) => void): Command {
  const command = new Command('explore')
    .summary('try everything that can happen in a small world')
    .description(
      'Searches a small world of a protocol exhaustively: every order of messages, every crash, every late wake, at every instant, within\n' +
        'the bounds below. Breadth first, so a violation comes with its shortest script. docs/research/explorer.md says what is covered.',
    )
    .addArgument(new Argument('<protocol>', 'which protocol').choices(explored.map(({ name }) => name)));
  for (const option of boundOptions()) command.addOption(option);
  return command
    .option('-m, --mutant <name>', 'take one rule out of the core; tenure sim --list names them')
    .option('--max-states <n>', 'stop after so many states', wholeNumber(1, 1_000_000_000), MAX_STATES)
    .addOption(new Option('--time-budget <duration>', 'stop after so long').argParser(duration).default(parseDuration('1h'), '1h'))
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
    .action((protocol: string, options: ExploreOptions) => {
      const kit = explored.find(({ name }) => name === protocol) as ExploredKit;
      const { mutants, exploring } = kit;
      const mutant = options.mutant ?? null;
      if (mutant !== null && !mutants.some(({ name }) => name === mutant)) {
        const known = mutants.map(({ name }) => name).join(', ');
        command.error(`error: ${protocol} has no mutant '${mutant}'. ${known ? `Known: ${known}` : 'It has none.'}`);
      }
      const bounds = boundsOf(kit, command);
      const misfit = exploring.misfit(bounds);
      if (misfit !== null) command.error(`error: ${misfit}`);
      setExit(explore(kit, bounds, mutant, options, command));
    });
}

/** Every bound of any world, once. Which worlds have it is said where not all have. */
function boundOptions(): Option[] {
  const abouts = new Map<string, { readonly about: string; readonly names: string[] }>();
  for (const { name, exploring } of explored) {
    for (const { option, about } of Object.values(exploring.bounds)) {
      const known = abouts.get(option);
      if (known) known.names.push(name);
      else abouts.set(option, { about, names: [name] });
    }
  }
  return [...abouts].map(
    ([option, { about, names }]) => new Option(option, names.length < explored.length ? `${about} (${names.join(', ')})` : about),
  );
}

/** The world's usual bounds, with the bounds given as options; each is read by the world that has it. */
function boundsOf({ name: protocol, exploring }: ExploredKit, command: Command): Budgets {
  const told = command.options.filter((option) => command.getOptionValueSource(option.attributeName()) === 'cli');
  const bounds = Object.entries(exploring.bounds);
  const isBound = ({ flags }: Option): boolean => explored.some(({ exploring: one }) => has(one, flags));
  const strange = told.filter((option) => isBound(option) && !has(exploring, option.flags));
  if (strange.length > 0) command.error(`error: the world of ${protocol} knows nothing of ${strange.map(({ long }) => long).join(', ')}`);
  const said = told.flatMap((option) => {
    const [name, bound] = bounds.find(([, { option: flags }]) => flags === option.flags) ?? [];
    return name && bound ? [[name, read(bound, String(command.getOptionValue(option.attributeName())), command)]] : [];
  });
  return { ...exploring.usual, ...(Object.fromEntries(said) as Partial<Budgets>) };
}

function has({ bounds }: Exploring, flags: string): boolean {
  return Object.values(bounds).some(({ option }) => option === flags);
}

function read(bound: Bound, text: string, command: Command): number | boolean {
  try {
    return bound.read(text);
  } catch (error) {
    if (!(error instanceof TenureError)) throw error;
    return command.error(`error: option '${bound.option}' argument '${text}' is invalid. ${error.message}`);
  }
}

function explore(kit: ExploredKit, bounds: Budgets, mutant: string | null, options: ExploreOptions, command: Command): number {
  const { output } = options;
  if (output !== undefined) checkWritable(output);
  const progress = new Progress();
  const startedMs = performance.now();
  const elapsedMs = (): number => performance.now() - startedMs;
  const limits: SearchLimits = {
    maxStates: options.maxStates,
    isOver({ states, depth, waiting }) {
      const line = `${count(states)} states, ${depth} steps deep, ${count(waiting)} to go, ${perSecond(states, elapsedMs())} states/s`;
      // Text in a second line of the terminal could not be cleared.
      progress.say(line.slice(0, (process.stderr.columns || 80) - 1));
      return elapsedMs() * 1000 >= options.timeBudget;
    },
  };
  const outcome = orUnfit(() => kit.exploring.explore(bounds, mutant, limits), command);
  progress.clear();
  const figures = { ms: Math.round(elapsedMs()), statesPerSecond: Math.round((outcome.states / elapsedMs()) * 1000) };
  if (options.json) process.stdout.write(`${JSON.stringify(asJson(kit, bounds, mutant, outcome, figures))}\n`);
  else print(kit, bounds, mutant, outcome, figures);
  if (output !== undefined) {
    if (outcome.found) writeScriptFile(output, `${scriptOf(kit, mutant, outcome.found).join('\n')}\n`);
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

function asJson(kit: Kit, bounds: Budgets, mutant: string | null, outcome: Exploration, figures: Figures): object {
  const { found, ...rest } = outcome;
  const script = found && scriptOf(kit, mutant, found);
  const violation = found && {
    property: found.violation.property,
    message: toldIn(script ?? [], found.violation),
    steps: found.lines.length,
    script,
  };
  return { protocol: kit.name, mutant, bounds, ...rest, bytesPerState: bytesPerState(outcome), ...figures, violation };
}

function print(kit: Kit, bounds: Budgets, mutant: string | null, outcome: Exploration, figures: Figures): void {
  const { found, states, transitions, depth, nodeStates, messages, coreSteps } = outcome;
  const world = Object.entries(bounds).map(([name, value]) => `${name} ${value}`);
  const lines = [
    `${kit.name}${mutant === null ? '' : ` without ${mutant}`}: ${world.join(', ')}`,
    `${count(states)} states, ${count(transitions)} transitions, ${depth} steps deep, ${formatDuration(spanUs(figures.ms * 1000))}`,
    `${count(figures.statesPerSecond)} states/s, ${bytesPerState(outcome)} bytes/state; ${count(coreSteps)} steps of cores made ` +
      `${count(nodeStates)} node states and ${count(messages)} messages`,
  ];
  if (found) {
    const script = scriptOf(kit, mutant, found);
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
function scriptOf(kit: Kit, mutant: string | null, { settings, violation, lines }: FoundScript): string[] {
  const breaks = violation.property;
  const rule = kit.mutants.find(({ name }) => name === mutant);
  const comment = rule ? [`${rule.rule}: ${rule.how}`] : [];
  const script = writeScript(kit, { comment, settings, mutant, breaks, lines: lines.map(({ line }) => line) });
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

function duration(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    if (error instanceof TenureError) throw new InvalidArgumentError(error.message);
    throw error;
  }
}
