/**
 * Cores with a planted fault of each kind that leases do not have: two nodes that decide differently, that deliver in different orders, and a
 * learner that believes what is over. The explorer finds them, and exhausts the same worlds without the fault.
 */
import { describe, expect, test } from 'vitest';
import { NEVER, nodeId, type MonoUs, type WallUs } from '../../src/kernel/index.ts';
import type { Boot, Core, Snapshot, Step } from '../../src/core/index.ts';
import {
  AgreementReferee,
  BeliefReferee,
  ExclusionReferee,
  RequestReferee,
  TotalOrderReferee,
  Unjudged,
  type Referee,
} from '../../src/check/index.ts';
import { NOTHING_LEFT_OUT, budgetBounds, exploring, type Exploration, type Offer } from '../../src/sim/explorer/index.ts';
import type { ExploredProtocol } from '../../src/sim/explorer/small-world.ts';
import type { Desk } from '../../src/sim/protocol.ts';
import type { Actor } from '../../src/sim/stage/index.ts';
import { tiny, tinyWorld } from './tiny.ts';

const NODES = 2;
const LIMITS = { maxStates: 100_000, isOver: () => false };

/** Node 0 puts all that is said into one sequence and tells it on. With the fault planted, each node takes what it hears as it comes. */
class SequenceCore implements Core<number, number, number> {
  readonly wakeAt: MonoUs = NEVER;
  readonly #self: number;
  readonly #isPlanted: boolean;
  /** Of node 0: how many it has told on. */
  #told = 0;
  /** What was told before its turn: place and what. */
  #early: (readonly [place: number, what: number])[] = [];
  #taken = 0;

  constructor({ self }: Boot, isPlanted: boolean) {
    this.#self = self;
    this.#isPlanted = isPlanted;
  }

  start(): void {}

  admits(): boolean {
    return true;
  }

  command(what: number, step: Step<number, number>): void {
    if (this.#isPlanted) {
      for (let node = 0; node < NODES; node++) if (node !== this.#self) step.send(nodeId(node), what);
      step.emit(what);
    } else if (this.#self === 0) this.#tell(what, step);
    else step.send(nodeId(0), what);
  }

  receive(_from: number, message: number, step: Step<number, number>): void {
    if (this.#isPlanted) step.emit(message);
    else if (this.#self === 0) this.#tell(message, step);
    else this.#take(Math.floor(message / 100), message % 100, step);
  }

  #tell(what: number, step: Step<number, number>): void {
    const place = ++this.#told;
    for (let node = 1; node < NODES; node++) step.send(nodeId(node), place * 100 + what);
    step.emit(what);
  }

  #take(place: number, what: number, step: Step<number, number>): void {
    this.#early = [...this.#early, [place, what] as const].sort(([a], [b]) => a - b);
    for (let first = this.#early[0]; first?.[0] === this.#taken + 1; first = this.#early[0]) {
      this.#early.shift();
      this.#taken++;
      step.emit(first[1]);
    }
  }

  wake(): void {}

  completed(): void {}

  snapshot(): Snapshot {
    return { told: this.#told, early: this.#early, taken: this.#taken };
  }

  restore(snapshot: Snapshot): void {
    const { told, early, taken } = snapshot as unknown as { told: number; early: (readonly [number, number])[]; taken: number };
    this.#told = told;
    this.#early = early;
    this.#taken = taken;
  }
}

/** What the application on a node makes of what it hears, with the little that it remembers of it. */
interface Habit {
  readonly referees: () => Referee[];
  offers(node: number, said: number, heard: readonly number[]): readonly Offer[];
  /** Before the core is told. */
  say(desk: Desk<number>, what: number): void;
  hear(desk: Desk<number>, what: number, heard: readonly number[]): void;
  look?(desk: Desk<number>, heard: readonly number[]): void;
}

class SequenceActor implements Actor<number> {
  readonly #desk: Desk<number>;
  readonly #habit: Habit;
  #said = 0;
  #heard: readonly number[] = [];

  constructor(desk: Desk<number>, habit: Habit) {
    this.#desk = desk;
    this.#habit = habit;
  }

  act(verb: string): void {
    if (verb === 'look') {
      this.#habit.look?.(this.#desk, this.#heard);
      return;
    }
    const what = 10 * (this.#desk.node + 1) + ++this.#said;
    this.#habit.say(this.#desk, what);
    this.#desk.command(what);
  }

  event(what: number): void {
    this.#habit.hear(this.#desk, what, this.#heard);
    this.#heard = [...this.#heard, what];
  }

  snapshot(): Snapshot {
    return { said: this.#said, heard: this.#heard };
  }

  restore(snapshot: Snapshot): void {
    const { said, heard } = snapshot as unknown as { said: number; heard: readonly number[] };
    this.#said = said;
    this.#heard = heard;
  }
}

const sayOnce = (_node: number, said: number): readonly Offer[] => (said === 0 ? [['say']] : []);

/** The first that is heard is decided. */
const consensus: Habit = {
  referees: () => [new AgreementReferee()],
  offers: sayOnce,
  say: (desk, what) => desk.record({ kind: 'proposed', instance: 1, value: String(what) }),
  hear: (desk, what, heard) => {
    if (heard.length === 0) desk.record({ kind: 'decided', instance: 1, value: String(what) });
  },
};

const broadcast: Habit = {
  referees: () => [new TotalOrderReferee()],
  offers: sayOnce,
  say: (desk, what) => desk.record({ kind: 'broadcast', message: `m${what}` }),
  hear: (desk, what) => desk.record({ kind: 'delivered', message: `m${what}` }),
};

/** Node 0 is granted a lease twice and tells of it; whoever looks believes what it heard last. A lease is over when the next one is told of. */
const belief = (isPlanted: boolean): Habit => ({
  referees: () => [new ExclusionReferee(), new RequestReferee(), new BeliefReferee(true)],
  offers: (node, said, heard) => (node === 0 ? (said < 2 ? [['say']] : []) : heard.length > 0 ? [['look']] : []),
  say: (desk, token) => {
    desk.requested('r', token);
    desk.granted('r', token, token, { monoUs: Infinity as MonoUs, wallUs: Infinity as WallUs });
    desk.ended('r', token, 'released');
  },
  hear: () => undefined,
  // The sound learner knows that it may be behind, and believes nothing.
  look: (desk, heard) => {
    if (isPlanted) desk.record({ kind: 'believed', resource: 'r', token: heard.at(-1) ?? 0 });
  },
});

function explore(habit: Habit, isPlanted: boolean): Exploration {
  const world: ExploredProtocol<number, number, number, null> = {
    ...NOTHING_LEFT_OUT,
    staging: {
      protocol: tiny<number, number>({
        core: (_scenario, boot) => new SequenceCore(boot, isPlanted),
        referees: habit.referees,
      }),
      defaults: {},
      verbs: ['say NODE', 'look NODE'],
      scenario: () => tinyWorld({ nodes: NODES }),
      nodeName: (_scenario, node) => 'ab'[node] ?? '?',
      actor: (_scenario, _core, desk) => new SequenceActor(desk, habit),
    },
    bounds: budgetBounds({ instants: 0 }),
    settings: () => ({}),
    offers(_bounds, { node, actor }) {
      const { said, heard } = actor as unknown as { said: number; heard: readonly number[] };
      return habit.offers(node, said, heard);
    },
    mayCrash: () => false,
    mayWake: () => false,
  };
  const planted = exploring(world);
  return planted.explore(planted.usual, null, LIMITS);
}

describe.each<readonly [name: string, habit: (isPlanted: boolean) => Habit, property: string]>([
  ['two nodes that decide differently', () => consensus, 'agreement'],
  ['two nodes that deliver in different orders', () => broadcast, 'total-order'],
  ['a learner that believes what is over', belief, 'belief'],
])('%s', (_name, habit, property) => {
  test('are found', () => {
    const { found, exhausted } = explore(habit(true), true);
    expect(exhausted).toBe(false);
    expect(found?.violation.property).toBe(property);
    expect(found?.lines.length).toBeGreaterThan(1);
  });

  test('are not there without the fault: the world is exhausted', () => {
    const { found, exhausted, states } = explore(habit(false), false);
    expect(found).toBeNull();
    expect(exhausted).toBe(true);
    expect(states).toBeGreaterThan(5);
  });
});

describe('a record that nobody judges', () => {
  const mute = (referees: Habit['referees']): Habit => ({ ...consensus, referees });

  test('is an error in the explorer, which names its kind', () => {
    expect(() =>
      explore(
        mute(() => [new TotalOrderReferee()]),
        true,
      ),
    ).toThrow("a record of kind 'proposed'");
  });

  test('is none where the protocol says that nobody judges it', () => {
    const unjudged = (): Referee[] => [new Unjudged(['proposed', 'decided'], 'a test')];
    expect(explore(mute(unjudged), true)).toMatchObject({ exhausted: true, found: null });
  });
});
