/** Stages: small worlds that are told what happens, action by action. */
import type { Core } from '../../core/index.ts';
import { parseSettings } from './settings.ts';
import type { AnyStage } from './any-stage.ts';
import { openStage } from './stage.ts';
import { STAGE_DEFAULTS, type Settings, type StagedProtocol } from './staging.ts';

export * from './actions.ts';
export * from './settings.ts';
export type { AnyStage, StageOutcome, StageNote } from './any-stage.ts';
export { openStage } from './stage.ts';
export { calmScenario, STAGE_DEFAULTS, type Actor, type Settings, type StagedProtocol, type Staging } from './staging.ts';
export * from './words.ts';

/** The stage of a protocol, with its types closed over. */
export interface StageKind {
  readonly defaults: Settings;
  readonly verbs: readonly string[];
  open(settings: Settings, mutant: string | null): AnyStage;
  /** Settings from words such as `acceptors=3`. */
  settings(words: readonly string[]): Settings;
}

export function stageKind<Message, Command, Event, Config, Node extends Core<Message, Command, Event>>(
  staging: StagedProtocol<Message, Command, Event, Config, Node>,
): StageKind {
  const defaults = { ...staging.defaults, ...STAGE_DEFAULTS };
  return {
    defaults,
    verbs: staging.verbs,
    open: (settings, mutant) => openStage(staging, settings, mutant),
    settings: (words) => parseSettings(words, defaults),
  };
}
