/** What a figure of a paper is here: measured anew with the product's own cores, as data, as text and as a picture. */

export interface FigureOptions {
  /** How many runs each point is the mean of; at least 2. */
  readonly runs: number;
  /** The same seed gives the same figure, byte for byte. */
  readonly seed: number;
  /** Is told now and then which part of the work is done, from 0 to 1. */
  readonly onProgress: (part: number) => void;
}

export interface MeasuredFigure {
  /** What `--json` prints of it. */
  readonly data: object;
  /** The same as a table for people. */
  readonly lines: readonly string[];
  readonly svg: string;
}

export interface FigureKind {
  /** As `--only` has it. */
  readonly name: string;
  readonly summary: string;
  /** Runs a point, unless told otherwise. */
  readonly runs: number;
  measure(options: FigureOptions): MeasuredFigure;
}
