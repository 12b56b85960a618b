/**
 * Consensus on one value, by Figure 10 of Chockler & Malkhi: the leader reads the ranked register under a rank above all it has seen, writes the value it
 * found there or its own, and tells the decision. Safe whichever processes believe to lead; live once one process leads for long enough.
 */
import { NEVER, type MonoUs } from '../../../kernel/index.ts';
import type { Stamp } from './contents.ts';
import type { UnitsStep } from './dialogue.ts';
import { placeOf } from './keys.ts';
import type { Outcome } from './operations.ts';
import type { VentureGround } from './ventures.ts';

export interface Deciding {
  readonly kind: 'decide';
  readonly number: number;
  /** The caller's. */
  readonly op: number;
  readonly name: string;
  readonly value: Uint8Array;
  stage: 'looking' | 'reading' | 'writing' | 'telling';
  /** The highest count of a rank that was seen, or used. */
  count: number;
  rank: Stamp | null;
  /** The value that is written. */
  chosen: Uint8Array | null;
  restUntilUs: MonoUs;
}

export function beginDecision(
  number: number,
  { op, name, value }: { readonly op: number; readonly name: string; readonly value: Uint8Array },
): Deciding {
  const begun = { stage: 'looking', count: 0, rank: null, chosen: null, restUntilUs: NEVER } as const;
  return { kind: 'decide', number, op, name, value: value.slice(), ...begun };
}

/** From the top of the loop: is it decided? */
export function resumeDecision(decision: Deciding, core: VentureGround, step: UnitsStep): void {
  decision.stage = 'looking';
  core.begin(decision.number, { kind: 'read', at: placeOf('decision', decision.name) }, step);
}

export function continueDecision(decision: Deciding, outcome: Outcome, core: VentureGround, step: UnitsStep): void {
  const { stage, number, name, op } = decision;
  const at = placeOf('ranked', name);
  const content = outcome.kind === 'content' ? outcome.content : null;
  switch (stage) {
    case 'looking':
      if (content !== null && content.value !== null) return core.ended(number, { kind: 'decided', op, value: content.value }, step);
      if (!core.leads && core.rules.leaderDecides) return rest(decision, core, step);
      decision.rank = core.rankOf(++decision.count, number);
      decision.stage = 'reading';
      core.begin(number, { kind: 'rank-read', at, rank: decision.rank }, step);
      return;
    case 'reading': {
      const seen = content?.kind === 'ranked' ? content : null;
      // Another has promised more than this rank: writing would be in vain.
      if (core.rules.freshRanks && seen !== null) decision.count = Math.max(decision.count, seen.promised.count);
      decision.chosen = seen !== null && seen.rank !== null && seen.value !== null ? seen.value : decision.value;
      decision.stage = 'writing';
      if (decision.rank !== null) core.begin(number, { kind: 'rank-write', at, rank: decision.rank, value: decision.chosen }, step);
      return;
    }
    case 'writing':
      if (outcome.kind === 'refused') {
        if (core.rules.freshRanks) decision.count = Math.max(decision.count, outcome.above.count);
        return rest(decision, core, step);
      }
      decision.stage = 'telling';
      core.begin(number, { kind: 'write', at: placeOf('decision', name), value: decision.chosen }, step);
      return;
    case 'telling':
      core.ended(number, { kind: 'decided', op, value: decision.chosen ?? decision.value }, step);
  }
}

/** Not all at the same time again. */
function rest(decision: Deciding, core: VentureGround, step: UnitsStep): void {
  const { retryUs } = core.config;
  decision.restUntilUs = (step.monoUs + Math.ceil(retryUs / 2) + step.choose(retryUs)) as MonoUs;
}
