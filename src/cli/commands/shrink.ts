/** `tenure shrink`: a seed that breaks something becomes a script that a person can read. */
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { formatDuration, parseDuration, spanUs } from '../../kernel/index.ts';
import { kits, writeScript, type Kit, type Shrunk } from '../../sim/index.ts';
import { EXIT } from '../exit-codes.ts';
import { Progress } from '../progress.ts';
import { checkWritable, toldOfFile, writeScriptFile } from '../script-file.ts';
import { wholeNumber } from '../whole-number.ts';

/** Of a story that is no script, the last so many steps are shown. */
const STORY_LINES = 100;

interface ShrinkOptions {
  seed: number;
  mutant?: string;
  budget: number;
  output?: string;
  json?: boolean;
}

const shrinkable = kits.filter(({ shrinker }) => shrinker !== null);

export function shrinkCommand(setExit: (code: number) => void): Command {
  return new Command('shrink')
    .summary('make a failing seed small enough to read')
    .description(
      'Takes a run in which something broke and reduces it: fewer nodes, names, faults and messages, less time, while the same\n' +
        'property still breaks. Prints what is left as a script, which `tenure script` runs again.',
    )
    .addArgument(new Argument('<protocol>', 'which protocol').choices(shrinkable.map(({ name }) => name)))
    .requiredOption('-s, --seed <n>', 'the seed of the run, as `tenure sim` prints it after --replay', wholeNumber(0))
    .option('-m, --mutant <name>', 'the mutant the run had')
    .addOption(
      new Option('--budget <span>', 'stop looking for something smaller after so long')
        .argParser(duration)
        .default(parseDuration('60s'), '60s'),
    )
    .option('-o, --output <file>', 'write the script to a file')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  tenure shrink toy --seed 7836656799769432 -o two-holders.txt
  tenure script two-holders.txt

Exit codes: 2 the run breaks something and was shrunk, 0 it breaks nothing, 64 usage, 70 internal error.`,
    )
    .action((protocol: string, options: ShrinkOptions, command: Command) => {
      const mutant = options.mutant ?? null;
      const kit = shrinkable.find(({ name }) => name === protocol) as Kit;
      if (mutant !== null && !kit.mutants.some(({ name }) => name === mutant)) {
        const known = kit.mutants.map(({ name }) => name).join(', ');
        command.error(`error: ${protocol} has no mutant '${mutant}'. ${known ? `Known: ${known}` : 'It has none.'}`);
      }
      setExit(shrink(kit, mutant, options));
    });
}

function shrink(kit: Kit, mutant: string | null, { seed, budget, output, json }: ShrinkOptions): number {
  const { name: protocol, shrinker } = kit;
  if (output !== undefined) checkWritable(output);
  const progress = new Progress();
  const startedMs = performance.now();
  const spentUs = (): number => (performance.now() - startedMs) * 1000;
  let tries = 0;
  let isCut = false;
  const shrunk = shrinker?.shrink(seed, mutant, {
    tried(size, note) {
      tries++;
      progress.say(progressLine(spentUs(), budget, `${tries} tries, ${size} steps left, ${note}`));
    },
    outOfTime(share = 1) {
      const isOver = spentUs() > budget * share;
      isCut ||= isOver;
      return isOver;
    },
  });
  progress.clear();
  const run = `tenure sim ${protocol} --replay ${seed}${mutant === null ? '' : ` --mutant ${mutant}`}`;
  if (!shrunk) {
    process.stdout.write(json ? `${JSON.stringify({ protocol, mutant, seed, property: null })}\n` : `${run}: nothing breaks\n`);
    return EXIT.ok;
  }
  const script = scriptOf(kit, mutant, seed, shrunk);
  if (json) process.stdout.write(`${JSON.stringify(asJson(protocol, mutant, seed, shrunk, script, tries, isCut))}\n`);
  else print(shrunk, script, run, tries, isCut);
  // The violation is on the screen by now, whatever becomes of the file.
  if (output === undefined) return EXIT.violation;
  if (script !== null) writeScriptFile(output, script);
  if (!json) process.stdout.write(`\n${toldOfFile(output, script !== null)}\n`);
  return EXIT.violation;
}

/** As much as fits in a line of the terminal: text in the next line cannot be cleared. */
function progressLine(spentUs: number, budgetUs: number, note: string): string {
  const seconds = Math.floor(Math.min(spentUs, budgetUs) / 1_000_000);
  const line = `shrinking: ${seconds}s of at most ${formatDuration(spanUs(budgetUs))}, ${note}`;
  return line.slice(0, (process.stderr.columns || 80) - 1);
}

function scriptOf(kit: Kit, mutant: string | null, seed: number, { script }: Shrunk): string | null {
  if (!script) return null;
  const { settings, lines, violation } = script;
  const from = `tenure shrink ${kit.name} --seed ${seed}${mutant === null ? '' : ` --mutant ${mutant}`}`;
  const rule = kit.mutants.find(({ name }) => name === mutant);
  const comment = [...(rule ? [`${rule.rule}: ${rule.how}`] : []), `Shrunk by: ${from}`];
  return writeScript(kit, { comment, settings, mutant, breaks: violation.property, lines });
}

function print(shrunk: Shrunk, script: string | null, run: string, tries: number, isCut: boolean): void {
  const { violation, eventsBefore, nodes, without, faults } = shrunk;
  const lines = [
    `${run}: ${violation.property} breaks after ${eventsBefore} events`,
    `${tries} smaller runs tried; the world ${without.length > 0 ? `does without ${[...new Set(without)].join(', ')}` : 'stays as it is'}`,
    ...(isCut ? ['the budget ended it early: with more (--budget) it may get smaller'] : []),
  ];
  if (script === null) {
    const cut = shrunk.story.length - STORY_LINES;
    lines.push(
      `${nodes} nodes are left, ${shrunk.events} events, and these faults: ${faults.join(', ') || 'none'}`,
      `it has no script: ${isCut ? 'there was no time for one' : 'what it needs is not on a stage (docs/research/simulator.md#shrinking)'}. The run of the smallest world:`,
      ...(cut > 0 ? [`… ${cut} steps before`] : []),
      ...shrunk.story.slice(-STORY_LINES),
      `VIOLATION of ${violation.property} at ${formatDuration(spanUs(violation.at))}: ${violation.message}`,
    );
  } else {
    lines.push('', script.trimEnd());
  }
  process.stdout.write(`${lines.join('\n')}\n`);
}

function asJson(
  protocol: string,
  mutant: string | null,
  seed: number,
  shrunk: Shrunk,
  script: string | null,
  tries: number,
  isCut: boolean,
): object {
  const { violation, eventsBefore, events, nodes, without, faults } = shrunk;
  const { property, message } = shrunk.script?.violation ?? violation;
  // With the names that the script has for nodes, ballots and tokens.
  const [, told = message] = script?.split(` VIOLATION of ${property}: `, 2) ?? [];
  return {
    protocol,
    mutant,
    seed,
    property,
    message: told.split('\n', 1)[0],
    eventsBefore,
    events,
    nodes,
    without,
    faults,
    tries,
    endedEarly: isCut,
    steps: shrunk.script?.lines.length ?? null,
    script,
    story: shrunk.story,
  };
}

function duration(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}
