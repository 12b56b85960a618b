/** Stages: small worlds that are told what happens, action by action. */
import { quorumStaging } from './quorum.ts';
import { registerStaging } from './register.ts';
import { roundStagings } from './rounds.ts';
import { roundsRegisterStaging } from './rounds-register.ts';
import { parseSettings } from './settings.ts';
import type { AnyStage } from './any-stage.ts';
import { openStage } from './stage.ts';
import { STAGE_DEFAULTS, type Settings } from './staging.ts';
import { toyStaging } from './toy.ts';

export * from './actions.ts';
export { parseSettings } from './settings.ts';
export type { AnyStage, StageNote } from './any-stage.ts';
export { openStage, Stage } from './stage.ts';
export { STAGE_DEFAULTS, type Actor, type Settings, type Staging } from './staging.ts';

/** A protocol that can be staged, with its types closed over. */
export interface Theatre {
  readonly protocol: string;
  readonly defaults: Settings;
  readonly verbs: readonly string[];
  readonly mutants: readonly string[];
  open(settings: Settings, mutant: string | null): AnyStage;
  /** Settings from words such as `acceptors=3`. */
  settings(words: readonly string[]): Settings;
}

/** Every protocol that can be staged. A new one is a file beside this and a line here. */
export const theatres: readonly Theatre[] = [
  theatre(quorumStaging, (settings, mutant) => openStage(quorumStaging, settings, mutant)),
  ...roundStagings.map((staging) => theatre(staging, (settings, mutant) => openStage(staging, settings, mutant))),
  theatre(registerStaging, (settings, mutant) => openStage(registerStaging, settings, mutant)),
  theatre(roundsRegisterStaging, (settings, mutant) => openStage(roundsRegisterStaging, settings, mutant)),
  theatre(toyStaging, (settings, mutant) => openStage(toyStaging, settings, mutant)),
];

interface Billed {
  readonly protocol: { readonly name: string; readonly mutants: readonly { readonly name: string }[] };
  readonly defaults: Settings;
  readonly verbs: readonly string[];
}

function theatre({ protocol, defaults: own, verbs }: Billed, open: Theatre['open']): Theatre {
  const defaults = { ...own, ...STAGE_DEFAULTS };
  return {
    protocol: protocol.name,
    defaults,
    verbs,
    mutants: protocol.mutants.map(({ name }) => name),
    open,
    settings: (words) => parseSettings(words, defaults),
  };
}
