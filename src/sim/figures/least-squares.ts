/** Curves through measured points: y as a sum of given terms, by least squares, and how much of the variation that explains. */
import { invariant } from '../../kernel/index.ts';

export interface CurveFit {
  /** One for each term. */
  readonly coefficients: readonly number[];
  /** 1 − (squares of what the curve misses) / (squares of the differences from the mean). */
  readonly r2: number;
}

export type CurveTerm = (x: number) => number;

/** Needs at least as many points of different x as terms. */
export function fitCurve(points: readonly { readonly x: number; readonly y: number }[], terms: readonly CurveTerm[]): CurveFit {
  const columns = terms.map((term) => points.map(({ x }) => term(x)));
  const ys = points.map(({ y }) => y);
  const matrix = columns.map((a) => [...columns.map((b) => dot(a, b)), dot(a, ys)]);
  const coefficients = solve(matrix);
  const mean = ys.reduce((sum, y) => sum + y, 0) / ys.length;
  const missed = points.map(({ x, y }) => y - curveAt(coefficients, terms, x));
  const around = ys.map((y) => y - mean);
  return { coefficients, r2: 1 - dot(missed, missed) / dot(around, around) };
}

export function curveAt(coefficients: readonly number[], terms: readonly CurveTerm[], x: number): number {
  return terms.reduce((sum, term, index) => sum + (coefficients[index] as number) * term(x), 0);
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] as number), 0);
}

/** Gaussian elimination with the largest pivot. Each row ends with its right-hand side. */
function solve(matrix: number[][]): number[] {
  const size = matrix.length;
  const at = (row: number, column: number): number => (matrix[row] as number[])[column] as number;
  for (let column = 0; column < size; column++) {
    let best = column;
    for (let row = column + 1; row < size; row++) if (Math.abs(at(row, column)) > Math.abs(at(best, column))) best = row;
    [matrix[column], matrix[best]] = [matrix[best] as number[], matrix[column] as number[]];
    invariant(Math.abs(at(column, column)) > 1e-9, 'too few points for so many terms');
    for (let row = 0; row < size; row++) {
      if (row === column) continue;
      const factor = at(row, column) / at(column, column);
      matrix[row] = (matrix[row] as number[]).map((value, index) => value - factor * at(column, index));
    }
  }
  return matrix.map((row, index) => (row[size] as number) / (row[index] as number));
}
