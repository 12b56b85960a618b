/** The manual page, made of the commands themselves: tenure(1) says what `--help` says. */
import type { Command } from 'commander';

/** In the language of man(7). */
export function manualOf(program: Command, version: string): string {
  const parts = [
    `.TH TENURE 1 "" "tenure ${version}" "Tenure"`,
    '.SH NAME',
    `tenure \\- ${escaped(program.description())}`,
    '.SH SYNOPSIS',
    '.B tenure\n.I command\n[options]',
    '.SH DESCRIPTION',
    escaped(
      'A lease is a lock with an end. Members of a cell grant leases by majority, or a store keeps them. Each command finds its cell or its store by flags, by TENURE_… variables, or by a config file (--config, TENURE_CONFIG).',
    ),
    '.SH COMMANDS',
    ...program.commands.flatMap((command) => commandPart(command, 'tenure')),
    '.SH SEE ALSO',
    escaped('flock(1). The pages of the package are in its folder docs; docs/cli.md lists every exit code.'),
  ];
  return `${parts.join('\n')}\n`;
}

function commandPart(command: Command, before: string): string[] {
  const name = `${before} ${command.name()}`;
  const help = command.createHelp();
  const usage = command.usage() || '[options]';
  const options = help.visibleOptions(command).flatMap(({ flags, description }) => ['.TP', `.B ${escaped(flags)}`, escaped(description)]);
  return [
    `.SS ${escaped(name)}`,
    `.B ${escaped(name)}\n${escaped(usage)}`,
    '.PP',
    escaped(command.description() || command.summary()),
    ...options,
    ...afterHelp(command),
    ...command.commands.flatMap((inner) => commandPart(inner, name)),
  ];
}

/** Examples and exit codes stand in the help after the options, as they are. */
function afterHelp(command: Command): string[] {
  let whole = '';
  command.configureOutput({ writeOut: (part) => (whole += part) }).outputHelp();
  const text = whole.slice(command.helpInformation().length).trim();
  return text === '' ? [] : ['.PP', '.nf', escaped(text), '.fi'];
}

/** Backslashes and leading dots mean something to roff; hyphens stay hyphens, so that options can be copied. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1');
}
