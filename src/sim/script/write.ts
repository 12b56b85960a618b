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

/** Deliveries follow what sent the messages; everything else begins a block. */
const FOLLOWS = /^(deliver|drop|duplicate|wake|answer|fail) /;

export function writeScript({ comment, protocol, settings, defaults, mutant, breaks, lines }: ScriptParts): string {
  const set = Object.entries(settings).filter(([name, value]) => defaults[name] !== value);
  const words = [
    ...set,
    ...(mutant === null ? [] : [['mutant', mutant] as const]),
    ...(breaks === null ? [] : [['breaks', breaks] as const]),
  ];
  const header = ['stage', protocol, ...words.map(([name, value]) => `${name}=${value}`)].join(' ');
  const source = [...comment.map((line) => `# ${line}`), header, 'start'];
  lines.forEach((line, i) => {
    // A pause belongs to what comes after it.
    const isPause = (lines[i - 1] ?? '').startsWith('advance ');
    source.push(...(isPause || FOLLOWS.test(line) ? [line] : ['', line]));
  });
  return runScript(source.join('\n')).text;
}
