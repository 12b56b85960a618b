/**
 * Every command line in a `console` block of the pages is run. What it prints must be what the page shows, where `…` stands for
 * anything on that line and a line with nothing but `…` for any number of lines. `echo $?` shows the exit code.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { blocksOf, namesIn, readPage, sectionOf } from './pages.ts';
import { ROOT } from '../support/tree.ts';

const folder = mkdtempSync(join(tmpdir(), 'tenure-console-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Shown {
  readonly command: string;
  readonly output: string;
}

function shownIn(block: string): Shown[] {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf('\n');
      return { command: part.slice(0, end), output: part.slice(end + 1) };
    });
}

function patternOf(output: string): RegExp {
  const lines = output.split('\n').slice(0, -1);
  const patterns = lines.map((line) =>
    line === '…' ? '(?:.*\n)*' : `${line.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll('…', '.*')}\n`,
  );
  return new RegExp(`^${patterns.join('')}$`);
}

function tenure(args: readonly string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'bin', 'tenure.js'), ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, output: `${stdout}${stderr}` };
}

/** Knows one program, and `echo $?`. */
class Shell {
  #status: number | null = null;

  run(command: string): string {
    if (command === 'echo $?') return `${this.#status}\n`;
    const [program, ...args] = command.split(' ');
    if (program !== 'tenure') return `no such program: ${program}\n`;
    const { status, output } = tenure(args);
    this.#status = status;
    return output;
  }
}

describe.each(['README.md', 'docs/cli.md', 'docs/explorer.md', 'docs/simulator.md', 'docs/scripts.md', 'docs/errors.md'])(
  'the commands of %s',
  (page) => {
    const blocks = blocksOf(readPage(page)).filter(({ language }) => language === 'console');

    it.each(blocks)('do what is shown from line $line on', { timeout: 120_000 }, ({ text }) => {
      const shell = new Shell();
      for (const { command, output } of shownIn(text))
        expect(`$ ${command}\n${shell.run(command)}`).toMatch(patternOf(`$ ${command}\n${output}`));
    });
  },
);

describe('the JSON of tenure sim', () => {
  it('has the fields that docs/simulator.md lists', () => {
    const found = JSON.parse(tenure(['sim', 'toy', '--runs', '50', '--seed', '1', '--json']).output) as { violations: object[] };
    const fields = Object.keys(found).concat(Object.keys(found.violations[0] ?? {}).map((field) => `violations[].${field}`));
    expect(namesIn(sectionOf(readPage('docs/simulator.md'), 'JSON')).toSorted()).toEqual(fields.toSorted());
  });
});
