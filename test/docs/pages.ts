/** Reads the pages in `docs/`: their fenced blocks and their tables, so that tests can hold them against the code. */
import { projectWith } from '../support/project.ts';
import { readRepositoryFile } from '../support/tree.ts';

export interface Block {
  readonly language: string;
  readonly text: string;
  /** Line of the page at which the block begins. */
  readonly line: number;
}

export function readPage(path: string): string {
  const text = readRepositoryFile(path);
  if (text === undefined) throw new Error(`there is no page ${path}`);
  return text;
}

export function blocksOf(page: string): Block[] {
  return [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(({ 1: language = '', 2: text = '', index }) => ({
    language,
    text,
    line: page.slice(0, index).split('\n').length,
  }));
}

/** A project with the files of one page. */
export function projectOf(page: string): string {
  const files: Record<string, string> = {};
  for (const { language, text, line } of blocksOf(readPage(page))) {
    if (language !== 'ts') continue;
    const file = /^\/\/ ([\w-]+\.ts)\n/.exec(text)?.[1];
    if (file === undefined) throw new Error(`${page}:${line}: the block does not say which file it is`);
    files[file] = text;
  }
  return projectWith(files);
}

/** The text under a heading, up to the next heading of the same or a higher level. */
export function sectionOf(page: string, heading: string): string {
  const lines = page.split('\n');
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading);
  if (start < 0) throw new Error(`there is no heading "${heading}"`);
  const level = (lines[start] ?? '').indexOf(' ');
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => /^#+ /.test(line) && line.indexOf(' ') <= level);
  return rest.slice(0, end < 0 ? undefined : end).join('\n');
}

/** The rows of all tables in a text, without head and rule; cells without blanks at their ends and without backquotes. */
export function rowsOf(section: string): string[][] {
  const tables = section.match(/(?:^\|.*\|$\n?)+/gm) ?? [];
  return tables.flatMap((table) =>
    table
      .trim()
      .split('\n')
      .slice(2)
      .map((row) =>
        row
          .slice(1, -1)
          .split(/(?<!\\)\|/)
          .map((cell) => cell.trim().replaceAll('`', '')),
      ),
  );
}

/** The first cell of every row. */
export function namesIn(section: string): string[] {
  return rowsOf(section).map(([name = '']) => name);
}
