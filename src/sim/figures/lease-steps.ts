/** Figure 5 of the paper on asynchronous leasing: how many communication steps a hundred instances take, by the size λ of leases; and what the paper leaves out: one instance alone, crashes, adaptive λ, asking ahead. */
import type { LambdaChoice } from '../../core/index.ts';
import { countSteps, type StepsPlan } from './consensus-steps.ts';
import type { FigureKind, FigureOptions, MeasuredFigure } from './figure.ts';
import { renderPlot, type Plot } from './plot.ts';

const LAMBDAS = [1, 10, 20, 50, 100] as const;
const INSTANCES = 100;
/** Where there are crashes: the leader of the moment, before each of these instances. */
const CRASHES = [34, 67] as const;

interface Measured {
  readonly ct96: number;
  readonly ct96WithCrashes: number;
  readonly fastct: readonly number[];
  /** [cn, cn+λ]: Figure 4 to the letter. */
  readonly literal: readonly number[];
  readonly asksAhead: readonly number[];
  /** λ is the largest size. */
  readonly adaptive: readonly number[];
  readonly fastctWithCrashes: readonly number[];
  readonly adaptiveWithCrashes: readonly number[];
  readonly alone: { readonly fastct: number; readonly ct96: number; readonly shortcut: number };
}

export const fig5: FigureKind = {
  name: 'fig5',
  summary: 'interval paper, Figure 5: communication steps of 100 instances of consensus',
  // Nothing is drawn at random: one run is all runs.
  runs: 1,
  measure: ({ onProgress }: FigureOptions): MeasuredFigure => {
    const measured = measureAll(onProgress);
    return { data: inJson(measured), lines: inLines(measured), svg: renderPlot(asPlot(measured)) };
  },
};

type Algorithm = StepsPlan['algorithm'];

function fastCt(lambda: LambdaChoice, more: { isLiteralInterval?: boolean; asksAhead?: boolean } = {}): Algorithm {
  return { kind: 'fastct', lambda, isLiteralInterval: false, asksAhead: false, ...more };
}

function fixed(size: number): LambdaChoice {
  return { kind: 'fixed', size };
}

function adaptive(max: number): LambdaChoice {
  return { kind: 'adaptive', max, isOptimistic: false };
}

function total(algorithm: Algorithm, crashesBefore: readonly number[] = []): number {
  return countSteps({ algorithm, instances: INSTANCES, crashesBefore }).reduce((sum, steps) => sum + steps, 0);
}

function alone(algorithm: Algorithm): number {
  return countSteps({ algorithm, instances: 1, crashesBefore: [] })[0] as number;
}

function measureAll(onProgress: (part: number) => void): Measured {
  const series = [
    (size: number) => total(fastCt(fixed(size))),
    (size: number) => total(fastCt(fixed(size), { isLiteralInterval: true })),
    (size: number) => total(fastCt(fixed(size), { asksAhead: true })),
    (size: number) => total(fastCt(adaptive(size))),
    (size: number) => total(fastCt(fixed(size)), CRASHES),
    (size: number) => total(fastCt(adaptive(size)), CRASHES),
  ].map((measure, index, all) => {
    const counts = LAMBDAS.map(measure);
    onProgress((index + 1) / all.length);
    return counts;
  });
  const [fastct = [], literal = [], asksAhead = [], adapted = [], fastctWithCrashes = [], adaptiveWithCrashes = []] = series;
  const ct96: Algorithm = { kind: 'ct96', shortcut: false };
  return {
    ct96: total(ct96),
    ct96WithCrashes: total(ct96, CRASHES),
    fastct,
    literal,
    asksAhead,
    adaptive: adapted,
    fastctWithCrashes,
    adaptiveWithCrashes,
    alone: { fastct: alone(fastCt(fixed(1))), ct96: alone(ct96), shortcut: alone({ kind: 'ct96', shortcut: true }) },
  };
}

function inJson(measured: Measured): object {
  const { ct96, ct96WithCrashes, fastct, literal, asksAhead, adaptive: adapted, fastctWithCrashes, adaptiveWithCrashes } = measured;
  return {
    lambda: LAMBDAS,
    fastct,
    ct96: LAMBDAS.map(() => ct96),
    beyond: {
      alone: measured.alone,
      literal,
      asksAhead,
      adaptive: adapted,
      crashes: { before: CRASHES, fastct: fastctWithCrashes, adaptive: adaptiveWithCrashes, ct96: ct96WithCrashes },
    },
  };
}

const LABEL_WIDTH = 34;

function inLines(measured: Measured): string[] {
  const row = (label: string, cells: readonly (number | string)[]): string =>
    [label.padEnd(LABEL_WIDTH), ...cells.map((cell) => String(cell).padStart(5))].join('');
  const { alone: one } = measured;
  const repeated = (count: number): number[] => LAMBDAS.map(() => count);
  return [
    `fig5: communication steps of ${INSTANCES} instances of consensus in a stable period`,
    row('λ', LAMBDAS),
    row('FastCT', measured.fastct),
    row('[CT96]', repeated(measured.ct96)),
    row('FastCT, leases of [cn, cn+λ]', measured.literal),
    row('FastCT, the next lease asked ahead', measured.asksAhead),
    row('FastCT, adaptive up to λ', measured.adaptive),
    `with a crash of the leader before instances ${CRASHES.join(' and ')}:`,
    row('FastCT', measured.fastctWithCrashes),
    row('FastCT, adaptive up to λ', measured.adaptiveWithCrashes),
    row('[CT96]', repeated(measured.ct96WithCrashes)),
    `one instance alone: FastCT ${one.fastct}, [CT96] ${one.ct96}, with its shortcut ${one.shortcut}`,
    'the paper: FastCT 500, 320, 310, 304, 302; [CT96] 400',
  ];
}

function asPlot({ fastct, ct96 }: Measured): Plot {
  const points = (counts: readonly number[]): Plot['series'][number]['points'] =>
    LAMBDAS.map((x, index) => ({ x, y: counts[index] as number, plusMinus: 0 }));
  const known = LAMBDAS.map((x, index) => [x, fastct[index] as number] as const);
  return {
    title: 'Figure 5: steps of 100 instances of consensus in a stable period',
    xLabel: 'λ, instances of one lease',
    yLabel: 'communication steps',
    xAxis: 'linear',
    series: [
      { label: `FastCT: ${fastct.join(', ')}`, points: points(fastct), curve: (x) => between(known, x) },
      { label: `[CT96]: ${ct96}`, points: points(LAMBDAS.map(() => ct96)), curve: () => ct96 },
    ],
    caption: [
      'Counted on simulated runs of the real cores: five members; a message takes one step, delivery to oneself none.',
      'The next instance begins when all have decided. Steps of leases count, those of the failure detector do not.',
      'Dutta, Boichat and Guerraoui calculate 500, 320, 310, 304, 302 and 400.',
    ],
  };
}

/** On the line between the points on both sides. */
function between(points: readonly (readonly [x: number, y: number])[], x: number): number {
  const after = points.findIndex(([at]) => at >= x);
  const [x1, y1] = points[Math.max(after, 1)] as readonly [number, number];
  const [x0, y0] = points[Math.max(after, 1) - 1] as readonly [number, number];
  return y0 + ((x - x0) / (x1 - x0)) * (y1 - y0);
}
