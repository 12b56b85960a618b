/** Failing seeds, and what becomes of them. */
import { deriveSeed } from '../../src/kernel/index.ts';
import {
  runScript,
  writeScript,
  type ReductionWatch,
  type ScriptRun,
  type Shrinker,
  type Shrunk,
  type Simulation,
} from '../../src/sim/index.ts';
import { kitNamed } from './kits.ts';

export const PATIENT: ReductionWatch = { tried: (): void => undefined, outOfTime: (): boolean => false };

/** Out of time after so many tries, on any machine. */
export function soon(triesMax: number): ReductionWatch {
  let tries = 0;
  return { tried: (): void => void tries++, outOfTime: (share = 1): boolean => tries > triesMax * share };
}

export function failingSeed(protocol: string, mutant: string | null, property: string): number {
  return failingSeedOf(kitNamed(protocol), mutant, property);
}

export function failingSeedOf(simulation: Simulation, mutant: string | null, property: string): number {
  for (let run = 0; run < 1000; run++) {
    const { seed, violations } = simulation.run(deriveSeed(1, run), mutant);
    if (violations[0]?.property === property) return seed;
  }
  throw new Error(`${simulation.name} does not break ${property}`);
}

export function shrinkerOf(protocol: string): Shrinker {
  return kitNamed(protocol).shrinker as Shrinker;
}

export function asText(protocol: string, mutant: string | null, { script }: Shrunk): string {
  if (!script) throw new Error('there is no script');
  const { settings, lines, violation } = script;
  return writeScript(kitNamed(protocol), { comment: [], settings, mutant, breaks: violation.property, lines });
}

/** The script that a failing seed became, run again: with its mutant, and with all rules in force. */
export function replay(protocol: string, mutant: string | null, shrunk: Shrunk): Pick<ScriptRun, 'failures' | 'changes'> {
  const { failures, changes } = runScript(asText(protocol, mutant, shrunk));
  return { failures, changes };
}
