/** Shrinking takes a member, a client or a disk away: what is left must still be a world that the first line of a script can say. */
import { expect, test } from 'vitest';
import { deriveSeed, SeededChooser } from '../../src/kernel/index.ts';
import type { Scenario, SimProtocol } from '../../src/sim/index.ts';
import { quorumProtocol } from '../../src/sim/protocols/quorum/protocol.ts';
import { quorumStaging, quorumTapeToScript } from '../../src/sim/protocols/quorum/staging.ts';
import { fleaseProtocol, paxosLeaseProtocol } from '../../src/sim/protocols/rounds/protocol.ts';
import { roundStaging, roundTapeToScript } from '../../src/sim/protocols/rounds/staging.ts';
import type { Settings } from '../../src/sim/stage/index.ts';

const PLANS = 60;

/** Every world with one thing less, and with two things less. Throws where a stage does not take one of them. */
function countSmaller<Config>(
  protocol: Pick<SimProtocol<never, unknown, unknown, Config>, 'plan' | 'smaller'>,
  staging: { readonly defaults: Settings; scenario(settings: Settings): Scenario<Config> },
  lines: { settings(scenario: Scenario<Config>): Settings },
): number {
  let count = 0;
  for (let run = 0; run < PLANS; run++) {
    const once = protocol.smaller?.(protocol.plan(new SeededChooser(deriveSeed(11, run)), null)) ?? [];
    for (const { scenario } of [...once, ...once.flatMap((one) => protocol.smaller?.(one.scenario) ?? [])]) {
      expect(staging.scenario({ ...staging.defaults, ...lines.settings(scenario) }).nodes).toBe(scenario.nodes);
      count++;
    }
  }
  return count;
}

test.each([
  ['quorum', (): number => countSmaller(quorumProtocol, quorumStaging, quorumTapeToScript)],
  ['flease', (): number => countSmaller(fleaseProtocol, roundStaging('flease', 'absolute'), roundTapeToScript)],
  ['paxoslease', (): number => countSmaller(paxosLeaseProtocol, roundStaging('paxoslease', 'relative'), roundTapeToScript)],
] as const)('%s', (_name, count) => {
  expect(count()).toBeGreaterThan(PLANS * 5);
});
