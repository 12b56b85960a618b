/** The operations on registers: what each asks of the units, phase by phase, and what it comes to. Nothing here touches a unit. */
import type { Incarnation } from '../../../kernel/index.ts';
import { compareStamps, NO_STAMP, type RankedContent, type RegisterContent, type Stamp, type StampedContent } from './contents.ts';
import type { RegisterPlace } from './keys.ts';
import { foundBy, isQuorate, isRefusedAnywhere, type PhaseState } from './quorum-phase.ts';
import type { TaskWish } from './unit-tasks.ts';

/** A request to the units together. */
export type Wish =
  | { readonly kind: 'read'; readonly at: RegisterPlace }
  | { readonly kind: 'write'; readonly at: RegisterPlace; readonly value: Uint8Array | null }
  | { readonly kind: 'rank-read'; readonly at: RegisterPlace; readonly rank: Stamp }
  | { readonly kind: 'rank-write'; readonly at: RegisterPlace; readonly rank: Stamp; readonly value: Uint8Array | null }
  /** Places that begin so, at the units but one. */
  | { readonly kind: 'places'; readonly prefixes: readonly string[]; readonly without?: number }
  /** All that the units but one have of a register. */
  | { readonly kind: 'gather'; readonly place: string; readonly without: number };

export type Outcome =
  | { readonly kind: 'content'; readonly content: RegisterContent | null }
  | { readonly kind: 'done' }
  | { readonly kind: 'refused'; readonly above: Stamp }
  | { readonly kind: 'places'; readonly places: readonly string[] };

export interface Operation {
  readonly number: number;
  /** The caller's number, or the number of the venture it is a part of. */
  readonly for: { readonly op: number } | { readonly venture: number };
  readonly wish: Wish;
  /** The content put at the units in the second phase. */
  putting: StampedContent | null;
  phase: PhaseState;
}

/** The first phase of an operation. */
export function firstTask(wish: Wish): TaskWish {
  switch (wish.kind) {
    case 'read':
    case 'write':
      return { kind: 'get', place: wish.at.place };
    case 'gather':
      return { kind: 'get', place: wish.place };
    case 'places':
      return { kind: 'places', prefixes: wish.prefixes };
    case 'rank-read': {
      const content: RankedContent = { kind: 'ranked', promised: wish.rank, rank: null, value: null, name: wish.at.name };
      return { kind: 'join', place: wish.at.place, content, guard: null, thenGets: true };
    }
    default: {
      const { rank, value, at } = wish;
      const content: RankedContent = { kind: 'ranked', promised: rank, rank, value, name: at.name };
      return { kind: 'join', place: at.place, content, guard: rank, thenGets: true };
    }
  }
}

/** What follows a phase: its outcome, another content to put, or null while it is under way. */
export function afterPhase(
  operation: Operation,
  self: Incarnation,
  writesBack: boolean,
): Outcome | { readonly kind: 'put'; readonly content: StampedContent } | null {
  const { wish, phase, putting } = operation;
  if (wish.kind === 'rank-write' && isRefusedAnywhere(phase)) return { kind: 'refused', above: highestRank(phase) };
  if (!isQuorate(phase)) return null;
  if (putting !== null) return wish.kind === 'read' ? { kind: 'content', content: putting } : { kind: 'done' };
  const found = foundBy(phase);
  switch (wish.kind) {
    case 'read':
      if (found?.kind !== 'stamped' || !writesBack || doAgree(phase)) return { kind: 'content', content: found };
      return { kind: 'put', content: found };
    case 'write': {
      const count = (found?.kind === 'stamped' ? found.stamp.count : 0) + 1;
      const stamp: Stamp = { count, incarnation: self, op: operation.number };
      return { kind: 'put', content: { kind: 'stamped', stamp, value: wish.value, name: wish.at.name } };
    }
    case 'places': {
      const confirmed = phase.parts.filter(({ state }) => state === 'confirmed');
      return { kind: 'places', places: [...new Set(confirmed.flatMap(({ places }) => places))] };
    }
    case 'rank-write':
      return { kind: 'done' };
    default:
      return { kind: 'content', content: found };
  }
}

/** All that count have the same. */
function doAgree({ parts }: PhaseState): boolean {
  const stamps = parts
    .filter(({ state }) => state === 'confirmed')
    .map(({ found }) => (found?.kind === 'stamped' ? found.stamp : NO_STAMP));
  return stamps.every((stamp) => compareStamps(stamp, stamps[0] ?? NO_STAMP) === 0);
}

function highestRank({ parts }: PhaseState): Stamp {
  let highest = NO_STAMP;
  for (const { found } of parts) {
    if (found?.kind !== 'ranked') continue;
    if (compareStamps(found.promised, highest) > 0) highest = found.promised;
    if (found.rank !== null && compareStamps(found.rank, highest) > 0) highest = found.rank;
  }
  return highest;
}
