/** A list of actions as a script: a comment, the stage, and the actions in blocks, each with what came of it. */
import type { Settings } from '../stage/index.ts';
import { runScript } from './run.ts';

export interface ScriptParts {
  readonly comment: readonly string[];
  readonly protocol: string;
  readonly settings: Settings;
  /** Settings that are as these are not written down. */
  readonly defaults: Settings;
  readonly mutant: string | null;
  readonly breaks: string | null;
  readonly lines: readonly string[];
}

type Kind = 'message' | 'world' | 'act';

function kindOf(line: string): Kind {
  if (/^(maybe )?(deliver|drop|duplicate|delay|wake|effect|answer|fail|misdirect|repeat) /.test(line)) return 'message';
  return /^(advance|crash|restart|twin|set|rate|sleep|awake|pause|resume|settle|corrupt|forget|wipe) /.test(line) ? 'world' : 'act';
}

/** Messages follow what sent them; what the world does goes before what is asked for in it. */
function beginsBlock(line: string, before: string | undefined): boolean {
  const kind = kindOf(line);
  if (before === undefined) return true;
  return kind !== 'message' && (kindOf(before) === 'message' || (kind === 'act' && kindOf(before) === 'act'));
}

export function writeScript({ comment, protocol, settings, defaults, mutant, breaks, lines }: ScriptParts): string {
  const set = Object.entries(settings).filter(([name, value]) => defaults[name] !== value);
  const words = [
    ...set,
    ...(mutant === null ? [] : [['mutant', mutant] as const]),
    ...(breaks === null ? [] : [['breaks', breaks] as const]),
  ];
  const header = ['stage', protocol, ...words.map(([name, value]) => `${name}=${value}`)].join(' ');
  const source = [...comment.map((line) => `# ${line}`), header, 'start'];
  lines.forEach((line, i) => source.push(...(beginsBlock(line, lines[i - 1]) ? ['', line] : [line])));
  return runScript(source.join('\n')).text;
}
