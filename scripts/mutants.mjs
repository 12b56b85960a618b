// Writes docs/research/mutants.md: for every mutant of every protocol the first run of campaign 1 that kills it. With
// `--only PROTOCOL` (more than once, if need be) the other sections stay as they are.
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { deriveSeed } from '../dist/kernel/index.js';
import { kits } from '../dist/sim/index.js';

const CAMPAIGN = 1;
const RUNS_MAX = 5000;
const PAGE = new URL('../docs/research/mutants.md', import.meta.url);

const { values } = parseArgs({ options: { only: { type: 'string', multiple: true, default: [] } } });
const { only } = values;
const page = readFileSync(PAGE, 'utf8');

/** What the page says of a protocol now. */
function sectionOf(/** @type {string} */ protocol) {
  const start = page.indexOf(`## ${protocol}\n`);
  if (start < 0) throw new Error(`the page has no section on ${protocol}: write it with --only ${protocol}`);
  return page.slice(start, page.indexOf('\n\n', page.indexOf('|', start))).split('\n');
}

const lines = [
  '# Mutants',
  '',
  'Each mutant takes one rule out of a core. The simulator must find a violation for every one of them, and none for the product.',
  '',
  `This page is written by \`npm run docs:mutants\`: it walks the runs of \`--seed ${CAMPAIGN}\` and notes the first that breaks.`,
  'Replay any line with the command shown; `tests` do so for every seed on this page.',
  '',
];

for (const simulation of kits) {
  if (simulation.mutants.length === 0) continue;
  if (only.length > 0 && !only.includes(simulation.name)) {
    lines.push(...sectionOf(simulation.name), '');
    continue;
  }
  lines.push(
    `## ${simulation.name}`,
    '',
    '| mutant | rule it removes | what happens | broken property | run | replay |',
    '|---|---|---|---|---|---|',
  );
  for (const { name, rule, how, breaksLiveness } of simulation.mutants) {
    let found = null;
    let run = 0;
    for (; run < RUNS_MAX && !found; run++) {
      const result = simulation.run(deriveSeed(CAMPAIGN, run), name);
      const violation = result.violations[0];
      if (violation && (violation.property === 'liveness') === (breaksLiveness === true))
        found = { seed: result.seed, property: violation.property };
    }
    if (!found) throw new Error(`${simulation.name} --mutant ${name} survives ${RUNS_MAX} runs`);
    const replay = `tenure sim ${simulation.name} --replay ${found.seed} --mutant ${name}`;
    lines.push(`| \`${name}\` | ${rule} | ${how} | ${found.property} | ${run} | \`${replay}\` |`);
    process.stderr.write(`${simulation.name} ${name}: run ${run}, ${found.property}\n`);
  }
  lines.push('');
}

lines.push(
  'The mutants of `flease-literal` and `paxoslease-literal` run on the papers to the letter, in worlds in which those hold (`test/sim/rounds.test.ts`).',
  '`deadline-at-propose` has the attempt deadline of rule 1 besides, which the paper lacks: with the other half of rule 1 it holds.',
  '',
  'The quorum engine once had a literal variant of its own (rule 2 off, prepare always), on which three mutants ran. With rule 2 in force an acceptor refuses what',
  'they would do, so they moved: `deadline-at-propose` and `own-lease-always-open` to `paxoslease-literal`; `no-attempt-deadline` stays with the product,',
  'where it hands out leases after their ends. That promises of before a crash are added to promises of after it is shown by `paxoslease-literal` as it is.',
  '',
);
writeFileSync(PAGE, lines.join('\n'));
