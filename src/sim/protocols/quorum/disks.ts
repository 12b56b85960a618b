/** What members of a simulated cell keep on disks of their own, and their new settings when they are started again. */
import type { Chooser } from '../../../kernel/index.ts';
import { deriveTiming, type Keeps, type Timing, type TimingInput } from '../../../core/index.ts';
import { QUORUM_MUTANTS, type Shape } from './mutants.ts';

/** In one of three worlds members have disks of their own, and where they come and go: all of them keep the same, or each draws its own choice. */
export function drawKeeps(chooser: Chooser, shape: Shape, members: number, mutant: string | null): Keeps[] {
  const asked = QUORUM_MUTANTS.find(({ name }) => name === mutant)?.keeps;
  if (asked) return Array.from({ length: members }, () => asked);
  const all = (['votes', 'floor', 'mixed'] as const)[
    chooser.below(shape === 'refits' ? 2 : shape === 'comebacks' || shape === 'slow-disks' ? 3 : 9)
  ];
  if (all === undefined) return [];
  return Array.from(
    { length: members },
    () => (all === 'mixed' ? (['votes', 'floor', 'nothing'] as const)[chooser.below(3)] : all) as Keeps,
  );
}

/** So many times as long as others the longest terms may be. */
export const REFIT_TERMS_MAX = 3;

/** What a life of a member is set up with. */
export interface Refit {
  readonly timing: Timing;
  readonly keeps: Keeps;
}

/**
 * The longest term and the kept records change from life to life. Only where every member has a disk and no disk is
 * lost: a member that has forgotten how long its terms were cannot know for how long to be silent.
 */
export function drawRefits(chooser: Chooser, keeps: readonly Keeps[], input: TimingInput): Refit[] {
  const long = deriveTiming({ ...input, maxTermUs: input.maxTermUs * (2 + chooser.below(REFIT_TERMS_MAX - 1)) });
  const short = deriveTiming(input);
  const terms = [[long, short], [short, long], [long, short, short], [short]][chooser.below(4)] as readonly Timing[];
  const others: readonly Keeps[] = chooser.below(2) === 0 ? ['votes', 'floor'] : [keeps[0] as Keeps];
  const lives = Math.max(terms.length, others.length) * 2;
  return Array.from({ length: lives }, (_, life) => ({
    timing: terms[life % terms.length] as Timing,
    // Not in step with the terms, or a life that keeps its votes would always have the same.
    keeps: others[Math.floor(life / terms.length) % others.length] as Keeps,
  }));
}

/** Of this life; the first lives of all members are alike. */
export function refitOf(
  refits: readonly Refit[] | undefined,
  nodes: number,
  { incarnation }: { readonly incarnation: number },
): Refit | null {
  return refits?.[incarnation <= nodes ? 0 : incarnation % refits.length] ?? null;
}
