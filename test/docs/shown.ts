/** Rows of a page, each with the tests that show it: a file, and what stands in the title of a test in it. */
import { readRepositoryFile } from '../support/tree.ts';

export type Shown = Readonly<Record<string, readonly (readonly [file: string, title: string])[]>>;

/** What is wrong: a row that is shown by nothing, one that is not on the page, a test that is not there. Titles are looked for as they are written. */
export function unshown(rows: readonly string[], shown: Shown): string[] {
  return [
    ...rows.filter((row) => (shown[row] ?? []).length === 0).map((row) => `shown by nothing: ${row}`),
    ...Object.keys(shown)
      .filter((row) => !rows.includes(row))
      .map((row) => `not on the page: ${row}`),
    ...Object.values(shown)
      .flat()
      .filter(([file, title]) => !textsIn(file).some((text) => text.includes(title)))
      .map(([file, title]) => `not in ${file}: ${title}`),
  ];
}

/** Every text that stands in quotes in a file: a title is one of them, also one with a placeholder or in a table of cases. */
function textsIn(file: string): string[] {
  const source = readRepositoryFile(file);
  if (source === undefined) return [];
  const quoted = source.matchAll(/'((?:[^'\\\n]|\\.)+)'|"((?:[^"\\\n]|\\.)+)"/g);
  return [...quoted].map(([, single, double]) => (single ?? double ?? '').replaceAll('\\', ''));
}
