/** The figures that the pages show are those that the command draws, and the fits that the pages tell are theirs. */
import { expect, test } from 'vitest';
import { figures } from '../../src/sim/figures/index.ts';
import { elementsOf } from '../support/xml.ts';
import { readPage } from './pages.ts';

const MINUTES = 60_000;

test.each(figures.map(({ name }) => name))(
  '%s is drawn again, byte for byte',
  (name) => {
    const kind = figures.find((figure) => figure.name === name);
    const again = kind?.measure({ runs: kind.runs, seed: 1, onProgress: () => undefined });
    expect(again?.svg).toBe(readPage(`docs/research/figures/${name}.svg`));
  },
  10 * MINUTES,
);

test.each(['fig8', 'fig9'])('docs/research/papers.md tells the fits of %s', (name) => {
  const texts = elementsOf(readPage(`docs/research/figures/${name}.svg`)).map(({ text }) => text);
  const fits = texts.flatMap((text) => /^[^:]+: (.*R² = [\d.]+)$/.exec(text)?.[1] ?? []);
  expect(fits.length).toBe(2);
  for (const fit of fits) expect(readPage('docs/research/papers.md')).toContain(`| ${fit} |`);
});

test('docs/research/papers.md tells the counts of fig5', () => {
  const page = readPage('docs/research/papers.md');
  const { lines } = figures.find(({ name }) => name === 'fig5')?.measure({ runs: 1, seed: 1, onProgress: () => undefined }) ?? {
    lines: [],
  };
  const counts = lines.flatMap((line) => /^(?:FastCT|\[CT96\]).*?((?: +\d+){5})$/.exec(line)?.[1]?.trim().split(/ +/) ?? []);
  expect(counts.length).toBe(8 * 5);
  for (let row = 0; row < 8; row++) expect(page).toContain(` | ${counts.slice(5 * row, 5 * row + 5).join(' | ')} |`);
});
