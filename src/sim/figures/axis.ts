/** From numbers to places along an axis, and the numbers that are written beside it. */
import { ln } from './logarithm.ts';

export interface Axis {
  readonly place: (value: number) => number;
  /** Round numbers, to be written beside it. */
  readonly ticks: readonly number[];
  /** Numbers from `low` to `high`, close enough to each other for a curve. */
  readonly between: (low: number, high: number) => readonly number[];
}

/** Where an axis begins and ends on the picture. */
export interface AxisEnds {
  readonly from: number;
  readonly to: number;
}

/** How much longer an axis is than its curves. */
const ROOM = 1.04;
const CURVE_PARTS = 120;
/** The eighth root of 2: eight steps double a number. */
const EIGHTH_OF_DOUBLING = 1.0905077326652577;
/** Of the length of an axis, before 1 and after the last doubling. */
const DOUBLING_MARGIN = 0.03;

/** From 0 to a little more than `max`, with about as many round numbers as are wanted. */
export function linearAxis(max: number, wanted: number, { from, to }: AxisEnds): Axis {
  const end = max * ROOM;
  const step = roundStep(end / wanted);
  return {
    place: (value) => from + (value / end) * (to - from),
    ticks: Array.from({ length: Math.floor(end / step) + 1 }, (_, index) => index * step),
    between: (low, high) => Array.from({ length: CURVE_PARTS + 1 }, (_, index) => low + ((high - low) * index) / CURVE_PARTS),
  };
}

/** From 1 to `max`, a power of two: each doubling is as long as the others. */
export function doublingAxis(max: number, { from, to }: AxisEnds): Axis {
  const margin = (to - from) * DOUBLING_MARGIN;
  const ticks = [1];
  while ((ticks.at(-1) as number) < max) ticks.push((ticks.at(-1) as number) * 2);
  const perUnit = (to - from - 2 * margin) / ln(Math.max(2, max));
  return { place: (value) => from + margin + ln(value) * perUnit, ticks, between: stepsOfDoubling };
}

function stepsOfDoubling(low: number, high: number): number[] {
  const steps: number[] = [];
  for (let value = low; value < high; value *= EIGHTH_OF_DOUBLING) steps.push(value);
  return [...steps, high];
}

/** The least of 1, 2, 5, 10, 20, 50 … that is not below. */
function roundStep(least: number): number {
  let decade = 1;
  while (decade * 10 <= least) decade *= 10;
  while (decade > least) decade /= 10;
  return ([1, 2, 5].find((times) => times * decade >= least) ?? 10) * decade;
}
