/** The list of `npm run mutate` stays true: every patch fits its file in one place, and names tests that exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readRepositoryFile, ROOT } from '../support/tree.ts';

interface Mutation {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly breaks: string;
  readonly tests: readonly string[];
  readonly title?: string;
  readonly build?: boolean;
  readonly explained?: string;
}

const KEYS = ['name', 'file', 'find', 'replace', 'breaks', 'tests', 'title', 'build', 'explained'];
const folder = join(ROOT, 'test/mutations');
const mutations = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Mutation[]);

test('names are given once', () => {
  const names = mutations.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

describe('a patch fits in one place:', () => {
  test.each(mutations)('$name', (mutation) => {
    const { file, find, replace, tests, breaks } = mutation;
    expect(Object.keys(mutation).filter((key) => !KEYS.includes(key))).toEqual([]);
    expect((readRepositoryFile(file) ?? '').split(find).length - 1, `${file}: ${find}`).toBe(1);
    expect(replace).not.toBe(find);
    expect(breaks).not.toBe('');
    expect(tests.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    expect(tests.length).toBeGreaterThan(0);
  });
});
