/** Completion for shells, made of the commands themselves: commands and options of `--help` are completed, and nothing has to be kept up to date. */
import type { Command, Option } from 'commander';

export type Shell = 'bash' | 'zsh' | 'fish';

/** One command, or one within another: `store init`. */
interface Path {
  readonly words: string;
  readonly command: Command;
}

export function completionFor(shell: Shell, program: Command): string {
  const paths = pathsOf(program);
  if (shell === 'bash') return forBash(paths);
  return shell === 'zsh' ? forZsh(paths) : forFish(paths);
}

/** The program itself, and everything below it, outermost first. */
function pathsOf(program: Command, words = ''): Path[] {
  return [{ words, command: program }, ...program.commands.flatMap((inner) => pathsOf(inner, `${words} ${inner.name()}`.trim()))];
}

function optionsOf(command: Command): Option[] {
  return command.createHelp().visibleOptions(command);
}

function flagsOf(option: Option): string[] {
  return [option.short, option.long].filter((flag): flag is string => flag !== undefined && flag !== null);
}

/** What follows the option is a file or a folder. */
function takesPath({ flags }: Option): boolean {
  return /<(?:file|folder|path)>/.test(flags);
}

/** `case` patterns of the words before the word that is completed. */
function forBash(paths: readonly Path[]): string {
  const branches = paths.map(({ words, command }) => {
    const known = [...command.commands.map((inner) => inner.name()), ...optionsOf(command).flatMap(flagsOf)];
    return `    '${words}') words='${known.join(' ')}' ;;`;
  });
  const files = [...new Set(paths.flatMap(({ command }) => optionsOf(command).filter(takesPath).flatMap(flagsOf)))];
  const choices = choicesOf(paths).map(
    ([flag, values]) => `    ${flag}) COMPREPLY=($(compgen -W '${values.join(' ')}' -- "$current")); return ;;`,
  );
  return `# Completion of tenure for bash: eval "$(tenure completion bash)"
_tenure() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} path='' word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -- ]] && { COMPREPLY=($(compgen -f -- "$current")); return; }
    case "\${path:+$path }$word" in
${paths.flatMap(({ words }) => (words === '' ? [] : [`      '${words}') path='${words}' ;;`])).join('\n')}
    esac
  done
  case $before in
    ${files.join('|')}) COMPREPLY=($(compgen -f -- "$current")); return ;;
${choices.join('\n')}
  esac
  case $path in
${branches.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o filenames -F _tenure tenure
`;
}

function choicesOf(paths: readonly Path[]): [string, readonly string[]][] {
  const found = new Map<string, readonly string[]>();
  for (const { command } of paths) {
    for (const option of optionsOf(command)) if (option.argChoices) found.set(String(option.long), option.argChoices);
  }
  return [...found];
}

function forZsh(paths: readonly Path[]): string {
  const branches = paths.map(({ words, command }) => {
    const inner = command.commands.map((one) => quoted(`${one.name()}:${one.summary() || firstLine(one.description())}`));
    const options = optionsOf(command).flatMap((option) =>
      flagsOf(option).map((flag) => quoted(`${flag}[${option.description.replace(/[[\]]/g, '')}]${zshValue(option)}`)),
    );
    const commands = inner.length > 0 ? `\n      local -a inner=(${inner.join(' ')})\n      _describe command inner` : '';
    return `    '${words}')\n      _arguments -s ${options.join(' ')} '*:file:_files'${commands} ;;`;
  });
  return `#compdef tenure
# Completion of tenure for zsh: tenure completion zsh > "\${fpath[1]}/_tenure"
_tenure() {
  local path='' word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${path:+$path }$word" in
${paths.flatMap(({ words }) => (words === '' ? [] : [`      '${words}') path='${words}' ;;`])).join('\n')}
    esac
  done
  case $path in
${branches.join('\n')}
  esac
}
if [ "$funcstack[1]" = _tenure ]; then _tenure "$@"; else compdef _tenure tenure; fi
`;
}

function zshValue(option: Option): string {
  if (!option.required && !option.optional) return '';
  if (option.argChoices) return `:value:(${option.argChoices.join(' ')})`;
  return takesPath(option) ? ':file:_files' : ':value:';
}

function forFish(paths: readonly Path[]): string {
  const lines = paths.flatMap(({ words, command }) => {
    const top = words.split(' ')[0] ?? '';
    const when = words === '' ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${top}`;
    const inner = command.commands.map(
      (one) => `complete -c tenure -n '${when}' -f -a ${one.name()} -d ${fishQuoted(one.summary() || firstLine(one.description()))}`,
    );
    const options = optionsOf(command).map((option) => {
      const names = [option.short ? `-s ${option.short.slice(1)}` : '', option.long ? `-l ${option.long.slice(2)}` : '']
        .filter(Boolean)
        .join(' ');
      const values = option.argChoices
        ? `-x -a '${option.argChoices.join(' ')}'`
        : option.required
          ? takesPath(option)
            ? '-r -F'
            : '-x'
          : '';
      return `complete -c tenure -n '${when}' ${names} ${values} -d ${fishQuoted(option.description)}`.replace(/ {2,}/g, ' ');
    });
    return [...inner, ...options];
  });
  return `# Completion of tenure for fish: tenure completion fish > ~/.config/fish/completions/tenure.fish\n${lines.join('\n')}\n`;
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}

/** For sh and zsh; a colon would end a name. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function fishQuoted(text: string): string {
  return `'${firstLine(text).replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
