/**
 * Mandatory leasing: a claim is refused only for a reason. As the paper has it, another request for an overlapping interval had begun. As the product promises where
 * no disk is lost, such a claim was granted, or was open meanwhile: made and not yet cleared. A claim whose process crashed is never cleared. A block may be anywhere until
 * it is cleared. Once a member has copied others' permissions, a claim under way then may be refused for its own copy, so nothing is judged any more. Refusals for want of room are told as such, and are no matter of overlap.
 */
import { IntervalSet, type Interval, type Json } from '../kernel/index.ts';
import type { Claimed, DeniedClaim, HistoryRecord, RecordKind } from './history.ts';
import { inOrder, whoSeen, type Perspective, type Who, type WhoMemory } from './memory.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted } from './wording.ts';

interface OpenClaim extends Who {
  readonly space: string;
  readonly claim: number;
  readonly from: number;
  readonly to: number;
  /** Another claim that overlaps it was granted before, or open since it was made. */
  hasReason: boolean;
}

type OpenMemory = readonly [who: WhoMemory, claim: number, space: string, from: number, to: number, hasReason: boolean];

interface MandatoryMemory {
  readonly isOver: boolean;
  readonly open: readonly OpenMemory[];
  readonly kept: readonly (readonly [string, readonly Interval[]])[];
}

/** What counts as a reason: an interval granted or open meanwhile, or any interval that a process claimed before. */
export type MandatoryReason = 'granted-or-open' | 'ever-claimed';

export class MandatoryReferee implements Referee {
  readonly property = 'mandatory' as const;
  readonly handles: readonly RecordKind[] = ['claimed', 'allotted', 'denied', 'recalled', 'cleared', 'rejoined'];
  readonly #keepsEver: boolean;
  /** What stays a reason for good, by space. */
  readonly #kept = new Map<string, IntervalSet>();
  readonly #open = new Map<string, OpenClaim>();
  #isOver = false;

  constructor(reason: MandatoryReason) {
    this.#keepsEver = reason === 'ever-claimed';
  }

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'rejoined':
        this.#isOver = true;
        this.#open.clear();
        return null;
      case 'claimed':
        if (!this.#isOver) this.#claim(record);
        return null;
      case 'allotted':
        this.#keptOf(record.space).add(record.from, record.to);
        return null;
      case 'denied':
        return this.#deny(record);
      case 'cleared':
        this.#open.delete(keyOf(record, record.claim));
        return null;
      default:
        return null;
    }
  }

  finish(_at: number): readonly Violation[] {
    return [];
  }

  snapshot(seen: Perspective): Json {
    const open = [...this.#open.values()].map(({ node, incarnation, claim, space, from, to, hasReason }): OpenMemory => {
      return [whoSeen({ node, incarnation }, seen), claim, space, from, to, hasReason];
    });
    return {
      isOver: this.#isOver,
      open: inOrder(open),
      kept: inOrder([...this.#kept].flatMap(([space, set]) => (set.pieces > 0 ? [[space, [...set]] as const] : []))),
    };
  }

  restore(memory: Json): void {
    const { isOver, open, kept } = memory as unknown as MandatoryMemory;
    this.#isOver = isOver;
    for (const [[node, incarnation], claim, space, from, to, hasReason] of open)
      this.#open.set(keyOf({ node, incarnation }, claim), { node, incarnation, claim, space, from, to, hasReason });
    for (const [space, intervals] of kept) for (const [from, to] of intervals) this.#keptOf(space).add(from, to);
  }

  #claim({ node, incarnation, claim, space, from = 0, to = Number.MAX_SAFE_INTEGER }: Claimed): void {
    const made: OpenClaim = { node, incarnation, claim, space, from, to, hasReason: this.#keptOf(space).overlaps(from, to) };
    for (const other of this.#open.values()) {
      if (other.space !== space || other.from > to || from > other.to) continue;
      made.hasReason = true;
      other.hasReason = true;
    }
    this.#open.set(keyOf(made, claim), made);
    if (this.#keepsEver) this.#keptOf(space).add(from, to);
  }

  #deny({ at, node, incarnation, space, claim, why }: DeniedClaim): Violation | null {
    const denied = this.#open.get(keyOf({ node, incarnation }, claim));
    if (why !== 'overlap' || denied === undefined || denied.hasReason) return null;
    const asked = `[${denied.from}, ${denied.to}] of ${quoted(space)}`;
    const message = `${party({ node, incarnation })} was refused ${asked} at ${instant(at)}, though no claim that overlaps it was granted, or open meanwhile`;
    return { property: this.property, at, message };
  }

  #keptOf(space: string): IntervalSet {
    let kept = this.#kept.get(space);
    if (kept === undefined) this.#kept.set(space, (kept = new IntervalSet()));
    return kept;
  }
}

function keyOf({ node, incarnation }: Who, claim: number): string {
  return `${typeof node} ${node} ${incarnation} ${claim}`;
}
