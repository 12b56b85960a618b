/** docs/research/mutants.md, read back: the run the page names for a mutant, and what breaks in it. */
import { readFileSync } from 'node:fs';
import type { Mutant, Simulation } from '../../src/sim/index.ts';

const page = readFileSync(new URL('../../docs/research/mutants.md', import.meta.url), 'utf8');

interface Death {
  readonly seed: number;
  readonly property: string | undefined;
  readonly breaksLiveness: boolean;
}

type Named = Pick<Simulation, 'name' | 'run'>;
type Missing = Pick<Mutant, 'name' | 'breaksLiveness'>;

export function deathOnPage({ name: protocol }: Named, { name, breaksLiveness }: Missing): Death {
  const row = new RegExp(
    `^\\| \`${name}\` \\|.*\\| (\\S+) \\| \\d+ \\| \`tenure sim ${protocol} --replay (\\d+) --mutant ${name}\` \\|$`,
    'm',
  ).exec(page);
  if (row === null) throw new Error(`the page has no row for ${name}: npm run docs:mutants writes it`);
  return { seed: Number(row[2]), property: row[1], breaksLiveness: breaksLiveness === true };
}

/** What becomes of the mutant in the run that the page names. */
export function deathOf(kit: Named, mutant: Missing): Death {
  const { seed } = deathOnPage(kit, mutant);
  const property = kit.run(seed, mutant.name).violations[0]?.property;
  return { seed, property, breaksLiveness: property === 'liveness' };
}
