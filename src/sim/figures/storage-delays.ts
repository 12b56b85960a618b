/**
 * Figures 8 and 9 of the storage paper: how long it takes until the first of n clients has the lease, and until all of them had it. Measured with
 * the paper to the letter, and once more with rule 14, which voids an attempt whose accesses were late.
 */
import { deriveSeed } from '../../kernel/index.ts';
import { ACCESS_US, runContention, type ContentionPlan } from './contention.ts';
import type { FigureKind, FigureOptions, MeasuredFigure } from './figure.ts';
import { curveAt, fitCurve, type CurveFit, type CurveTerm } from './least-squares.ts';
import { ln } from './logarithm.ts';
import { renderPlot, type Plot } from './plot.ts';
import { meanOf, type SampleMean } from './sample.ts';

type Variant = ContentionPlan['variant'];

/** What the two figures differ in. */
interface DelayFigure {
  readonly name: string;
  readonly what: string;
  readonly until: ContentionPlan['until'];
  readonly runs: number;
  /** How the work of a run grows with n: for a progress that is not all in the last tenth. */
  readonly work: (n: number) => number;
  readonly formula: string;
  readonly terms: readonly { readonly text: string; readonly at: CurveTerm }[];
  readonly claim: string;
  readonly xAxis: Plot['xAxis'];
}

interface DelayPoint extends SampleMean {
  readonly n: number;
}

interface DelaySeries {
  readonly points: readonly DelayPoint[];
  readonly fit: CurveFit;
}

const LABELS: Readonly<Record<Variant, string>> = { letter: 'to the letter', 'rule 14': 'with rule 14' };
const COLUMN = 16;

/** How many clients there are. */
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256];

const ONE = { text: '', at: () => 1 };
const LINEAR = { text: '·n', at: (n: number) => n };
const LOGARITHM = { text: '·ln n', at: ln };

export const fig8: FigureKind = delayFigure({
  name: 'fig8',
  what: 'delay until the first client has the lease',
  until: 'first',
  runs: 500,
  work: (n) => n,
  formula: 'a + b·ln n',
  terms: [ONE, LOGARITHM],
  claim: 'O(ln n)',
  xAxis: 'doubling',
});

export const fig9: FigureKind = delayFigure({
  name: 'fig9',
  what: 'delay until all clients have had the lease',
  until: 'all',
  runs: 50,
  work: (n) => n * n,
  formula: 'a + b·n + c·ln n',
  terms: [ONE, LINEAR, LOGARITHM],
  claim: 'O(n + ln n)',
  xAxis: 'linear',
});

function delayFigure(figure: DelayFigure): FigureKind {
  const { name, what, runs } = figure;
  return { name, runs, summary: `storage paper, Figure ${name.slice(3)}: ${what}`, measure: (options) => measure(figure, options) };
}

function measure(figure: DelayFigure, options: FigureOptions): MeasuredFigure {
  const { runs, seed, onProgress } = options;
  const half = (first: number) => (part: number) => onProgress(first + part / 2);
  const letter = measureSeries(figure, 'letter', { ...options, onProgress: half(0) });
  const rule14 = measureSeries(figure, 'rule 14', { ...options, onProgress: half(0.5) });
  return {
    data: { ...inJson(figure, letter), rule14: inJson(figure, rule14), claim: figure.claim, runs, seed },
    lines: inLines(figure, letter, rule14, options),
    svg: renderPlot(asPlot(figure, letter, rule14, options)),
  };
}

function measureSeries(figure: DelayFigure, variant: Variant, { runs, seed, onProgress }: FigureOptions): DelaySeries {
  const { work, until } = figure;
  const workInAll = SIZES.reduce((sum, n) => sum + work(n), 0);
  let done = 0;
  const points = SIZES.map((n): DelayPoint => {
    const sizeSeed = deriveSeed(seed, n);
    const delays: number[] = [];
    for (let run = 0; run < runs; run++) {
      const grantedUs = runContention({ clients: n, variant, until, seed: deriveSeed(sizeSeed, run) });
      delays.push((grantedUs.at(-1) as number) / ACCESS_US);
      done += work(n) / runs;
      onProgress(done / workInAll);
    }
    return { n, ...meanOf(delays) };
  });
  const places = points.map(({ n, mean }) => ({ x: n, y: mean }));
  return { points, fit: fitCurve(places, curveTerms(figure)) };
}

function inJson({ formula, terms }: DelayFigure, { points, fit }: DelaySeries): object {
  const letters = terms.map((_, index) => ['abc'[index] as string, rounded(fit.coefficients[index] as number)] as const);
  return {
    points: points.map(({ n, mean, ci95 }) => ({ n, mean: rounded(mean), ci95: rounded(ci95) })),
    fit: { formula, ...Object.fromEntries(letters), r2: rounded(fit.r2) },
  };
}

function inLines(figure: DelayFigure, letter: DelaySeries, rule14: DelaySeries, { runs, seed }: FigureOptions): string[] {
  const row = (...cells: readonly string[]): string => cells.map((cell, index) => cell.padStart(index === 0 ? 6 : COLUMN)).join('  ');
  const cell = ({ mean, ci95 }: DelayPoint): string => `${mean.toFixed(2)} ± ${ci95.toFixed(2)}`;
  return [
    `${figure.name}: ${figure.what}, in mean access times (${runs} runs a point, seed ${seed}, 95% intervals)`,
    row('n', LABELS.letter, LABELS['rule 14']),
    ...letter.points.map((point, index) => row(String(point.n), cell(point), cell(rule14.points[index] as DelayPoint))),
    `${LABELS.letter}: ${formulaOf(figure, letter.fit)}`,
    `${LABELS['rule 14']}: ${formulaOf(figure, rule14.fit)}`,
    `the paper: ${figure.claim}`,
  ];
}

function asPlot(figure: DelayFigure, letter: DelaySeries, rule14: DelaySeries, { runs, seed }: FigureOptions): Plot {
  const series = (label: string, { points, fit }: DelaySeries): Plot['series'][number] => ({
    label: `${label}: ${formulaOf(figure, fit)}`,
    points: points.map(({ n, mean, ci95 }) => ({ x: n, y: mean, plusMinus: ci95 })),
    curve: (n) => curveAt(fit.coefficients, curveTerms(figure), n),
  });
  return {
    title: `Figure ${figure.name.slice(3)}: ${figure.what}`,
    xLabel: 'n, clients that contend at the same time',
    yLabel: 'delay, in mean access times',
    xAxis: figure.xAxis,
    series: [series('the paper to the letter', letter), series('the same with rule 14', rule14)],
    caption: [
      `Curves are least-squares fits of ${figure.formula}. Chockler and Malkhi say of their own measurements: ${figure.claim}.`,
      'Access times are exponential with mean 1; δ = 2, Δ = 1. Rule 14 voids an attempt whose accesses were late.',
      `Each point is the mean of ${runs} runs, with its 95% interval; seed ${seed}.`,
    ],
  };
}

function curveTerms({ terms }: DelayFigure): readonly CurveTerm[] {
  return terms.map(({ at }) => at);
}

/** `5.96 + 1.31·ln n, R² = 0.9987`. */
function formulaOf({ terms }: DelayFigure, { coefficients, r2 }: CurveFit): string {
  const sum = terms.reduce((text, term, index) => {
    const value = coefficients[index] as number;
    const sign = value < 0 ? '−' : index > 0 ? '+' : '';
    return `${text}${index > 0 ? ` ${sign} ` : sign}${Math.abs(value).toFixed(2)}${term.text}`;
  }, '');
  return `${sum}, R² = ${r2.toFixed(4)}`;
}

/** Six digits behind the point: more were noise. */
function rounded(value: number): number {
  return Math.round(value * 1_000_000) / 1_000_000;
}
