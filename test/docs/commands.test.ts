/**
 * Every command line in a `console` block of the pages is run, all of a page in one shell. What it prints must be what the page
 * shows, where `…` stands for anything on that line and a line with nothing but `…` for any number of lines. Pages about a cell
 * have a real one of three members to talk to.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { freePorts, ServedCell } from '../cli/served-cell.ts';
import { tenure } from '../cli/tenure.ts';
import { blocksOf, namesIn, readPage, sectionOf } from './pages.ts';
import { Session, shownIn } from './session.ts';

function patternOf(output: string): RegExp {
  const lines = output.split('\n').slice(0, -1);
  const patterns = lines.map((line) =>
    line === '…' ? '(?:.*\n)*' : `${line.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll('…', '.*')}\n`,
  );
  return new RegExp(`^${patterns.join('')}$`);
}

type Surroundings = 'nothing' | 'a cell' | 'a cell with disks' | 'free ports';

/** What a page's commands find around them. Its own cell a page starts on free ports, with short terms. */
const PAGES: Readonly<Record<string, Surroundings>> = {
  'README.md': 'nothing',
  'docs/cli.md': 'a cell with disks',
  'docs/errors.md': 'nothing',
  'docs/research/explorer.md': 'nothing',
  'docs/operations.md': 'a cell',
  'docs/quick-start.md': 'free ports',
  'docs/run.md': 'a cell',
  'docs/research/scripts.md': 'nothing',
  'docs/research/simulator.md': 'nothing',
};

// One long page beside the others: much of their time is waiting.
vi.setConfig({ maxConcurrency: 2 });

describe.each(Object.entries(PAGES))('the commands of %s', { concurrent: true }, (page, around) => {
  const blocks = blocksOf(readPage(page))
    .filter(({ language }) => language === 'console')
    .map(({ text, line }) => ({ line, shown: shownIn(text) }));
  const session = new Session();
  const hasDisks = around === 'a cell with disks';
  const cell = around === 'a cell' || hasDisks ? new ServedCell() : null;
  const printed: string[] = [];

  beforeAll(async () => {
    const env: Record<string, string> = {};
    if (cell) Object.assign(env, (await cell.start(hasDisks)).env);
    if (around === 'free ports') {
      const [a, b, c] = await freePorts(3);
      Object.assign(env, { TENURE_MEMBERS: `a=127.0.0.1:${a},b=127.0.0.1:${b},c=127.0.0.1:${c}`, TENURE_MAX_TERM: '2s' });
    }
    const commands = blocks.flatMap(({ shown }) => shown.map(({ command }) => command));
    printed.push(...(await session.run(commands, env)));
  }, 240_000);

  afterAll(async () => {
    session.end();
    await cell?.end();
  });

  let first = 0;
  const cases = blocks.map(({ line, shown }) => {
    first += shown.length;
    return { line, shown, from: first - shown.length };
  });
  it.each(cases)('do what is shown from line $line on', ({ shown, from }) => {
    for (const [i, { command, output }] of shown.entries()) {
      expect(`$ ${command}\n${printed[from + i]}`).toMatch(patternOf(`$ ${command}\n${output}`));
    }
  });
});

describe('the JSON of tenure sim', () => {
  it('has the fields that docs/research/simulator.md lists', () => {
    const found = JSON.parse(tenure(['sim', 'toy', '--runs', '50', '--seed', '1', '--json']).stdout) as { violations: object[] };
    const fields = Object.keys(found).concat(Object.keys(found.violations[0] ?? {}).map((field) => `violations[].${field}`));
    expect(namesIn(sectionOf(readPage('docs/research/simulator.md'), 'JSON')).toSorted()).toEqual(fields.toSorted());
  });
});
