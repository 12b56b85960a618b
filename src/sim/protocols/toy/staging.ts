/** The toy on a stage: every node votes and may ask for the only lease. Its worlds as settings, its commands as lines, and back. */
import { spanUs, wallUs } from '../../../kernel/index.ts';
import type { Snapshot, ToyCommand, ToyConfig, ToyCore, ToyEvent } from '../../../core/index.ts';
import type { Desk, Scenario } from '../../protocol.ts';
import type { TapeToScript } from '../../shrink/tape-to-script.ts';
import { formatSpan } from '../../stage/actions.ts';
import { settingCount, settingSpanUs } from '../../stage/settings.ts';
import { calmScenario, type Actor, type Settings, type Staging } from '../../stage/staging.ts';
import { takesNoMore, unknownVerb, VOTER_NAMES } from '../../stage/words.ts';
import type { Said } from '../../tape.ts';

const RESOURCE = 'the-lease';

export const toyStaging: Staging<ToyCommand, ToyEvent, ToyConfig, ToyCore> = {
  defaults: { nodes: '3', term: '2s' },
  verbs: ['acquire NODE', 'release NODE', 'use NODE'],

  scenario(settings: Settings): Scenario<ToyConfig> {
    const members = settingCount(settings, 'nodes', 1, VOTER_NAMES.length);
    const termUs = settingSpanUs(settings, 'term');
    return calmScenario(members, termUs, { members, term: spanUs(termUs) });
  },

  nodeName: (_scenario: Scenario<ToyConfig>, node: number): string => VOTER_NAMES[node] ?? `n${node}`,
  actor: (_scenario: Scenario<ToyConfig>, _core: ToyCore, desk: Desk<ToyCommand>): ToyActor => new ToyActor(desk),
};

export const toyTapeToScript: TapeToScript<ToyCommand, ToyConfig> = {
  settings: ({ config }: Scenario<ToyConfig>): Settings => ({ nodes: String(config.members), term: formatSpan(config.term) }),
  say: ({ kind }: ToyCommand): Said => ({ verb: kind, words: [] }),
  use: (): Said => ({ verb: 'use', words: [] }),
};

export interface ToyActorSnapshot {
  readonly request: number;
  readonly token: number;
}

class ToyActor implements Actor<ToyEvent> {
  readonly #desk: Desk<ToyCommand>;
  #request = 0;
  #token = 0;

  constructor(desk: Desk<ToyCommand>) {
    this.#desk = desk;
  }

  act(verb: string, words: readonly string[]): void {
    const desk = this.#desk;
    takesNoMore(verb, words);
    switch (verb) {
      case 'acquire':
        if (this.#token > 0) this.#over('lost');
        else if (this.#request > 0) desk.abandoned(RESOURCE, this.#request);
        this.#request++;
        desk.requested(RESOURCE, this.#request);
        desk.command({ kind: 'acquire', request: this.#request });
        return;
      case 'release':
        desk.command({ kind: 'release', request: this.#request });
        this.#over('released');
        return;
      case 'use':
        if (this.#token > 0) desk.used(RESOURCE, this.#token);
        return;
      default:
        throw unknownVerb(verb, toyStaging.verbs);
    }
  }

  event(event: ToyEvent): void {
    if (event.kind === 'granted') {
      this.#token = event.token;
      this.#desk.granted(RESOURCE, event.request, event.token, { monoUs: event.deadline, wallUs: wallUs(Infinity) });
    } else {
      this.#over('lost');
    }
  }

  #over(reason: 'released' | 'lost'): void {
    if (this.#token > 0) this.#desk.ended(RESOURCE, this.#token, reason);
    this.#token = 0;
  }

  snapshot(): Snapshot {
    return { request: this.#request, token: this.#token };
  }

  restore(snapshot: Snapshot): void {
    const { request, token } = snapshot as unknown as ToyActorSnapshot;
    this.#request = request;
    this.#token = token;
  }
}
