/** `tenure figures`: measure the figures of the papers anew, print them, and draw them. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { figures, type FigureKind, type MeasuredFigure } from '../../sim/figures/index.ts';
import { didYouMean } from '../../kernel/index.ts';
import { Progress } from '../progress.ts';
import { orCannotWrite } from '../script-file.ts';
import { printJson } from '../terminal.ts';
import { wholeNumber } from '../whole-number.ts';

interface FiguresOptions {
  only?: readonly FigureKind[];
  runs?: number;
  seed: number;
  out?: string;
  json?: boolean;
}

export function figuresCommand(): Command {
  return new Command('figures')
    .summary('measure the figures of the papers anew')
    .description(
      "Measures figures of the papers with the product's own cores in a simulated world, prints the means and the curves that fit them, and draws\n" +
        'them. The same seed gives the same figures, byte for byte.',
    )
    .option('--only <names>', `which, with commas between (default: ${figures.map(({ name }) => name).join(',')})`, namedFigures)
    .option(
      '-n, --runs <n>',
      `runs a point (default: ${figures.map(({ name, runs }) => `${runs} for ${name}`).join(', ')})`,
      wholeNumber(2),
    )
    .option('-s, --seed <n>', 'draws every time and choice', wholeNumber(0), 1)
    .option('--out <dir>', 'write each figure as an SVG into this directory; it is made if it is not there')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Figures:
${figures.map(({ name, summary }) => `  ${name.padEnd(8)}${summary}`).join('\n')}

Examples:
  tenure figures --only fig8,fig9 --out pictures
  tenure figures --only fig8 --runs 100 --json

Exit codes: 0 done, 64 usage or a directory that cannot be written, 70 internal error.`,
    )
    .action((options: FiguresOptions) => {
      const { out } = options;
      // Before a minute's work, not after.
      if (out !== undefined) orCannotWrite(out, () => mkdirSync(out, { recursive: true }));
      const measured = (options.only ?? figures).map((kind) => ({ name: kind.name, figure: measure(kind, options) }));
      const files = out === undefined ? [] : measured.map(({ name, figure }) => draw(join(out, `${name}.svg`), figure));
      if (options.json) printJson(Object.fromEntries(measured.map(({ name, figure }) => [name, figure.data])));
      else process.stdout.write(measured.map(({ figure }, index) => figureText(figure, files[index])).join('\n'));
    });
}

function measure(kind: FigureKind, { runs, seed }: FiguresOptions): MeasuredFigure {
  const bar = new Progress();
  try {
    return kind.measure({ runs: runs ?? kind.runs, seed, onProgress: (part) => bar.update(Math.floor(part * 100), 100, kind.name) });
  } finally {
    bar.clear();
  }
}

function draw(file: string, { svg }: MeasuredFigure): string {
  orCannotWrite(file, () => writeFileSync(file, svg));
  return file;
}

function figureText({ lines }: MeasuredFigure, file: string | undefined): string {
  return `${[...lines, ...(file === undefined ? [] : [`drawn: ${file}`])].join('\n')}\n`;
}

function namedFigures(text: string): readonly FigureKind[] {
  const names = figures.map(({ name }) => name);
  const wanted = new Set(text.split(',').map((name) => name.trim()));
  for (const name of wanted) {
    if (!names.includes(name))
      throw new InvalidArgumentError(`there is no figure '${name}'${didYouMean(name, names)}; there are ${names.join(', ')}.`);
  }
  return figures.filter(({ name }) => wanted.has(name));
}
