/** The figures that the pages show are those that the command draws, and the fits that the pages tell are theirs. */
import { expect, test } from 'vitest';
import { figures, type MeasuredFigure } from '../../src/sim/figures/index.ts';
import { sized } from '../support/sizes.ts';
import { elementsOf } from '../support/xml.ts';
import { readPage } from './pages.ts';

const MINUTES = 60_000;

function measured(name: string, runs?: number): MeasuredFigure {
  const kind = figures.find((figure) => figure.name === name);
  if (!kind) throw new Error(`there is no figure ${name}`);
  return kind.measure({ runs: runs ?? kind.runs, seed: 1, onProgress: () => undefined });
}

test.each(sized(['fig5'], ['fig5', 'fig8', 'fig9']))(
  '%s is drawn again, byte for byte',
  (name) => {
    expect(measured(name).svg).toBe(readPage(`docs/research/figures/${name}.svg`));
  },
  10 * MINUTES,
);

// Whoever changes what these few runs come to has changed the figures of the pages as well: they are drawn again in a campaign, and by `tenure figures`.
test('fig8 is measured as it was when the pages were written', () => {
  expect(measured('fig8', 20).lines.slice(-3)).toMatchInlineSnapshot(`
    [
      "to the letter: 6.64 + 0.29·ln n, R² = 0.7934",
      "with rule 14: 6.48 + 1.44·ln n, R² = 0.6398",
      "the paper: O(ln n)",
    ]
  `);
});

test('fig9 is measured as it was when the pages were written', () => {
  expect(measured('fig9', 2).lines.slice(-3)).toMatchInlineSnapshot(`
    [
      "to the letter: 4.79 + 9.46·n + 2.49·ln n, R² = 0.9999",
      "with rule 14: 22.82 + 13.83·n − 24.51·ln n, R² = 0.9983",
      "the paper: O(n + ln n)",
    ]
  `);
});

test.each(['fig8', 'fig9'])('docs/research/papers.md tells the fits of %s', (name) => {
  const texts = elementsOf(readPage(`docs/research/figures/${name}.svg`)).map(({ text }) => text);
  const fits = texts.flatMap((text) => /^[^:]+: (.*R² = [\d.]+)$/.exec(text)?.[1] ?? []);
  expect(fits.length).toBe(2);
  for (const fit of fits) expect(readPage('docs/research/papers.md')).toContain(`| ${fit} |`);
});

test('docs/research/papers.md tells the counts of fig5', () => {
  const page = readPage('docs/research/papers.md');
  const { lines } = measured('fig5', 1);
  const counts = lines.flatMap((line) => /^(?:FastCT|\[CT96\]).*?((?: +\d+){5})$/.exec(line)?.[1]?.trim().split(/ +/) ?? []);
  expect(counts.length).toBe(8 * 5);
  for (let row = 0; row < 8; row++) expect(page).toContain(` | ${counts.slice(5 * row, 5 * row + 5).join(' | ')} |`);
});
