/** `tenure script`: runs scenario files, and writes down what came of them. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { TenureError } from '../../kernel/index.ts';
import { kits, runScript, type ScriptRun } from '../../sim/index.ts';
import { EXIT } from '../exit-codes.ts';
import { writeScriptFile } from '../script-file.ts';

interface ScriptOptions {
  rewrite?: boolean;
  show?: boolean;
  verbs?: boolean;
  json?: boolean;
}

interface Ran extends ScriptRun {
  readonly file: string;
}

export function scriptCommand(setExit: (code: number) => void): Command {
  return new Command('script')
    .summary('run scenarios written as text')
    .description(
      'Runs scripts: scenarios in which every message, crash and clock is told what to do, with what comes of it written below each\n' +
        'block. One that names a mutant must break with it, and must not break with all rules in force.',
    )
    .argument('[files...]', 'the scripts')
    .option('--rewrite', 'write what came of each block into the files')
    .option('--show', 'print each script with what came of it')
    .option('--verbs', 'list what can be done on each stage')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nExit codes: 0 all as written, 2 something is not, 64 usage or a script that cannot be read, 70 internal error.',
    )
    .action((files: readonly string[], options: ScriptOptions, command: Command) => {
      if (options.verbs) {
        list(options.json === true);
        return;
      }
      if (files.length === 0) command.error('error: which scripts?');
      const ran = files.map((file) => ({ file, ...run(file) }));
      if (options.rewrite) for (const { file, text, changes } of ran) if (changes.length > 0) writeScriptFile(file, text);
      if (options.json) process.stdout.write(`${JSON.stringify({ scripts: ran.map((one) => asJson(one)) })}\n`);
      else process.stdout.write(ran.map((one) => report(one, options)).join(''));
      setExit(ran.some((one) => !isRight(one, options)) ? EXIT.violation : EXIT.ok);
    });
}

function isRight({ failures, changes }: Ran, { rewrite }: ScriptOptions): boolean {
  return failures.length === 0 && (rewrite === true || changes.length === 0);
}

function report(ran: Ran, options: ScriptOptions): string {
  const { file, header, steps, failures, changes, violation, product, text } = ran;
  const without = header.mutant === null ? '' : `, without ${header.mutant}`;
  const withAll =
    header.mutant === null ? '' : product ? `, and ${product.property} does with all rules, too` : ', and does not with all rules';
  const broken = violation ? `${violation.property} breaks${withAll}` : 'nothing breaks';
  const lines = [`${isRight(ran, options) ? 'ok    ' : 'FAILED'} ${file}: ${steps} step${steps === 1 ? '' : 's'}${without}: ${broken}`];
  lines.push(...failures.map((failure) => `  ${failure}`));
  if (changes.length > 0) lines.push(options.rewrite ? '  rewritten:' : '  not as written (--rewrite writes it down):', ...changes);
  if (options.show) lines.push(text.trimEnd());
  return `${lines.join('\n')}\n`;
}

function asJson({ file, header, steps, failures, changes, violation }: Ran): object {
  return {
    file,
    protocol: header.protocol,
    mutant: header.mutant,
    breaks: header.breaks,
    steps,
    property: violation?.property ?? null,
    failures,
    changes,
  };
}

function list(json: boolean): void {
  const stages = kits.flatMap(({ name, stage }) => (stage ? [{ protocol: name, settings: stage.defaults, verbs: stage.verbs }] : []));
  if (json) {
    process.stdout.write(`${JSON.stringify({ stages })}\n`);
    return;
  }
  for (const { protocol, settings, verbs } of stages) {
    const words = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
    process.stdout.write(`stage ${protocol} ${words.join(' ')}\n${verbs.map((verb) => `  ${verb}\n`).join('')}`);
  }
}

/** Of many files, which one cannot be run. */
function run(file: string): ScriptRun {
  const text = read(file);
  try {
    return runScript(text);
  } catch (error) {
    if (!(error instanceof TenureError) || error.code === 'TENURE_INTERNAL') throw error;
    throw new TenureError('TENURE_BAD_ARGUMENT', `${file}, ${error.message}`);
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new TenureError('TENURE_BAD_ARGUMENT', `cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
