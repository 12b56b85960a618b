/** Every "cannot" of docs/security.md names tests and attacks that are there. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../support/tree.ts';
import { readPage } from './pages.ts';

const page = readPage('docs/security.md');

it('names for every "cannot" the test that shows it, and only tests that are there', () => {
  const tables = page.split(/^\| It cannot .*$/m).slice(1);
  const rows = tables.flatMap((table) => (table.split('\n\n')[0] ?? '').split('\n').filter((line) => line.startsWith('| ')));
  expect(rows.length).toBeGreaterThan(15);
  expect(rows.filter((row) => !(row.split('|').at(-2) ?? '').includes('`test/'))).toEqual([]);
  const named = [...page.matchAll(/`(test\/[\w./-]+)`/g)].map(([, path = '']) => path);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  const attacks = [...page.matchAll(/`npm run attack -- ([\w-]+)`/g)].map(([, name = '']) => `bench/attacks/${name}.mjs`);
  expect(attacks.length).toBeGreaterThan(5);
  expect(attacks.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});
