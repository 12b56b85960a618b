/** The tables of the pages say what the code says: no more, no less. */
import { dirname, join } from 'node:path/posix';
import { describe, expect, it } from 'vitest';
import { CHANNELS } from '../../src/api/observing/diagnostics.ts';
import { Observer } from '../../src/api/observing/observer.ts';
import { COMMON_FIELDS, HISTORY_SCHEMA, type Field } from '../../src/check/index.ts';
import * as check from '../../src/check/index.ts';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { flagOf, SETTING_KEYS, variableOf } from '../../src/cli/settings.ts';
import { ERROR_CODES } from '../../src/kernel/index.ts';
import { noFaults } from '../../src/sim/index.ts';
import { noCounts } from '../../src/sim/interest.ts';
import { QUORUM_MUTANTS } from '../../src/sim/protocols/quorum/mutants.ts';
import { readRepositoryFile, repositoryFiles } from '../support/tree.ts';
import { namesIn, readPage, rowsOf, sectionOf } from './pages.ts';

const simulator = readPage('docs/research/simulator.md');

function fieldRow(kind: string, name: string, { accepts, optional, means }: Field): string[] {
  const what = typeof accepts === 'string' ? accepts : Object.keys(accepts).join(', ');
  return [kind, name, optional ? `${what}, optional` : what, means];
}

describe('docs/research/simulator.md', () => {
  it('lists every kind of record with its meaning', () => {
    expect(rowsOf(sectionOf(simulator, 'Kinds of records'))).toEqual(
      Object.entries(HISTORY_SCHEMA).map(([kind, { means }]) => [kind, means]),
    );
  });

  it('lists every field of every record, what it accepts and what it means', () => {
    const common = Object.entries<Field>(COMMON_FIELDS).map(([name, field]) => fieldRow('every', name, field));
    const others = Object.entries(HISTORY_SCHEMA).flatMap(([kind, { fields }]) =>
      Object.entries<Field>(fields).map(([name, field]) => fieldRow(kind, name, field)),
    );
    expect(rowsOf(sectionOf(simulator, 'Fields of records'))).toEqual([...common, ...others]);
  });

  it('lists every fault', () => {
    expect(namesIn(sectionOf(simulator, 'Faults')).sort()).toEqual(Object.keys(noFaults()).sort());
  });

  it('lists all that the world counts', () => {
    expect(namesIn(sectionOf(simulator, 'Sometimes')).sort()).toEqual(Object.keys(noCounts()).sort());
  });

  it('lists every referee', () => {
    const referees = Object.keys(check).filter((name) => name.endsWith('Referee'));
    expect(namesIn(sectionOf(simulator, 'Referees')).sort()).toEqual(referees.sort());
  });
});

describe('docs/errors.md', () => {
  it('explains every error code, and no other', () => {
    const headings = [...readPage('docs/errors.md').matchAll(/^## (TENURE_\w+)$/gm)].map(([, code = '']) => code);
    expect(headings.toSorted()).toEqual(Object.keys(ERROR_CODES).sort());
  });

  it('says of each what happened and what to do', () => {
    for (const code of Object.keys(ERROR_CODES)) {
      const section = sectionOf(readPage('docs/errors.md'), code);
      expect(section).toContain('**What happened.**');
      expect(section).toContain('**What to do.**');
    }
  });
});

describe('docs/observability.md', () => {
  const page = readPage('docs/observability.md');

  it('lists every channel, and no other', () => {
    expect(namesIn(sectionOf(page, 'Channels')).toSorted()).toEqual(Object.keys(CHANNELS).toSorted());
  });

  it('lists every counter, and no other', () => {
    const counters = new Observer({ cell: 'x', node: 'a', incarnation: 1 }).counters();
    const named = namesIn(sectionOf(page, 'Counters')).flatMap((names) => names.split(', '));
    expect(named.toSorted()).toEqual(Object.keys(counters).toSorted());
    for (const reason of Object.keys(counters.refusals)) expect(page).toContain(`\`${reason}\``);
  });
});

describe('docs/cli.md', () => {
  it('lists every exit code, and no other', () => {
    const codes = namesIn(sectionOf(readPage('docs/cli.md'), 'Exit codes'));
    expect(codes.map(Number)).toEqual(Object.values(EXIT).toSorted((a, b) => a - b));
  });

  it('lists every setting with its flag and its variable', () => {
    const rows = rowsOf(sectionOf(readPage('docs/cli.md'), 'Finding the cell')).map((row) => row.slice(0, 3));
    expect(rows).toEqual(SETTING_KEYS.map((key) => [key, flagOf(key), variableOf(key)]));
  });
});

describe('docs/research/divergence/quorum.md', () => {
  const page = readPage('docs/research/divergence/quorum.md');

  it('says truly where in the code things are', () => {
    const places = [...page.matchAll(/^Where: (.+)$/gm)].flatMap(([, list = '']) => [
      ...list.matchAll(/`([\w/.-]+\.ts)`(?: \(([^)]*)\))?/g),
    ]);
    expect(places.length).toBeGreaterThan(20);
    const missing = places.flatMap(([, file = '', names = '']) => {
      const path = /^(?:src|test)\//.test(file) ? file : `src/core/leases/quorum/${file}`;
      const text = readRepositoryFile(path);
      if (text === undefined) return [path];
      return [...names.matchAll(/`([#\w]+)`/g)].flatMap(([, name = '']) => (text.includes(name) ? [] : [`${path}: ${name}`]));
    });
    expect(missing).toEqual([]);
  });

  it('names the mutant of every rule, and no mutant that is not there', () => {
    const named = [...page.matchAll(/^Mutants?: (.+)$/gm)].flatMap(([, list = '']) =>
      [...list.matchAll(/`([\w-]+)`/g)].map(([, name = '']) => name),
    );
    expect(named.toSorted()).toEqual(QUORUM_MUTANTS.map(({ name }) => name).toSorted());
  });
});

describe('docs/architecture.md', () => {
  it('defines each word once', () => {
    const words = namesIn(sectionOf(readPage('docs/architecture.md'), 'Words')).flatMap((cell) => cell.split(', '));
    expect(words.length).toBeGreaterThan(60);
    expect(words.filter((word, at) => words.indexOf(word) < at)).toEqual([]);
  });
});

describe('the pages', () => {
  const pages = repositoryFiles().filter((path) => path.endsWith('.md'));

  it('are where comments, messages, tests and scripts say they are', () => {
    const files = repositoryFiles().filter((path) => /\.(?:ts|mjs|js|json|md|ya?ml|txt)$/.test(path) && path !== 'test/tidy.test.ts');
    const named = files.flatMap((file) =>
      [...readPage(file).matchAll(/\bdocs\/[\w/-]+\.(?:md|jsonl)\b/g)].map(([path]) => ({ file, path })),
    );
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter(({ path }) => readRepositoryFile(path) === undefined)).toEqual([]);
  });

  it.each(['docs/README.md', 'docs/research/README.md'])('%s lists every page of its folder', (index) => {
    const folder = dirname(index);
    const linked = new Set([...readPage(index).matchAll(/\]\(([^)#]+)\)/g)].map(([, link = '']) => join(folder, link)));
    const own = pages.filter((page) => page !== index && page.startsWith(`${folder}/`));
    const indexed = own.filter((page) => folder === 'docs/research' || !page.startsWith('docs/research/'));
    expect(indexed.length).toBeGreaterThan(8);
    expect(indexed.filter((page) => !linked.has(page))).toEqual([]);
  });

  it.each(pages)('%s names only files that are there', (page) => {
    const named = [...readPage(page).matchAll(/`((?:src|test|bench|scripts|docs|bin)\/[\w./-]+)`/g)].map(([, path = '']) => path);
    expect(named.filter((path) => readRepositoryFile(path) === undefined)).toEqual([]);
  });
});
