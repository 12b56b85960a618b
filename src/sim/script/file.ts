/**
 * The text of a script: blocks of actions, each followed by `----` and by what came of them, up to an empty
 * line. Reading keeps comments and spacing, so that writing a script with fresh outputs changes nothing but the outputs.
 */
import { TenureError } from '../../kernel/index.ts';

const RULE = '----';

interface ScriptLine {
  /** From 1 on. */
  readonly number: number;
  /** Without the comment at its end. */
  readonly text: string;
}

/** Actions, and their output when the script was written last. */
interface ScriptBlock {
  /** As in the file: comments, empty lines and actions up to the rule. */
  readonly source: readonly string[];
  readonly actions: readonly ScriptLine[];
  /** Null where the script was never run: there is no rule yet. */
  readonly output: readonly string[] | null;
}

export interface ScriptText {
  readonly blocks: readonly ScriptBlock[];
  /** The lines after the last block: comments and empty lines. */
  readonly tail: readonly string[];
}

export function parseScriptText(text: string): ScriptText {
  const lines = text.replaceAll('\r\n', '\n').replace(/\n+$/, '').split('\n');
  const blocks: ScriptBlock[] = [];
  let source: string[] = [];
  let actions: ScriptLine[] = [];
  const end = (output: readonly string[] | null): void => {
    blocks.push({ source, actions, output });
    source = [];
    actions = [];
  };
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string;
    if (line.trimEnd() === RULE) {
      if (actions.length === 0) throw new TenureError('TENURE_BAD_ARGUMENT', `line ${i + 1}: there is no action above this rule`);
      const from = i + 1;
      while (i + 1 < lines.length && lines[i + 1] !== '') i++;
      end(lines.slice(from, i + 1));
      continue;
    }
    // Actions that were never run end with an empty line, too.
    if (line === '' && actions.length > 0) end(null);
    source.push(line);
    const action = line.replace(/(^|\s)#(\s.*|$)/, '').trim();
    if (action !== '') actions.push({ number: i + 1, text: action });
  }
  if (actions.length > 0) end(null);
  return { blocks, tail: source };
}

/** The script with these outputs, one for each block. */
export function formatScriptText({ blocks, tail }: ScriptText, outputs: readonly (readonly string[])[]): string {
  const parts = blocks.flatMap(({ source }, i) => [...source, RULE, ...(outputs[i] ?? [])]);
  return `${[...parts, ...tail].join('\n').replace(/\n+$/, '')}\n`;
}
