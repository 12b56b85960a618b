/** A view of a cell as its callers see it. */
import type { View, ViewConfig } from '../../core/index.ts';
import { readMemberText, viewText } from './membership.ts';

export interface CellViewMember {
  readonly id: string;
  readonly address: string;
  /** It keeps it for as long as it is a member. */
  readonly number: number;
}

/** One side of a view. */
export interface CellViewSide {
  readonly members: readonly CellViewMember[];
  /** How many members vote on a name. */
  readonly replication: number;
  readonly maxTermMs: number;
  readonly rateError: number;
}

/** The members of a cell, and its terms. */
export interface CellView extends CellViewSide {
  /** Rises by one from view to view; 0 is what the cell was set up with. */
  readonly epoch: number;
  /** Two views of one epoch differ in it. */
  readonly id: number;
  /** While a change is under way: what the cell comes from. */
  readonly before: CellViewSide | null;
  /** All of it, for `joinCell({ view })`. */
  readonly text: string;
}

export function tellView(view: View): CellView {
  const { epoch, id, cur, old } = view;
  return { epoch, id, ...tellSide(cur), before: old && tellSide(old), text: viewText(view) };
}

function tellSide({ members, replication, maxTermUs, rateErrorPpm }: ViewConfig): CellViewSide {
  return {
    members: members.map(({ number, text }) => ({ ...readMemberText(text), number })),
    replication,
    maxTermMs: maxTermUs / 1000,
    rateError: rateErrorPpm / 1_000_000,
  };
}
