/** The figures of the papers that can be measured anew: their only list. */
import type { FigureKind } from './figure.ts';
import { fig5 } from './lease-steps.ts';
import { fig8, fig9 } from './storage-delays.ts';

export type { FigureKind, MeasuredFigure } from './figure.ts';

export const figures: readonly FigureKind[] = [fig5, fig8, fig9];
