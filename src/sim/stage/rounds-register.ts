/** The round-based register on a stage: stores a, b, c, …, clients p, q, … that READ and WRITE when told. */
import { TenureError } from '../../kernel/index.ts';
import type { RoundRegisterCommand, RoundRegisterCore, RoundRegisterEvent, RoundRegisterMessage, Snapshot } from '../../core/index.ts';
import { noFaults } from '../faults.ts';
import type { Desk, Scenario } from '../protocol.ts';
import { RegisterClient, roundsRegister, type RegisterRounds } from '../protocols/rounds-register.ts';
import { ACCEPTOR_NAMES, PROPOSER_NAMES, takesNoMore, unknownVerb } from './quorum.ts';
import { settingCount } from './settings.ts';
import type { Actor, Settings, Staging } from './staging.ts';

export const roundsRegisterStaging: Staging<
  RoundRegisterMessage,
  RoundRegisterCommand,
  RoundRegisterEvent,
  RegisterRounds,
  RoundRegisterCore
> = {
  protocol: roundsRegister,
  defaults: { stores: '3', clients: '2' },
  verbs: ['read NODE BALLOT', 'write NODE VALUE (with the ballot of its last READ)'],

  scenario(settings: Settings): Scenario<RegisterRounds> {
    const stores = settingCount(settings, 'stores', 1, ACCEPTOR_NAMES.length);
    const nodes = stores + settingCount(settings, 'clients', 1, PROPOSER_NAMES.length);
    const config = { stores, pauseUsMax: 1, spread: 1 };
    return { nodes, units: 0, faults: noFaults(), termUs: 1_000_000, safetyUs: 0, livenessUs: 0, config };
  },

  nodeName: ({ config }: Scenario<RegisterRounds>, node: number): string =>
    (node < config.stores ? ACCEPTOR_NAMES[node] : PROPOSER_NAMES[node - config.stores]) ?? `n${node}`,
  actor: (_scenario: Scenario<RegisterRounds>, _core: RoundRegisterCore, desk: Desk<RoundRegisterCommand>): RegisterRoundsActor =>
    new RegisterRoundsActor(desk),
};

export interface RegisterRoundsActorSnapshot {
  readonly ops: number;
  /** The ballot of its last READ. */
  readonly time: number;
  readonly reads: number;
  /** What that READ found, if it was committed and nothing was written since; 0 is nothing. */
  readonly found: number | null;
}

class RegisterRoundsActor implements Actor<RoundRegisterEvent> {
  readonly #client: RegisterClient;
  #time = 0;
  #reads = 0;
  #found: number | null = null;

  constructor(desk: Desk<RoundRegisterCommand>) {
    this.#client = new RegisterClient(desk);
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

  event(event: RoundRegisterEvent): void {
    this.#client.hear(event);
    if (event.kind === 'committed' && event.action === 'read') this.#found = event.value;
  }

  snapshot(): Snapshot {
    return { ops: this.#client.ops, time: this.#time, reads: this.#reads, found: this.#found };
  }

  restore(snapshot: Snapshot): void {
    const { ops, time, reads, found } = snapshot as unknown as RegisterRoundsActorSnapshot;
    this.#client.ops = ops;
    this.#time = time;
    this.#reads = reads;
    this.#found = found;
  }
}
