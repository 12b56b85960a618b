/** `tenure completion`: completion for shells, and the manual page, on standard output. */
import { Argument, Command } from 'commander';
import { completionFor, type Shell } from '../completions.ts';
import { manualOf } from '../manual.ts';
import { packageVersion } from '../package-version.ts';

/** `whole` is the program with every command loaded. */
export function completionCommand(_setExit: (code: number) => void, whole: () => Promise<Command>): Command {
  return new Command('completion')
    .summary('completion for a shell, or the manual page')
    .description('Prints what makes a shell complete commands and options of tenure, or the manual page tenure(1).')
    .addArgument(new Argument('<kind>', 'bash, zsh, fish, or man').choices(['bash', 'zsh', 'fish', 'man']))
    .addHelpText(
      'after',
      `
Examples:
  eval "$(tenure completion bash)"                                     in ~/.bashrc
  tenure completion zsh > "\${fpath[1]}/_tenure"                        in zsh, once
  tenure completion fish > ~/.config/fish/completions/tenure.fish      in fish, once
  tenure completion man | man -l -                                     the manual page; installed packages have it as man tenure

Exit codes: 0 printed, 64 usage.`,
    )
    .action(async (kind: Shell | 'man') => {
      const program = await whole();
      process.stdout.write(kind === 'man' ? manualOf(program, packageVersion()) : completionFor(kind, program));
    });
}
