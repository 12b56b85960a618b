/** `tenure demo`: a real cell on this machine, contenders with different habits, and keys to break things. `npm start` runs it. */
import { Command, Option } from 'commander';
import { parseDuration } from '../../kernel/index.ts';
import type { ContenderId } from '../demo/parts.ts';

interface DemoFlags {
  readonly for?: string;
  readonly json?: boolean;
  readonly part?: 'keeper' | 'contender';
  readonly who?: ContenderId;
  readonly folder?: string;
  readonly terminal?: boolean;
}

/** Where no person can press a key. */
const STORY = '20s';

export function demoCommand(setExit: (code: number) => void): Command {
  return new Command('demo')
    .summary('a cell to look at and to break, on this machine')
    .description(
      'Starts three members and eight contenders, each a process of its own, on free ports of this machine, and shows who holds what. Keys\n' +
        'kill, pause and restart them. Without a terminal it tells what happens as lines, for 20 seconds. Nothing is left behind.',
    )
    .option('--for <duration>', `how long (default: until q on a terminal, ${STORY} elsewhere)`)
    .option('--json', 'no screen: print JSON lines')
    .addOption(new Option('--part <part>', 'what the demo starts').choices(['keeper', 'contender']).hideHelp())
    .addOption(new Option('--who <contender>').hideHelp())
    .addOption(new Option('--folder <folder>').hideHelp())
    .addOption(new Option('--terminal').hideHelp())
    .addHelpText(
      'after',
      `
Keys: 1 2 3 kill a member, or start it again; up and down choose a lease; k kills its holder (-9), p pauses it and resumes it; q quits.

Examples:
  tenure demo
  tenure demo --for 20s | cat                       the same as a story
  tenure demo --json | jq -r 'select(.event == "granted") | .text'

Exit codes: 0 seen enough, 2 the referees found a violation, 64 usage, 78 no free ports.`,
    )
    .action(async (flags: DemoFlags) => {
      const { part, folder = '' } = flags;
      if (part === 'keeper') return (await import('../demo/keeper.ts')).keep(folder, flags.terminal === true);
      if (part === 'contender') return (await import('../demo/contender.ts')).contend(flags.who ?? 'nightly', folder);
      const isJson = flags.json === true;
      const isLive = !isJson && process.stdin.isTTY && process.stdout.isTTY && process.env['TERM'] !== 'dumb';
      const length = flags.for ?? (isLive ? undefined : STORY);
      const forMs = length === undefined ? undefined : parseDuration(length) / 1000;
      const { runDemo } = await import('../demo/demo.ts');
      setExit(await runDemo({ forMs, isLive, isJson }));
    });
}
