/** The picture in the README is what the script draws, and is sound SVG for light and dark pages. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readRepositoryFile } from '../support/tree.ts';

const script: string = new URL('../../scripts/picture.mjs', import.meta.url).href;
const { picture } = (await import(script)) as { picture: () => string };

test('docs/tenure.svg is what npm run docs:picture draws', () => {
  expect(readFileSync(new URL('../../docs/tenure.svg', import.meta.url), 'utf8')).toBe(picture());
});

test('the README shows it, and says in words what it shows', () => {
  expect(readRepositoryFile('README.md')).toMatch(/!\[[^\]]{40,}\]\(docs\/tenure\.svg\)/);
  expect(picture()).toContain('prefers-color-scheme: dark');
});
