/** docs/research/mutants.md, read back: every mutant dies in the run the page names, of what the page says. */
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { Mutant, Simulation } from '../../src/sim/index.ts';

const page = readFileSync(new URL('../../docs/research/mutants.md', import.meta.url), 'utf8');

/** The seed of that run. */
export function expectDeath(
  kit: Pick<Simulation, 'name' | 'run'>,
  { name, breaksLiveness }: Pick<Mutant, 'name' | 'breaksLiveness'>,
): number {
  const row = new RegExp(
    `^\\| \`${name}\` \\|.*\\| (\\S+) \\| \\d+ \\| \`tenure sim ${kit.name} --replay (\\d+) --mutant ${name}\` \\|$`,
    'm',
  ).exec(page);
  expect(row, `npm run docs:mutants writes a row for ${name}`).not.toBeNull();
  const [, property, seed] = row as RegExpExecArray;
  expect(kit.run(Number(seed), name).violations[0]?.property).toBe(property);
  expect(property === 'liveness').toBe(breaksLiveness === true);
  return Number(seed);
}
