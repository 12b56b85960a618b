/** Worlds in which clients lie: referees judge the honest nodes, which notice nothing. */
import { describe, expect, it } from 'vitest';
import { SeededChooser } from '../../src/kernel/index.ts';
import type { Core } from '../../src/core/index.ts';
import { fleaseProtocol, paxosLeaseProtocol } from '../../src/sim/protocols/rounds/protocol.ts';
import { quorumProtocol } from '../../src/sim/protocols/quorum/protocol.ts';
import type { SimProtocol } from '../../src/sim/protocol.ts';
import { World } from '../../src/sim/world.ts';

const WORLDS = 8;
/** A mutant's worlds are half of the swarm. */
const MUTANT_WORLDS = 120;

/** What was broken in the first worlds with liars from a seed on; ends with the first if it is to find one. */
function brokenBy<Message, Command, Event, Config, Node extends Core<Message, Command, Event>>(
  protocol: SimProtocol<Message, Command, Event, Config, Node>,
  mutant: string | null,
  worlds: number,
): string[] {
  const opened = protocol as unknown as SimProtocol<Message, Command, Event, Config>;
  const broken: string[] = [];
  for (let seed = 1, left = worlds; left > 0 && (mutant === null || broken.length === 0); seed++) {
    const chooser = new SeededChooser(seed);
    const scenario = opened.plan(chooser, mutant);
    if ((scenario.liars ?? 0) === 0) continue;
    left--;
    const world = new World(opened, scenario, chooser, mutant, null);
    world.run();
    broken.push(...world.panel.violations.map(({ property, message }) => `seed ${seed}: ${property}: ${message}`));
  }
  return broken;
}

describe('liars', () => {
  it('harm no honest node of the quorum engine', { timeout: 120_000 }, () => {
    expect(brokenBy(quorumProtocol, null, WORLDS)).toEqual([]);
  });

  it('harm no honest node of Flease and PaxosLease', { timeout: 120_000 }, () => {
    expect(brokenBy(fleaseProtocol, null, WORLDS)).toEqual([]);
    expect(brokenBy(paxosLeaseProtocol, null, WORLDS)).toEqual([]);
  });

  it.each(['believes-any-clock', 'answers-from-anyone', 'incarnation-taken-over'])('are noticed by %s', { timeout: 240_000 }, (mutant) => {
    expect(brokenBy(quorumProtocol, mutant, MUTANT_WORLDS)).not.toEqual([]);
  });
});
