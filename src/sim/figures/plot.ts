/**
 * A plot as an SVG: measured points with their intervals, a curve through each series, axes, a legend and a caption. It is readable on light
 * and on dark pages: the picture has its own background and follows the reader's preference. Series differ in colour and in shape.
 */
import { invariant } from '../../kernel/index.ts';
import type { Axis } from './axis.ts';
import { doublingAxis, linearAxis } from './axis.ts';
import { escaped, svgElement, svgPath, svgText } from './svg.ts';

interface PlotSeries {
  readonly label: string;
  readonly points: readonly { readonly x: number; readonly y: number; readonly plusMinus: number }[];
  readonly curve: (x: number) => number;
}

export interface Plot {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  /** `doubling`: 1, 2, 4 … at even distances. */
  readonly xAxis: 'linear' | 'doubling';
  /** At most two: there are as many colours and shapes. */
  readonly series: readonly PlotSeries[];
  /** Lines below the plot. */
  readonly caption: readonly string[];
}

const WIDTH = 840;
const LEFT = 62;
const RIGHT = WIDTH - 26;
const TEXT_X = LEFT - 38;
const TOP = 134;
const BOTTOM = 464;
const CAPTION_Y = BOTTOM + 78;
const LINE_HEIGHT = 20;
const X_TICKS = 8;
const Y_TICKS = 10;
/** Above the plot, where no point can be. */
const LEGEND = { x: TEXT_X, y: 58, lineHeight: 24 };
/** Half as wide as the bar across the end of an interval. */
const CAP = 6;
const MARKER = 3.6;
/** What fits the picture, also in a wide font: more would be cut off. */
const CHARACTERS_MAX = { title: 68, caption: 116 };

const STYLE = [
  'text{font:14px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:#1b1f24}',
  '.title{font-size:18px;font-weight:600}',
  '.quiet{fill:#57606a;font-size:13px}',
  '.page{fill:#fff}',
  '.grid{stroke:#e4e7eb}',
  '.axis{stroke:#8c959f}',
  '.s0,.s1{fill:none;stroke-width:2}',
  '.s0{stroke:#0b62c4}.s1{stroke:#bc4c00;stroke-dasharray:7 4}',
  '.b0{stroke:#0b62c4;fill:#fff}.b1{stroke:#bc4c00;fill:#fff}.b0,.b1{stroke-width:1.6}',
  '@media (prefers-color-scheme:dark){',
  'text{fill:#e6edf3}.quiet{fill:#9da7b3}.page{fill:#0d1117}.grid{stroke:#262c36}.axis{stroke:#6e7681}',
  '.s0{stroke:#6cb0ff}.s1{stroke:#ffa657}.b0{stroke:#6cb0ff;fill:#0d1117}.b1{stroke:#ffa657;fill:#0d1117}',
  '}',
].join('\n');

export function renderPlot(plot: Plot): string {
  invariant(plot.title.length <= CHARACTERS_MAX.title, 'the title of a plot is wider than the plot');
  invariant(
    plot.caption.every((line) => line.length <= CHARACTERS_MAX.caption),
    'a line below a plot is wider than the plot',
  );
  const height = CAPTION_Y + plot.caption.length * LINE_HEIGHT;
  const xMax = largest(plot.series.flatMap(({ points }) => points.map(({ x }) => x)));
  const yMax = largest(plot.series.flatMap(({ points }) => points.map(({ y, plusMinus }) => y + plusMinus)));
  const ends = { from: LEFT, to: RIGHT };
  const x = plot.xAxis === 'doubling' ? doublingAxis(xMax, ends) : linearAxis(xMax, X_TICKS, ends);
  const y = linearAxis(yMax, Y_TICKS, { from: BOTTOM, to: TOP });
  const parts = [
    `<title>${escaped(plot.title)}</title>`,
    `<desc>${escaped([...plot.series.map(({ label }) => label), ...plot.caption].join(' '))}</desc>`,
    `<style>\n${STYLE}\n</style>`,
    svgElement('rect', { class: 'page', width: WIDTH, height }),
    svgText(TEXT_X, 30, plot.title, { class: 'title' }),
    ...drawAxes(plot, x, y),
    ...plot.series.map((series, index) => drawCurve(series, index, x, y)),
    ...plot.series.flatMap(({ points }, index) => points.flatMap((point) => drawPoint(point, index, x, y))),
    ...plot.series.flatMap(({ label }, index) => drawLegend(label, index)),
    ...plot.caption.map((line, index) => svgText(TEXT_X, CAPTION_Y + index * LINE_HEIGHT, line, { class: 'quiet' })),
  ];
  const attributes = { xmlns: 'http://www.w3.org/2000/svg', viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, role: 'img' };
  return `${svgElement('svg', attributes, parts)}\n`;
}

function drawAxes({ xLabel, yLabel }: Plot, x: Axis, y: Axis): string[] {
  return [
    ...y.ticks.flatMap((tick) => [
      svgElement('line', { class: 'grid', x1: LEFT, x2: RIGHT, y1: y.place(tick), y2: y.place(tick) }),
      svgText(LEFT - 9, y.place(tick) + 5, String(tick), { 'text-anchor': 'end' }),
    ]),
    ...x.ticks.flatMap((tick) => [
      svgElement('line', { class: 'axis', x1: x.place(tick), x2: x.place(tick), y1: BOTTOM, y2: BOTTOM + 5 }),
      svgText(x.place(tick), BOTTOM + 22, String(tick), { 'text-anchor': 'middle' }),
    ]),
    svgElement('line', { class: 'axis', x1: LEFT, x2: RIGHT, y1: BOTTOM, y2: BOTTOM }),
    svgElement('line', { class: 'axis', x1: LEFT, x2: LEFT, y1: TOP, y2: BOTTOM }),
    svgText(TEXT_X, TOP - 14, yLabel, { class: 'quiet' }),
    svgText((LEFT + RIGHT) / 2, BOTTOM + 44, xLabel, { class: 'quiet', 'text-anchor': 'middle' }),
  ];
}

function drawCurve({ points, curve }: PlotSeries, index: number, x: Axis, y: Axis): string {
  const xs = points.map((point) => point.x);
  const places = x.between(-largest(xs.map((value) => -value)), largest(xs)).map((at) => [x.place(at), y.place(curve(at))] as const);
  return svgPath(places, { class: `s${index}` });
}

function drawPoint(point: PlotSeries['points'][number], index: number, x: Axis, y: Axis): string[] {
  const at = x.place(point.x);
  // Nothing that is drawn here can be below 0.
  const [low, high] = [y.place(Math.max(0, point.y - point.plusMinus)), y.place(point.y + point.plusMinus)];
  const name = `b${index}`;
  return [
    svgElement('line', { class: name, x1: at, x2: at, y1: low, y2: high }),
    ...[low, high].map((end) => svgElement('line', { class: name, x1: at - CAP, x2: at + CAP, y1: end, y2: end })),
    drawMarker(at, y.place(point.y), index),
  ];
}

function drawMarker(x: number, y: number, index: number): string {
  if (index === 0) return svgElement('circle', { class: 'b0', cx: x, cy: y, r: MARKER });
  return svgElement('rect', { class: 'b1', x: x - MARKER, y: y - MARKER, width: 2 * MARKER, height: 2 * MARKER });
}

function drawLegend(label: string, index: number): string[] {
  const y = LEGEND.y + index * LEGEND.lineHeight;
  return [
    svgElement('line', { class: `s${index}`, x1: LEGEND.x, x2: LEGEND.x + 36, y1: y, y2: y }),
    drawMarker(LEGEND.x + 18, y, index),
    svgText(LEGEND.x + 46, y + 5, label),
  ];
}

function largest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), -Infinity);
}
