/**
 * The round-based register in the simulator: clients READ and WRITE with ballots that come in any order, while messages
 * are lost, doubled and late, clients crash, and stores crash for good. R1–R5 are judged on every run.
 */
import type { Chooser } from '../../../kernel/index.ts';
import {
  ALL_ROUNDS_REGISTER_RULES,
  RoundsRegisterCore,
  type Boot,
  type RoundAction,
  type RoundsRegisterCommand,
  type RoundsRegisterConfig,
  type RoundsRegisterEvent,
  type RoundsRegisterMessage,
  type RoundsRegisterRules,
} from '../../../core/index.ts';
import { lemmaReferees, type Referee } from '../../../check/index.ts';
import { roundsRegisterCodec } from '../../../wire/index.ts';
import { drawFaults } from '../../faults.ts';
import { WORLD_INTERESTS } from '../../interest.ts';
import type { Desk, Mutant, Scenario, SimProtocol, SmallerScenario, User } from '../../protocol.ts';

const TERM_US = 1_000_000;
const REGISTER = 'r';

interface RoundsRegisterMutant extends Mutant {
  readonly without: keyof RoundsRegisterRules;
  /** Worlds in which stores crash soon, or in which messages are doubled. */
  readonly needs?: 'crashes' | 'duplicates';
}

const MUTANTS: readonly RoundsRegisterMutant[] = [
  {
    name: 'read-below',
    rule: 'Algorithm 1, READ',
    how: 'A READ is answered though a higher ballot has read or written: it finds what is above it.',
    without: 'readRefusesLower',
  },
  {
    name: 'read-not-kept',
    rule: 'Algorithm 1, READ',
    how: 'A store answers a READ and forgets its ballot: a lower one reads or writes after it.',
    without: 'readIsKept',
  },
  {
    name: 'read-copy-refused',
    rule: 'Algorithm 1, READ',
    how: 'The paper to the letter: a copy of a READ is refused by what its first copy left, though nobody else was there.',
    without: 'readCopyIsAnswered',
    needs: 'duplicates',
  },
  {
    name: 'read-copy-blind',
    rule: 'Algorithm 1, READ',
    how: 'A copy of a READ is answered because the first was, though a higher ballot has written since: the READ finds what is above it.',
    without: 'readCopyIsJudged',
    needs: 'duplicates',
  },
  {
    name: 'write-below',
    rule: 'Algorithm 1, WRITE',
    how: 'A WRITE is done though a higher ballot has read or written.',
    without: 'writeRefusesLower',
  },
  {
    name: 'write-copy-refused',
    rule: 'Algorithm 1, WRITE',
    how: 'A copy of a WRITE is refused by what its first copy left, though no higher ballot was there.',
    without: 'writeCopyIsAnswered',
    needs: 'duplicates',
  },
  {
    name: 'write-without-ballot',
    rule: 'Algorithm 1, WRITE',
    how: 'A store keeps the value but not its ballot: an older value looks newer.',
    without: 'writeKeepsBallot',
  },
  {
    name: 'any-answer',
    rule: 'Algorithm 1, READ',
    how: 'A READ returns the first value it is told, not the one with the highest ballot.',
    without: 'readsHighest',
  },
  {
    name: 'count-messages',
    rule: 'rule 5',
    how: 'A doubled answer counts twice and makes a majority of one.',
    without: 'distinctStores',
    needs: 'duplicates',
  },
  {
    name: 'nack-is-vote',
    rule: 'rule 5',
    how: 'A refusal is counted among the answers and does not abort.',
    without: 'nackAborts',
  },
  {
    name: 'no-restart-silence',
    rule: 'rule 4',
    how: 'A store that forgot everything answers again.',
    without: 'restartedIsSilent',
    needs: 'crashes',
  },
];

export interface RoundsRegisterWorld extends RoundsRegisterConfig {
  /** How long a client thinks before its next round, at most. */
  readonly pauseUsMax: number;
  /** How far apart the ballots of one moment are, at most. */
  readonly spread: number;
}

type RoundsRegisterScenario = Scenario<RoundsRegisterWorld>;

export type RoundsRegisterSim = SimProtocol<
  RoundsRegisterMessage,
  RoundsRegisterCommand,
  RoundsRegisterEvent,
  RoundsRegisterWorld,
  RoundsRegisterCore
>;

export const roundsRegisterProtocol: RoundsRegisterSim = {
  name: 'rounds-register',
  summary: "Flease's round-based register alone: READ and WRITE over a majority of stores, lemmas R1 to R5",
  mutants: MUTANTS,
  sometimes: [
    { name: 'read-commit', description: 'a READ was committed' },
    { name: 'write-commit', description: 'a WRITE was committed' },
    { name: 'read-abort', description: 'a READ was aborted' },
    { name: 'write-abort', description: 'a WRITE was aborted' },
    { name: 'read-of-nothing', description: 'a READ found that nothing was ever written' },
    { name: 'read-of-value', description: 'a READ found what somebody wrote' },
    { name: 'write-back', description: 'a client wrote what it had read' },
    { name: 'given-up', description: 'a client gave up an operation that hung' },
    ...WORLD_INTERESTS,
  ],
  codec: roundsRegisterCodec,

  plan(chooser: Chooser, mutant: string | null): RoundsRegisterScenario {
    const stores = 3 + 2 * chooser.below(2);
    const drawn = drawFaults(chooser, { termUs: TERM_US, ratePpmMax: 1000, offsetUsMax: TERM_US / 10 });
    const needs = mutantOf(mutant)?.needs;
    // Stores that crash do not come back: few crashes leave a majority for most of a run, and most runs have none.
    const hasCrashes = chooser.below(4) === 0;
    const calm = { crashEveryUs: 0, afterVotePpm: 0, midStepPpm: 0 };
    const faults = {
      ...drawn,
      ...(hasCrashes || needs === 'crashes' ? {} : calm),
      ...(needs === 'duplicates' ? { duplicatePpm: 300_000, lossPpm: 150_000, tailPpm: 400_000 } : {}),
    };
    return {
      nodes: stores + 2 + chooser.below(3),
      units: 0,
      faults,
      termUs: TERM_US,
      safetyUs: TERM_US * (1 + chooser.below(4)),
      livenessUs: 0,
      config: { stores, pauseUsMax: 1 + chooser.below(TERM_US / 10), spread: 1 + chooser.below(200) },
    };
  },

  smaller(scenario: RoundsRegisterScenario): SmallerScenario<RoundsRegisterWorld>[] {
    const { nodes, config } = scenario;
    const smaller: SmallerScenario<RoundsRegisterWorld>[] = [];
    if (nodes > config.stores + 1) smaller.push({ without: 'a client', scenario: { ...scenario, nodes: nodes - 1 } });
    if (config.stores > 3)
      smaller.push({
        without: 'two stores',
        scenario: { ...scenario, nodes: nodes - 2, config: { ...config, stores: config.stores - 2 } },
      });
    return smaller;
  },

  core: ({ config }: RoundsRegisterScenario, boot: Boot, mutant: string | null): RoundsRegisterCore => {
    const found = mutantOf(mutant);
    return new RoundsRegisterCore(
      config,
      boot,
      found ? { ...ALL_ROUNDS_REGISTER_RULES, [found.without]: false } : ALL_ROUNDS_REGISTER_RULES,
    );
  },
  user: ({ config }: RoundsRegisterScenario, _core: RoundsRegisterCore, desk: Desk<RoundsRegisterCommand>): User<RoundsRegisterEvent> =>
    new RoundsRegisterUser(config, desk),
  referees: (): Referee[] => lemmaReferees(),
  isVote: ({ kind }: RoundsRegisterMessage): boolean => kind === 'ack',
  describeMessage: ({ kind, action, time, by, value, written, writer }: RoundsRegisterMessage): string => {
    const word = kind === 'ask' ? action.toUpperCase() : `${kind}${action.toUpperCase()}`;
    const told = written > 0 ? `, ${value} of ${written}.${writer}` : value > 0 ? `, ${value}` : '';
    return `${word}(${time}.${by}${told})`;
  },
  describeCommand: ({ kind, op, time }: RoundsRegisterCommand): string => `${kind} with ballot ${time} (operation ${op})`,
  describeEvent: ({ kind, op }: RoundsRegisterEvent): string => `${kind} (operation ${op})`,
  nodeName: ({ config }: RoundsRegisterScenario, node: number): string => (node < config.stores ? `s${node}` : `c${node - config.stores}`),
};

function mutantOf(name: string | null): RoundsRegisterMutant | undefined {
  return MUTANTS.find((mutant) => mutant.name === name);
}

/** Tells the history what a client asks and what came of it. */
export class RoundsRegisterClient {
  readonly #desk: Desk<RoundsRegisterCommand>;
  ops = 0;

  constructor(desk: Desk<RoundsRegisterCommand>) {
    this.#desk = desk;
  }

  read(time: number): void {
    const op = ++this.ops;
    this.#desk.record({ kind: 'asked', register: REGISTER, op, action: 'read', ballot: time });
    this.#desk.command({ kind: 'read', op, time });
  }

  write(time: number, value: number): void {
    const op = ++this.ops;
    this.#desk.record({ kind: 'asked', register: REGISTER, op, action: 'write', ballot: time, value: String(value) });
    this.#desk.command({ kind: 'write', op, time, value });
  }

  hear(event: RoundsRegisterEvent): void {
    const { op } = event;
    if (event.kind === 'aborted') this.#desk.record({ kind: 'aborted', register: REGISTER, op });
    else if (event.action === 'write') this.#desk.record({ kind: 'committed', register: REGISTER, op });
    else this.#desk.record({ kind: 'committed', register: REGISTER, op, value: event.value === 0 ? null : String(event.value) });
  }
}

/** Values are unique to their client. */
const VALUES_PER_CLIENT = 10_000;

class RoundsRegisterUser implements User<RoundsRegisterEvent> {
  readonly #config: RoundsRegisterWorld;
  readonly #desk: Desk<RoundsRegisterCommand>;
  readonly #client: RoundsRegisterClient;
  #time = 0;
  #rounds = 0;
  #isWaiting = false;

  constructor(config: RoundsRegisterWorld, desk: Desk<RoundsRegisterCommand>) {
    this.#config = config;
    this.#desk = desk;
    this.#client = new RoundsRegisterClient(desk);
  }

  start(): void {
    if (this.#desk.node >= this.#config.stores) this.#nextLater();
  }

  /** A timer is for the round that was the last when it was set. */
  timer(round: number): void {
    const desk = this.#desk;
    if (round !== this.#rounds || desk.healed) return;
    if (this.#isWaiting) desk.sometimes('given-up');
    // Ballots of different clients come in any order; each one's own rise.
    this.#time = Math.max(this.#time + 1, Math.floor((desk.wallUs % 1e12) / 1000) + desk.choose(this.#config.spread));
    this.#rounds++;
    this.#isWaiting = true;
    this.#client.read(this.#time);
    desk.after(TERM_US / 4, this.#rounds);
  }

  event(event: RoundsRegisterEvent): void {
    const desk = this.#desk;
    this.#client.hear(event);
    const { kind, action } = event;
    desk.sometimes(outcomeOf(kind, action));
    if (kind === 'committed' && action === 'read') {
      desk.sometimes(event.value === 0 ? 'read-of-nothing' : 'read-of-value');
      const isWrittenBack = event.value !== 0 && desk.choose(2) === 0;
      if (isWrittenBack) desk.sometimes('write-back');
      this.#client.write(this.#time, isWrittenBack ? event.value : desk.incarnation * VALUES_PER_CLIENT + this.#rounds);
      return;
    }
    this.#isWaiting = false;
    this.#rounds++;
    this.#nextLater();
  }

  healed(): void {}

  waitingFor(): string {
    return 'nothing';
  }

  #nextLater(): void {
    this.#desk.after(this.#desk.choose(this.#config.pauseUsMax), this.#rounds);
  }
}

function outcomeOf(kind: RoundsRegisterEvent['kind'], action: RoundAction): string {
  return `${action}-${kind === 'committed' ? 'commit' : 'abort'}`;
}
