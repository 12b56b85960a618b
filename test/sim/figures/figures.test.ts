import { describe, expect, test } from 'vitest';
import { figures, type MeasuredFigure } from '../../../src/sim/figures/index.ts';
import { renderPlot, type Plot } from '../../../src/sim/figures/plot.ts';
import { elementsOf } from '../../support/xml.ts';

interface Series {
  readonly points: readonly { readonly n: number; readonly mean: number; readonly ci95: number }[];
  readonly fit: Readonly<Record<string, number | string>>;
}

function measured(name: string, seed: number): MeasuredFigure {
  const figure = figures.find((one) => one.name === name);
  if (!figure) throw new Error(`no ${name}`);
  return figure.measure({ runs: 2, seed, onProgress: () => undefined });
}

describe.each(['fig8', 'fig9'])('%s', (name) => {
  const figure = measured(name, 3);
  const data = figure.data as Series & { readonly rule14: Series };

  test('has the points 1, 2, 4 … 128 and more, each with a mean and an interval', () => {
    for (const { points } of [data, data.rule14]) {
      expect(points.slice(0, 8).map(({ n }) => n)).toEqual([1, 2, 4, 8, 16, 32, 64, 128]);
      expect(points.length).toBeGreaterThan(8);
      for (const { mean, ci95 } of points) expect([mean > 4, ci95 > 0]).toEqual([true, true]);
    }
  });

  test('has a fit with its formula, a coefficient for each term, and R²', () => {
    const letters = name === 'fig8' ? ['a', 'b'] : ['a', 'b', 'c'];
    for (const { fit } of [data, data.rule14]) expect(Object.keys(fit)).toEqual(['formula', ...letters, 'r2']);
    expect(data.fit['formula']).toBe(name === 'fig8' ? 'a + b·ln n' : 'a + b·n + c·ln n');
  });

  test('is drawn: every point, every interval, both curves, the formulas and what the paper says', () => {
    const elements = elementsOf(figure.svg);
    const count = (element: string, style: string): number =>
      elements.filter(({ name: is, attributes }) => is === element && attributes['class'] === style).length;
    const points = data.points.length;
    expect(count('circle', 'b0')).toBe(points + 1);
    expect(count('rect', 'b1')).toBe(points + 1);
    expect(count('line', 'b0')).toBe(3 * points);
    expect([count('path', 's0'), count('path', 's1')]).toEqual([1, 1]);
    const text = elements.map((element) => element.text).join('\n');
    expect(text).toMatch(/to the letter: .*·ln n, R² = \d\.\d+/);
    expect(text).toContain(name === 'fig8' ? 'O(ln n)' : 'O(n + ln n)');
  });
});

test('the same seed gives the same figure, another gives another', () => {
  const figure = measured('fig8', 3);
  expect(measured('fig8', 3)).toEqual(figure);
  expect(measured('fig8', 4).svg).not.toBe(figure.svg);
});

test('progress goes from nothing to everything and never back', () => {
  const parts: number[] = [];
  figures.find(({ name }) => name === 'fig8')?.measure({ runs: 2, seed: 1, onProgress: (part) => parts.push(part) });
  expect(parts.length).toBeGreaterThan(20);
  expect(parts.toSorted((a, b) => a - b)).toEqual(parts);
  expect(parts.at(-1)).toBeCloseTo(1, 9);
});

describe('a plot', () => {
  const points = [1, 2, 4].map((x) => ({ x, y: 10 * x, plusMinus: 3 }));
  const plot: Plot = {
    title: 'a < b & "c"',
    xLabel: 'n',
    yLabel: 'delay',
    xAxis: 'doubling',
    series: [{ label: 'one', points, curve: (x) => 10 * x }],
    caption: ['a > b'],
  };

  test('escapes what people write', () => {
    const elements = elementsOf(renderPlot(plot));
    expect(elements.find(({ name }) => name === 'title')?.text).toBe('a &lt; b &amp; &quot;c&quot;');
  });

  test.each(['doubling', 'linear'] as const)('with a %s axis keeps everything inside, and the labels of ticks apart', (xAxis) => {
    const elements = elementsOf(renderPlot({ ...plot, xAxis }));
    const [, , width = 0, height = 0] = (elements[0]?.attributes['viewBox'] ?? '').split(' ').map(Number);
    for (const { attributes } of elements) {
      for (const key of ['x', 'x1', 'x2', 'cx']) expect(Number(attributes[key] ?? 0)).toBeLessThanOrEqual(width);
      for (const key of ['y', 'y1', 'y2', 'cy']) expect(Number(attributes[key] ?? 0)).toBeLessThanOrEqual(height);
      for (const value of Object.values(attributes)) expect(value).not.toMatch(/NaN|Infinity|undefined/);
    }
    const ticks = elements.filter(
      ({ name, attributes, text }) => name === 'text' && attributes['text-anchor'] === 'middle' && /^\d+$/.test(text),
    );
    const places = ticks.map(({ attributes }) => Number(attributes['x']));
    expect(places.length).toBeGreaterThan(2);
    expect(Math.min(...places.slice(1).map((place, index) => place - (places[index] as number)))).toBeGreaterThan(30);
  });

  test('puts what is more to the right and higher up', () => {
    const circles = elementsOf(renderPlot(plot)).filter(({ name, attributes }) => name === 'circle' && attributes['class'] === 'b0');
    const places = circles.slice(0, 3).map(({ attributes }) => [Number(attributes['cx']), Number(attributes['cy'])] as const);
    const [first, second, third] = places;
    expect((second?.[0] ?? 0) - (first?.[0] ?? 0)).toBeCloseTo((third?.[0] ?? 0) - (second?.[0] ?? 0), 0);
    expect(places.map(([, y]) => y)).toEqual(places.map(([, y]) => y).toSorted((a, b) => b - a));
  });
});

test('the check of pictures notices what is not well-formed', () => {
  for (const broken of ['<svg><g></svg>', '<svg a="1" a="2"/>', '<svg>a & b</svg>', '<svg/><svg/>', '<svg', '<svg a=1/>']) {
    expect(() => elementsOf(broken)).toThrow(Error);
  }
});
