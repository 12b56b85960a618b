/** Failing seeds of Flease, PaxosLease and the register under them become scripts, whatever the world and the property. */
import { describe, expect, it } from 'vitest';
import type { MonoUs, WallUs } from '../../src/kernel/index.ts';
import { RoundCore, type LeaseCommand, type RoundMessage, type RoundStep } from '../../src/core/index.ts';
import { openStage, runScript, simulation, type Shrunk } from '../../src/sim/index.ts';
import type { RoundProtocol } from '../../src/sim/protocols/rounds/protocol.ts';
import { roundTapeToScript } from '../../src/sim/protocols/rounds/staging.ts';
import { shrinker } from '../../src/sim/shrink/shrink.ts';
import { roundWorlds } from '../support/kits.ts';
import { asText, failingSeed, failingSeedOf, replay, shrinkerOf, soon } from '../support/shrinking.ts';
import { NO_STORAGE } from '../support/storage.ts';

const KEPT = { failures: [], changes: [] };

function shrink(protocol: string, mutant: string, property: string, tries: number): Shrunk {
  return shrinkerOf(protocol).shrink(failingSeed(protocol, mutant, property), mutant, soon(tries)) as Shrunk;
}

type RoundStaging = (typeof roundWorlds)[number]['staging'];

function stagingOf(name: string): RoundStaging {
  return roundWorlds.find(({ staging }) => staging.protocol.name === name)?.staging as RoundStaging;
}

/** The same protocol, drawn in worlds of which this is true. */
function drawnWhere(protocol: RoundProtocol, isSo: (scenario: ReturnType<RoundProtocol['plan']>) => boolean): RoundProtocol {
  return {
    ...protocol,
    plan(chooser) {
      for (;;) {
        const scenario = protocol.plan(chooser, null);
        if (isSo(scenario)) return scenario;
      }
    },
  };
}

describe('a failing seed', { timeout: 120_000 }, () => {
  it.each([
    ['read-copy-refused', 'R1'],
    ['write-copy-refused', 'R2'],
    ['nack-is-vote', 'R3'],
    ['read-below', 'R4'],
    ['any-answer', 'R5'],
  ])('of the round-based register without %s becomes a script that breaks %s, and leaves the product whole', (mutant, property) => {
    const shrunk = shrink('rounds-register', mutant, property, 1500);
    expect(shrunk.script?.violation.property).toBe(property);
    expect(replay('rounds-register', mutant, shrunk)).toEqual(KEPT);
  });

  it('of a release that learners hear of late has the word that the product sends sooner in its script', () => {
    const [mutant, seed] = ['release-late-to-learners', 367795438975257];
    const shrunk = shrinkerOf('paxoslease-skewed').shrink(seed, mutant, soon(400)) as Shrunk;
    expect(shrunk.script?.lines.filter((line) => line.startsWith('maybe '))).toHaveLength(1);
    expect(shrunk.script?.lines.find((line) => line.startsWith('maybe '))).toMatch(/^maybe deliver \S+ learn #\d+$/);
    expect(replay('paxoslease-skewed', mutant, shrunk)).toEqual(KEPT);
  });

  it('of the round-based register has small ballots and values in its script', () => {
    const { script } = shrink('rounds-register', 'any-answer', 'R5', 3000);
    const numbers = script?.lines.flatMap((line) => (/^(?:read|write) \S+ (\d+)$/.exec(line) ?? []).slice(1)) ?? [];
    expect(numbers.length).toBeGreaterThan(2);
    expect(Math.max(...numbers.map(Number))).toBeLessThanOrEqual(numbers.length);
  });

  it.each([
    ['flease', 2, 'nack-is-vote', 'exclusion', /^deliver /],
    ['flease', 3, 'nack-is-vote', 'exclusion', /^deliver /],
    ['paxoslease', 4, 'nack-is-vote', 'exclusion', /^deliver /],
    ['paxoslease', 4, 'no-restart-silence', 'belief', /^look /],
  ] as const)(
    'of %s, Algorithm %i, where clocks agree exactly, without %s becomes a script that breaks %s',
    (name, algorithm, mutant, property, end) => {
      const staging = stagingOf(name);
      const protocol = drawnWhere(staging.protocol, ({ config: { core } }) => {
        return core.timing.clocks === 'absolute' && core.timing.skewUs === 0 && core.algorithm === algorithm;
      });
      const seed = failingSeedOf(simulation(protocol), mutant, property);
      const shrunk = shrinker({ ...staging, protocol }, roundTapeToScript).shrink(seed, mutant, soon(1500)) as Shrunk;
      expect(shrunk.script?.violation.property).toBe(property);
      expect(shrunk.script?.lines.at(-1)).toMatch(end);
      expect(replay(name, mutant, shrunk)).toEqual(KEPT);
    },
  );

  it('of what a holder says of itself becomes a script that breaks regularity', () => {
    const shrunk = shrink('flease', 'helper-undoes-proclaim', 'regularity', 1500);
    expect(shrunk.script?.lines.some((line) => line.startsWith('proclaim '))).toBe(true);
    expect(replay('flease', 'helper-undoes-proclaim', shrunk)).toEqual(KEPT);
  });

  it('that needs a release as of a later time becomes a script that says it', () => {
    const staging = stagingOf('paxoslease-skewed');
    const protocol: RoundProtocol = {
      ...drawnWhere(staging.protocol, ({ config }) => config.habits.releasesLater && config.agrees),
      core: ({ config }, boot) => new HastyCore(config.core, boot),
    };
    const hasty = { ...staging, protocol };
    const seed = failingSeedOf(simulation(protocol), null, 'exclusion');
    const { script } = shrinker(hasty, roundTapeToScript).shrink(seed, null, soon(3000)) as Shrunk;
    const lines = script?.lines ?? [];
    expect(lines.some((line) => /^release \S+ \S+ in \S+/.test(line))).toBe(true);
    // The product gives the lease back when it said it would.
    const product = runScript(asText('paxoslease-skewed', null, { script } as Shrunk));
    expect(product.violation).toBeNull();
    const stage = openStage(hasty, script?.settings ?? {}, null);
    stage.startAll();
    for (const line of lines) stage.line(line);
    expect(stage.violations[0]?.property).toBe('exclusion');
  });
});

/** A core that gives a lease back at once where it should in a while, and uses it until then. */
class HastyCore extends RoundCore {
  readonly #until = new Map<number, number>();

  override command(command: LeaseCommand, step: RoundStep): void {
    if (command.kind !== 'release' || (command.inUs ?? 0) === 0) {
      super.command(command, this.#silenced(step));
      return;
    }
    this.#until.set(command.lease, step.monoUs + (command.inUs ?? 0));
    super.command({ ...command, inUs: 0 }, this.#silenced(step));
  }

  override receive(from: Parameters<RoundCore['receive']>[0], message: RoundMessage, step: RoundStep): void {
    super.receive(from, message, this.#silenced(step));
  }

  override wake(step: RoundStep): void {
    super.wake(this.#silenced(step));
  }

  override remainingUs(lease: number, name: Uint8Array, mono: MonoUs, wall: WallUs): number {
    const until = this.#until.get(lease);
    return until === undefined ? super.remainingUs(lease, name, mono, wall) : Math.max(0, until - mono);
  }

  /** Says nothing of the end of what it goes on using. */
  #silenced(step: RoundStep): RoundStep {
    const { monoUs, wallUs } = step;
    return {
      monoUs,
      wallUs,
      choose: (bound) => step.choose(bound),
      send: (to, message) => step.send(to, message),
      ...NO_STORAGE,
      emit: (event) => {
        const isHushed = 'lease' in event && this.#until.has(event.lease) && (event.kind === 'stopped' || event.kind === 'released');
        if (!isHushed) step.emit(event);
      },
    };
  }
}
