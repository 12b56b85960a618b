/**
 * Flease and PaxosLease in the simulator. Mutants that run on the papers to the letter are judged in worlds in which the
 * papers themselves hold: here they are, without the mutant, so that what breaks there is the mutant's doing.
 */
import { describe, expect, it } from 'vitest';
import { RoundCore } from '../../src/core/index.ts';
import { simulation } from '../../src/sim/index.ts';
import { roundRules, type RoundMutant } from '../../src/sim/protocols/rounds/mutants.ts';
import {
  fleaseProtocol,
  fleaseLiteral,
  paxosLeaseProtocol,
  paxosLeaseLiteral,
  paxosLeaseSkewed,
  type RoundProtocol,
} from '../../src/sim/protocols/rounds/protocol.ts';
import { deathOf, deathOnPage } from './page-of-mutants.ts';
import { sized } from '../support/sizes.ts';

const RUNS = sized(25, 60);

function broken(protocol: RoundProtocol, mutant: string | null, runs: number, worldsOf: string | null = mutant): string[] {
  const played = simulation({ ...protocol, plan: (chooser) => protocol.plan(chooser, worldsOf) });
  const found: string[] = [];
  for (let seed = 1; seed <= runs; seed++) {
    const [violation] = played.run(seed, mutant).violations;
    if (violation) found.push(`${violation.property} (seed ${seed})`);
  }
  return found;
}

describe('the engines', () => {
  it.each([fleaseProtocol, paxosLeaseProtocol, paxosLeaseSkewed])('$name is clean', (protocol) => {
    expect(broken(protocol, null, RUNS)).toEqual([]);
  });
});

describe('the papers to the letter', () => {
  const cases = [fleaseLiteral, paxosLeaseLiteral].flatMap((protocol) =>
    (protocol.mutants as readonly RoundMutant[]).map((mutant) => ({ protocol, mutant, name: mutant.name })),
  );

  it.each(cases)('$protocol.name holds in the worlds of $name', ({ protocol, mutant }) => {
    // With the rules that the mutant is played with besides.
    const whole = roundRules({ ...mutant, without: [] }, true);
    const played: RoundProtocol = { ...protocol, core: ({ config }, boot) => new RoundCore(config.core, boot, whole) };
    expect(broken(played, null, RUNS, mutant.name)).toEqual([]);
  });
});

describe('without its rule an engine breaks as the page of mutants says:', () => {
  const cases = [fleaseProtocol, fleaseLiteral, paxosLeaseProtocol, paxosLeaseSkewed, paxosLeaseLiteral].flatMap((protocol) =>
    protocol.mutants.map((mutant) => ({ protocol, ...mutant })),
  );

  it.each(cases)('$protocol.name $name', ({ protocol, ...mutant }) => {
    const engine = simulation(protocol);
    expect(deathOf(engine, mutant)).toEqual(deathOnPage(engine, mutant));
  });
});
