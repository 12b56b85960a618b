/** A list of actions as a script: a comment, the stage, and the actions in blocks, each with what came of it. */
import type { Kit } from '../kit.ts';
import type { Settings } from '../stage/index.ts';
import { runScript } from './run.ts';

export interface ScriptParts {
  readonly comment: readonly string[];
  /** Settings that are as its stage has them anyway are not written down. */
  readonly settings: Settings;
  readonly mutant: string | null;
  readonly breaks: string | null;
  readonly lines: readonly string[];
}

type Kind = 'message' | 'world' | 'act';

function kindOf(line: string): Kind {
  if (/^(maybe )?(deliver|drop|duplicate|delay|wake|effect|answer|fail|misdirect|repeat) /.test(line)) return 'message';
  return /^(advance|crash|restart|twin|set|rate|sleep|awake|pause|resume|settle|corrupt|forget|wipe) /.test(line) ? 'world' : 'act';
}

/** Messages follow the step that sent them; events of the world go before requests. */
function beginsBlock(line: string, before: string | undefined): boolean {
  const kind = kindOf(line);
  if (before === undefined) return true;
  return kind !== 'message' && (kindOf(before) === 'message' || (kind === 'act' && kindOf(before) === 'act'));
}

/** A script on the stage of this kit. */
export function writeScript(kit: Kit, { comment, settings, mutant, breaks, lines }: ScriptParts): string {
  const set = Object.entries(settings).filter(([name, value]) => kit.stage?.defaults[name] !== value);
  const words = [
    ...set,
    ...(mutant === null ? [] : [['mutant', mutant] as const]),
    ...(breaks === null ? [] : [['breaks', breaks] as const]),
  ];
  const header = ['stage', kit.name, ...words.map(([name, value]) => `${name}=${value}`)].join(' ');
  const source = [...comment.map((line) => `# ${line}`), header, 'start'];
  lines.forEach((line, i) => source.push(...(beginsBlock(line, lines[i - 1]) ? ['', line] : [line])));
  return runScript(source.join('\n'), [kit]).text;
}
