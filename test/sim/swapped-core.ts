/**
 * Runs a protocol with its cores swapped: at some inputs a core is thrown away and another one, built anew
 * from its snapshot, goes on in its place. A core whose snapshot leaves nothing out gives the same run.
 */
import { isDeepStrictEqual } from 'node:util';
import { SeededChooser } from '../../src/kernel/index.ts';
import type { Boot, Core } from '../../src/core/index.ts';
import { simulation, type SimProtocol, type TracedRun } from '../../src/sim/index.ts';

const INPUTS = new Set<PropertyKey>(['receive', 'command', 'wake', 'completed']);

/** The run of a seed in which about one of `oneIn` inputs finds its core swapped, and how many did. */
export function replaySwapped<Message, Command, Event, Config, Node extends Core<Message, Command, Event> & object>(
  protocol: SimProtocol<Message, Command, Event, Config, Node>,
  seed: number,
  oneIn: number,
): { run: TracedRun; swaps: number } {
  let swaps = 0;
  const swapping = simulation<Message, Command, Event, Config, Node>({
    ...protocol,
    core(scenario, boot: Boot, mutant) {
      // Its own choices: those of the run must not be touched.
      const chooser = new SeededChooser(boot.incarnation);
      let core = protocol.core(scenario, boot, mutant);
      const swap = (): void => {
        const snapshot = core.snapshot();
        const successor = protocol.core(scenario, boot, mutant);
        successor.restore(structuredClone(snapshot));
        if (!isDeepStrictEqual(successor.snapshot(), snapshot)) throw new Error('the snapshot of a restored core is another');
        core = successor;
        swaps++;
      };
      return new Proxy(core, {
        get(_first, name) {
          if (INPUTS.has(name) && chooser.below(oneIn) === 0) swap();
          const value: unknown = Reflect.get(core, name, core);
          return typeof value === 'function' ? (value.bind(core) as unknown) : value;
        },
      });
    },
  });
  return { run: swapping.replay(seed, null), swaps };
}
