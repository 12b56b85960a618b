/** I4–I7: consensus in large worlds: nothing breaks, everything happens, every mutant dies, and snapshots leave nothing out. */
import { describe, expect, test } from 'vitest';
import { deriveSeed } from '../../src/kernel/index.ts';
import { fastCt } from '../../src/sim/protocols/consensus/fast-ct.ts';
import { chandraToueg } from '../../src/sim/protocols/consensus/protocol.ts';
import type { Core } from '../../src/core/index.ts';
import type { SimProtocol } from '../../src/sim/index.ts';
import { kitNamed } from '../support/kits.ts';
import { replaySwapped } from './swapped-core.ts';
import { deathOf, deathOnPage } from './page-of-mutants.ts';
import { sized } from '../support/sizes.ts';

const SLOW = 120_000;
/** Of so few worlds perhaps none has it. */
const SELDOM: readonly string[] = sized(['disk-failed'], []);

function judged<Message, Command, Event, Config, Node extends Core<Message, Command, Event> & object>(
  protocol: SimProtocol<Message, Command, Event, Config, Node>,
  runs: number,
  isExact: boolean,
): void {
  const kit = kitNamed(protocol.name);

  test(
    'keeps validity, integrity, agreement and termination, in worlds in which everything happens',
    () => {
      const counts: Record<string, number> = {};
      for (let run = 0; run < runs; run++) {
        const { seed, violations, sometimes } = kit.run(deriveSeed(2, run), null);
        expect({ seed, violations }).toEqual({ seed, violations: [] });
        for (const [name, count] of Object.entries(sometimes)) counts[name] = (counts[name] ?? 0) + count;
      }
      expect(Object.entries(counts).flatMap(([name, count]) => (count === 0 && !SELDOM.includes(name) ? [name] : []))).toEqual([]);
    },
    SLOW,
  );

  test.each(kit.mutants)(
    '$name breaks as the page of mutants says',
    (mutant) => {
      expect(deathOf(kit, mutant)).toEqual(deathOnPage(kit, mutant));
      expect(kit.run(deathOnPage(kit, mutant).seed, null).violations).toEqual([]);
    },
    SLOW,
  );

  test(
    'a core built from the snapshot of another goes on where that one was',
    () => {
      let all = 0;
      for (let run = 0; run < 12; run++) {
        const seed = deriveSeed(5, run);
        const { run: result, swaps } = replaySwapped(protocol, seed, 60);
        expect(result.violations).toEqual([]);
        expect(isExact ? result.events : null).toBe(isExact ? kit.run(seed, null).events : null);
        all += swaps;
      }
      expect(all).toBeGreaterThan(100);
    },
    SLOW,
  );
}

describe('chandra-toueg', () => {
  judged(chandraToueg, sized(60, 120), true);
});

describe('fast-ct', () => {
  // Leases forget, when they are restored, what they would be woken for in vain: then times differ.
  judged(fastCt, sized(100, 300), false);
});
