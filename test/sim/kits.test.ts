/** What each protocol says of itself, there and back: its worlds as settings, its commands as lines of a script. */
import { describe, expect, it, test } from 'vitest';
import { deriveSeed, SeededChooser } from '../../src/kernel/index.ts';
import type { Core } from '../../src/core/index.ts';
import {
  explore,
  kits,
  openStage,
  runScript,
  shrink,
  simulation,
  type Desk,
  type KitParts,
  type SimProtocol,
  type Settings,
} from '../../src/sim/index.ts';
import { fastCt } from '../../src/sim/protocols/consensus/fast-ct.ts';
import { chandraToueg } from '../../src/sim/protocols/consensus/protocol.ts';
import { consensusStaging, consensusTapeToScript, fastStaging, fastTapeToScript } from '../../src/sim/protocols/consensus/staging.ts';
import { intervalProtocol } from '../../src/sim/protocols/interval-lease/protocol.ts';
import { intervalStaging, intervalTapeToScript } from '../../src/sim/protocols/interval-lease/staging.ts';
import { quorumProtocol } from '../../src/sim/protocols/quorum/protocol.ts';
import { quorumStaging, quorumTapeToScript } from '../../src/sim/protocols/quorum/staging.ts';
import { register } from '../../src/sim/protocols/register/protocol.ts';
import { registerStaging, registerTapeToScript } from '../../src/sim/protocols/register/staging.ts';
import {
  fleaseProtocol,
  fleaseLiteral,
  paxosLeaseProtocol,
  paxosLeaseLiteral,
  paxosLeaseSkewed,
} from '../../src/sim/protocols/rounds/protocol.ts';
import { roundStaging, roundTapeToScript } from '../../src/sim/protocols/rounds/staging.ts';
import { roundsRegisterProtocol } from '../../src/sim/protocols/rounds-register/protocol.ts';
import { roundsRegisterStaging, roundsRegisterTapeToScript } from '../../src/sim/protocols/rounds-register/staging.ts';
import { STORAGE_VARIANTS, storageLeaseProtocol } from '../../src/sim/protocols/storage-leases/protocol.ts';
import { storageStaging, storageTapeToScript } from '../../src/sim/protocols/storage-leases/staging.ts';
import { toy } from '../../src/sim/protocols/toy/protocol.ts';
import { toyStaging, toyTapeToScript } from '../../src/sim/protocols/toy/staging.ts';
import { perform } from '../../src/sim/shrink/play.ts';
import { stageLike, tapeToPlay } from '../../src/sim/shrink/tape-to-script.ts';
import { Tape } from '../../src/sim/tape.ts';
import { World } from '../../src/sim/world.ts';
import { kitNamed } from '../support/kits.ts';
import { sized } from '../support/sizes.ts';

const WORLDS = 100;
const RUNS = sized(5, 12);

/** What a protocol's lines and commands are to each other in one run. */
interface Lines {
  /** Lines that gave no command, or one that is another line. */
  readonly strange: readonly string[];
  /** Lines that the actor did not understand. */
  readonly misread: readonly string[];
  readonly verbs: readonly string[];
}

interface BothWays {
  readonly name: string;
  /** The settings of a drawn world, and of the world that these settings make. */
  settings(seed: number): { readonly drawn: Settings; readonly made: Settings; readonly nodes: readonly [number, number] };
  lines(seed: number): Lines;
  /** How many its actors know. */
  readonly verbs: number;
}

/** Words without `lease N`, which says which of its node's requests a line is about. */
function plain(words: readonly string[]): readonly string[] {
  const at = words.indexOf('lease', 1);
  return at < 0 ? words : words.toSpliced(at, 2);
}

/** The same desk; what it is commanded is noted. */
function overheard<Command>(desk: Desk<Command>, given: Command[]): Desk<Command> {
  return new Proxy(desk, {
    get(target, name): unknown {
      const value: unknown = Reflect.get(target, name, target);
      if (name === 'command') {
        return (command: Command): void => {
          given.push(command);
          target.command(command);
        };
      }
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function bothWays<Message, Command, Event, Config, Node extends Core<Message, Command, Event>>({
  protocol,
  staging,
  tapeToScript,
}: Required<Omit<KitParts<Message, Command, Event, Config, Node>, 'smallWorld'>>): BothWays {
  return {
    name: protocol.name,
    verbs: staging.verbs.length,

    settings(seed) {
      const world = protocol.plan(new SeededChooser(seed), null);
      const drawn = tapeToScript.settings(world);
      const stage = staging.scenario({ ...staging.defaults, ...drawn });
      // No script is made of a world with a liar, so a stage may leave it out.
      const liars = stage.nodes < world.nodes ? (world.liars ?? 0) : 0;
      return { drawn, made: tapeToScript.settings(stage), nodes: [world.nodes - liars, stage.nodes] };
    },

    lines(seed) {
      const opened = protocol as unknown as SimProtocol<Message, Command, Event, Config>;
      const chooser = new SeededChooser(seed);
      const scenario = opened.plan(chooser, null);
      const lines = { strange: [] as string[], misread: [] as string[], verbs: [] as string[] };
      if (staging.scenario({ ...staging.defaults, ...tapeToScript.settings(scenario) }).nodes < scenario.nodes) return lines;
      const world = new World(opened, scenario, chooser, null, null);
      const tape = new Tape<Command>(() => world.nowUs, tapeToScript);
      world.tape = tape;
      world.run();
      const given: Command[] = [];
      perform(
        () => {
          const actor: typeof staging.actor = (one, core, desk) => staging.actor(one, core, overheard(desk, given));
          const stage = openStage({ ...staging, protocol, actor }, stageLike(tape, tapeToScript, scenario), null);
          const act = stage.do.bind(stage);
          stage.do = (action): ReturnType<typeof act> => {
            given.length = 0;
            if (action.kind !== 'act') return act(action);
            const line = stage.format(action);
            try {
              const notes = act(action);
              const [said] = given.map((command) => tapeToScript.say(command));
              // To use a lease, or to look, is no command.
              const isRight = said
                ? [said.verb, ...said.words].join(' ') === [action.verb, ...plain(action.words)].join(' ')
                : given.length === 0;
              if (!isRight) lines.strange.push(line);
              lines.verbs.push(action.verb);
              return notes;
            } catch (error) {
              // What cannot be done now is another matter than what is not understood.
              const why = error instanceof Error ? error.message : String(error);
              if (!/^cannot |^a WRITE comes|^ballots of a client/.test(why)) lines.misread.push(`${line}: ${why}`);
              throw error;
            }
          };
          return stage;
        },
        tapeToPlay(tape, tapeToScript, scenario, null),
      );
      return lines;
    },
  };
}

const ROUNDS = { tapeToScript: roundTapeToScript };
const BOTH_WAYS: readonly BothWays[] = [
  bothWays({ protocol: quorumProtocol, staging: quorumStaging, tapeToScript: quorumTapeToScript }),
  bothWays({ ...ROUNDS, protocol: fleaseProtocol, staging: roundStaging('flease', 'absolute') }),
  bothWays({ ...ROUNDS, protocol: fleaseLiteral, staging: roundStaging('flease', 'absolute') }),
  bothWays({ ...ROUNDS, protocol: paxosLeaseProtocol, staging: roundStaging('paxoslease', 'relative') }),
  bothWays({ ...ROUNDS, protocol: paxosLeaseSkewed, staging: roundStaging('paxoslease', 'absolute') }),
  bothWays({ ...ROUNDS, protocol: paxosLeaseLiteral, staging: roundStaging('paxoslease', 'absolute') }),
  bothWays({ protocol: register, staging: registerStaging, tapeToScript: registerTapeToScript }),
  bothWays({ protocol: roundsRegisterProtocol, staging: roundsRegisterStaging, tapeToScript: roundsRegisterTapeToScript }),
  ...STORAGE_VARIANTS.map((variant) =>
    bothWays({ protocol: storageLeaseProtocol(variant), staging: storageStaging(variant), tapeToScript: storageTapeToScript }),
  ),
  bothWays({ protocol: intervalProtocol, staging: intervalStaging, tapeToScript: intervalTapeToScript }),
  bothWays({ protocol: chandraToueg, staging: consensusStaging, tapeToScript: consensusTapeToScript }),
  bothWays({ protocol: fastCt, staging: fastStaging, tapeToScript: fastTapeToScript }),
  bothWays({ protocol: toy, staging: toyStaging, tapeToScript: toyTapeToScript }),
];

test('every kit that can be shrunk goes both ways here', () => {
  expect(BOTH_WAYS.map(({ name }) => name)).toEqual(kits.filter(({ shrinker }) => shrinker !== null).map(({ name }) => name));
});

describe.each(BOTH_WAYS)('$name', { timeout: 120_000 }, (protocol) => {
  it('says each of its worlds in settings that make a world with the same settings', () => {
    for (let run = 0; run < WORLDS; run++) {
      const { drawn, made, nodes } = protocol.settings(deriveSeed(11, run));
      expect(made).toEqual(drawn);
      expect(nodes[1]).toBe(nodes[0]);
    }
  });

  it('says each command as a line that gives that command', () => {
    const runs = Array.from({ length: RUNS }, (_, run) => protocol.lines(deriveSeed(12, run)));
    expect(runs.flatMap(({ misread }) => misread)).toEqual([]);
    expect(runs.flatMap(({ strange }) => strange)).toEqual([]);
    expect(new Set(runs.flatMap(({ verbs }) => verbs)).size).toBeGreaterThanOrEqual(Math.min(2, protocol.verbs));
  });
});

describe('a kit', () => {
  const bare = { ...simulation(toy), stage: null, shrinker: null, exploring: null };

  it('with worlds and users alone says what it cannot do', () => {
    expect(() => shrink(bare, 1, null)).toThrow('toy declares no staging and no tapeToScript');
    expect(() => explore(bare, {}, null)).toThrow('toy declares no staging and no smallWorld');
    expect(() => runScript('stage toy\n', [bare])).toThrow('a script begins with');
  });

  it('takes no bound that its world does not have', () => {
    expect(() => explore(kitNamed('toy'), { acceptors: 3 }, null)).toThrow('the world of toy has no bound acceptors');
  });
});
