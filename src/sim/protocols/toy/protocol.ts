/** The toy in the simulator: every node votes and contends for the same lease, uses it a while, and gives it back. */
import { spanUs, wallUs, type Chooser } from '../../../kernel/index.ts';
import { ToyCore, type Boot, type ToyCommand, type ToyConfig, type ToyEvent, type ToyMessage } from '../../../core/index.ts';
import { DeadlineReferee, ExclusionReferee, RequestReferee, type Referee } from '../../../check/index.ts';
import { toyCodec } from '../../../wire/index.ts';
import { drawFaults } from '../../faults.ts';
import { WORLD_INTERESTS } from '../../interest.ts';
import type { Desk, Scenario, SimProtocol, SmallerScenario, User } from '../../protocol.ts';

const RESOURCE = 'the-lease';
const TERM_US = 1_000_000;

export const toy: SimProtocol<ToyMessage, ToyCommand, ToyEvent, ToyConfig, ToyCore> = {
  name: 'toy',
  summary: 'a naive majority vote with a time to live, broken on purpose',
  mutants: [],
  sometimes: [
    { name: 'grant', description: 'a lease was granted' },
    { name: 'release', description: 'a holder gave its lease back' },
    { name: 'expiry', description: 'a lease ran out' },
    ...WORLD_INTERESTS,
  ],
  codec: toyCodec,

  plan(chooser: Chooser): Scenario<ToyConfig> {
    const members = 3 + 2 * chooser.below(2);
    return {
      nodes: members,
      units: 0,
      faults: drawFaults(chooser, { termUs: TERM_US, ratePpmMax: 1000, offsetUsMax: TERM_US }),
      termUs: TERM_US,
      safetyUs: TERM_US * 20,
      livenessUs: TERM_US * 60,
      config: { members, term: spanUs(TERM_US) },
    };
  },

  smaller: (scenario: Scenario<ToyConfig>): SmallerScenario<ToyConfig>[] =>
    scenario.nodes > 3 ? [{ without: 'two members', scenario: { ...scenario, nodes: 3, config: { ...scenario.config, members: 3 } } }] : [],

  core: (scenario: Scenario<ToyConfig>, boot: Boot): ToyCore => new ToyCore(scenario.config, boot),
  user: (_scenario: Scenario<ToyConfig>, _core: ToyCore, desk: Desk<ToyCommand>): User<ToyEvent> => new ToyUser(desk),
  referees: (): Referee[] => [new ExclusionReferee(), new DeadlineReferee(), new RequestReferee()],
  isVote: (message: ToyMessage): boolean => message.kind === 'yes',
  describeMessage: (message: ToyMessage): string => `${message.kind}(${message.request})`,
  describeCommand: (command: ToyCommand): string => `${command.kind} (${command.request})`,
  describeEvent: (event: ToyEvent): string => `${event.kind} (${event.request})`,
  nodeName: (_scenario: Scenario<ToyConfig>, node: number): string => `n${node}`,
};

/** The timer of the next use; any other tag is the number of the ask it was set for. */
const USE = -1;

class ToyUser implements User<ToyEvent> {
  readonly #desk: Desk<ToyCommand>;
  #asks = 0;
  #request = 0;
  #token = 0;
  #usesLeft = 0;

  constructor(desk: Desk<ToyCommand>) {
    this.#desk = desk;
  }

  start(): void {
    this.#askLater(0);
  }

  event(event: ToyEvent): void {
    const desk = this.#desk;
    if (event.kind === 'granted') {
      desk.sometimes('grant');
      this.#token = event.token;
      this.#usesLeft = desk.choose(3);
      desk.granted(RESOURCE, event.request, event.token, { monoUs: event.deadline, wallUs: wallUs(Infinity) });
      desk.after(desk.choose(TERM_US / 2), USE);
    } else {
      desk.sometimes('expiry');
      this.#over('lost');
    }
  }

  timer(tag: number): void {
    if (tag === USE) {
      if (this.#token > 0) this.#use();
    } else if (tag === this.#asks && this.#token === 0) {
      this.#ask();
    }
  }

  healed(): void {
    if (this.#token > 0) this.#desk.done();
  }

  waitingFor(): string {
    return `a grant of request ${this.#request}`;
  }

  #ask(): void {
    if (this.#request > 0) this.#desk.abandoned(RESOURCE, this.#request);
    this.#request++;
    this.#desk.requested(RESOURCE, this.#request);
    this.#desk.command({ kind: 'acquire', request: this.#request });
    this.#askLater(TERM_US);
  }

  #askLater(atLeastUs: number): void {
    this.#desk.after(atLeastUs + this.#desk.choose(TERM_US), ++this.#asks);
  }

  #use(): void {
    const desk = this.#desk;
    if (this.#usesLeft-- > 0) {
      desk.used(RESOURCE, this.#token);
      desk.after(desk.choose(TERM_US / 2), USE);
    } else {
      desk.sometimes('release');
      desk.command({ kind: 'release', request: this.#request });
      this.#over('released');
    }
  }

  #over(reason: 'released' | 'lost'): void {
    this.#desk.ended(RESOURCE, this.#token, reason);
    this.#token = 0;
    this.#askLater(0);
    if (this.#desk.healed) this.#desk.done();
  }
}
