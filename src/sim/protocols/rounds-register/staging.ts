/** The round-based register on a stage: stores a, b, c, …, clients p, q, … that READ and WRITE when told. */
import { TenureError } from '../../../kernel/index.ts';
import type { RoundsRegisterCommand, RoundsRegisterCore, RoundsRegisterEvent, Snapshot } from '../../../core/index.ts';
import type { Desk, Scenario } from '../../protocol.ts';
import type { TapeToScript } from '../../shrink/tape-to-script.ts';
import { settingCount } from '../../stage/settings.ts';
import { calmScenario, type Actor, type Settings, type Staging } from '../../stage/staging.ts';
import { ASKER_NAMES, shortName, takesNoMore, unknownVerb, VOTER_NAMES } from '../../stage/words.ts';
import type { Said } from '../../tape.ts';
import { RoundsRegisterClient, type RoundsRegisterWorld } from './protocol.ts';

export const roundsRegisterStaging: Staging<RoundsRegisterCommand, RoundsRegisterEvent, RoundsRegisterWorld, RoundsRegisterCore> = {
  defaults: { stores: '3', clients: '2' },
  verbs: ['read NODE BALLOT', 'write NODE VALUE (with the ballot of its last READ)'],

  scenario(settings: Settings): Scenario<RoundsRegisterWorld> {
    const stores = settingCount(settings, 'stores', 1, VOTER_NAMES.length);
    const nodes = stores + settingCount(settings, 'clients', 1, ASKER_NAMES.length);
    return calmScenario(nodes, 1_000_000, { stores, pauseUsMax: 1, spread: 1 });
  },

  nodeName: ({ config }: Scenario<RoundsRegisterWorld>, node: number): string => shortName(config.stores, node),
  actor: (_scenario: Scenario<RoundsRegisterWorld>, _core: RoundsRegisterCore, desk: Desk<RoundsRegisterCommand>): RoundsRegisterActor =>
    new RoundsRegisterActor(desk),
};

export const roundsRegisterTapeToScript: TapeToScript<RoundsRegisterCommand, RoundsRegisterWorld> = {
  settings: ({ nodes, config }: Scenario<RoundsRegisterWorld>): Settings => ({
    stores: String(config.stores),
    clients: String(nodes - config.stores),
  }),
  spares: ['clients'],
  // A WRITE has the ballot of the READ before it, in the simulator as on the stage.
  say: (command: RoundsRegisterCommand): Said => ({
    verb: command.kind,
    words: [String(command.kind === 'read' ? command.time : command.value)],
  }),
  use: (): null => null,
};

export interface RoundsRegisterActorSnapshot {
  readonly ops: number;
  /** The ballot of its last READ. */
  readonly time: number;
  readonly reads: number;
  /** What that READ found, if it was committed and nothing was written since; 0 is nothing. */
  readonly found: number | null;
}

class RoundsRegisterActor implements Actor<RoundsRegisterEvent> {
  readonly #client: RoundsRegisterClient;
  #time = 0;
  #reads = 0;
  #found: number | null = null;

  constructor(desk: Desk<RoundsRegisterCommand>) {
    this.#client = new RoundsRegisterClient(desk);
  }

  act(verb: string, [word, ...more]: readonly string[]): void {
    const number = /^\d+$/.test(word ?? '') ? Number(word) : 0;
    if (verb !== 'read' && verb !== 'write') throw unknownVerb(verb, roundsRegisterStaging.verbs);
    takesNoMore(verb, more);
    if (!(Number.isSafeInteger(number) && number > 0))
      throw new TenureError('TENURE_BAD_ARGUMENT', `${verb} needs a whole number from 1, not '${word ?? ''}'`);
    if (verb === 'read') {
      if (number <= this.#time)
        throw new TenureError('TENURE_BAD_ARGUMENT', `ballots of a client rise: ${number} is not above ${this.#time}`);
      this.#time = number;
      this.#reads++;
      this.#found = null;
      this.#client.read(number);
      return;
    }
    if (this.#found === null) throw new TenureError('TENURE_BAD_ARGUMENT', 'a WRITE comes after a READ that was committed');
    this.#found = null;
    this.#client.write(this.#time, number);
  }

  event(event: RoundsRegisterEvent): void {
    this.#client.hear(event);
    if (event.kind === 'committed' && event.action === 'read') this.#found = event.value;
  }

  snapshot(): Snapshot {
    return { ops: this.#client.ops, time: this.#time, reads: this.#reads, found: this.#found };
  }

  restore(snapshot: Snapshot): void {
    const { ops, time, reads, found } = snapshot as unknown as RoundsRegisterActorSnapshot;
    this.#client.ops = ops;
    this.#time = time;
    this.#reads = reads;
    this.#found = found;
  }
}
