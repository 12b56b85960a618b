// Writes docs/research/evidence.md: what was exhausted, what was sampled, and what kills each mutant, from docs/research/evidence.jsonl,
// docs/research/mutants.md and test/scripts. `--check` only compares. `--record sim quorum --runs 5000 --seed 1` runs that
// command (`sim` or `explore`) with --json and keeps what came of it in docs/research/evidence.jsonl. `--again explore` does so
// for every command there, and of the list of worlds below, that has `explore` in it.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { kits, runScript } from '../dist/sim/index.js';

/**
 * @typedef {{ command: string, kind: 'explore', protocol: string, mutant: string | null, bounds: Record<string, number | boolean>, states: number, transitions: number,
 *   depth: number, exhausted: boolean, property: string | null, steps: number | null }} Explored
 * @typedef {{ command: string, kind: 'sim', protocol: string, mutant: string | null, runs: number, events: number, grants: number,
 *   liveness: { checked: number, failed: number }, violations: number, properties: string[], unreached: string[] }} Sampled
 * @typedef {{ file: string, steps: number, protocol: string, mutant: string | null, breaks: string | null }} Script
 * @typedef {{ property: string, run: string, replay: string }} Seed
 * @typedef {{ seed: Seed | undefined, told: Script[], found: Explored[], broken: string[] }} Death
 * @typedef {{ name: string, rule: string } & Death} Killed
 */

/**
 * Small worlds that the evidence must have besides those that were recorded by hand: the quorum engine where messages come
 * twice, proposers try twice, processes have two handles, and clocks drift. Each is searched to its end within a minute or two.
 */
const WORLDS = [
  'explore quorum --acceptors 1 --crashes 1 --duplicates 1 --tries 2 --renewals 0',
  'explore quorum --acceptors 1 --proposers 1 --attempts 2 --handles 2 --duplicates 1',
  'explore quorum --acceptors 1 --attempts 2 --handles 2 --crashes 1 --renewals 0 --instants 0',
  'explore quorum --acceptors 3 --crashes 0 --renewals 0 --no-release --instants 1 --duplicates 1',
  'explore quorum --acceptors 3 --crashes 0 --renewals 0 --no-release --drift 0.1',
  'explore quorum --acceptors 1 --crashes 1 --renewals 0 --no-release --tries 2 --drift 0.1',
  'explore quorum --acceptors 1 --crashes 1 --renewals 1 --duplicates 1 --drift 0.1',
  'explore register',
  'explore register --operations 2 --at-once 2',
  'explore register --mutant cached-read',
];

/** What a small world can break: nobody proclaims or stands in line in it, and it does not ask for progress. Registers without leases are explored, too. */
const EXPLORED = new Set(['exclusion', 'fencing', 'deadline', 'requests', 'R1', 'R2', 'R3', 'R4', 'R5']);

/** @param {string} path */
const at = (path) => new URL(`../${path}`, import.meta.url);
const DATA = at('docs/research/evidence.jsonl');
const PAGE = at('docs/research/evidence.md');
/** So many worlds are drawn to learn which properties a protocol is judged by. */
const PLANS = 200;

const [option, ...words] = process.argv.slice(2);
if (option === '--record') record(words);
else if (option === '--again') again(words.join(' '));
else if (option === '--check') check();
else writeFileSync(PAGE, page());

/** @param {string[]} args */
function record(args) {
  const { stdout, stderr, status } = spawnSync(process.execPath, [fileURLToPath(at('bin/tenure.js')), ...args, '--json'], {
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  });
  if (status === null || status >= 64) throw new Error(`tenure ${args.join(' ')} ended with ${status}: ${stderr}`);
  /** @type {any} */
  const found = JSON.parse(stdout);
  const command = `tenure ${args.join(' ')}`;
  const { protocol, mutant } = found;
  /** @type {Explored | Sampled} */
  const entry =
    args[0] === 'explore'
      ? {
          command,
          kind: 'explore',
          protocol,
          mutant,
          bounds: found.bounds,
          states: found.states,
          transitions: found.transitions,
          depth: found.depth,
          exhausted: found.exhausted,
          property: found.violation?.property ?? null,
          steps: found.violation?.steps ?? null,
        }
      : {
          command,
          kind: 'sim',
          protocol,
          mutant,
          runs: found.runs,
          events: found.events,
          grants: found.grants,
          liveness: found.liveness,
          violations: found.violations.length,
          properties: propertiesIn(found.violations),
          unreached: Object.entries(found.sometimes).flatMap(([name, count]) => (count === 0 ? [name] : [])),
        };
  const entries = [...read().filter((one) => one.command !== command), entry].sort((a, b) => (a.command < b.command ? -1 : 1));
  writeFileSync(DATA, entries.map((one) => `${JSON.stringify(one)}\n`).join(''));
}

/** @param {string} part */
function again(part) {
  const recorded = read().map(({ command }) => command.replace(/^tenure /, ''));
  for (const command of new Set([...recorded, ...WORLDS])) {
    if (!command.includes(part)) continue;
    process.stderr.write(`${command}\n`);
    record(command.split(' '));
  }
}

/** @param {{ property: string }[]} violations */
function propertiesIn(violations) {
  return [...new Set(violations.map(({ property }) => property))].toSorted((a, b) => (a < b ? -1 : 1));
}

function check() {
  if (readFileSync(PAGE, 'utf8') === page()) return;
  process.stderr.write('docs/research/evidence.md is not what its data says: npm run docs:evidence\n');
  process.exitCode = 1;
}

/** @returns {(Explored | Sampled)[]} */
function read() {
  return readFileSync(DATA, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

function page() {
  const entries = read();
  const scripts = readScripts();
  /** @type {Map<string, Seed>} */
  const seeds = new Map();
  const rows = readFileSync(at('docs/research/mutants.md'), 'utf8').matchAll(
    /^\| `([\w-]+)` .*\| (\S+) \| (\d+) \| `(tenure sim ([\w-]+) --replay \d+ [^`]*)` \|$/gm,
  );
  for (const [, mutant, property = '', run = '', replay = '', protocol] of rows)
    seeds.set(`${protocol} ${mutant}`, { property, run, replay });
  const lines = [
    '# Evidence',
    '',
    'What there is to show for each promise: small worlds searched to their end, large worlds sampled, and mutants, cores with one rule taken',
    'out, that the same referees must catch. A promise no mutant breaks would be one the referees may be blind to.',
    'A campaign judges some properties in a part of its worlds only: fencing where wall clocks keep to their bound, order where nothing fails.',
    'Where a table says none, nothing has been recorded: that is a gap, not a result.',
    '',
    'This page is written by `npm run docs:evidence` and held to its data by a test. The figures are in [evidence.jsonl](evidence.jsonl), each with the',
    'command that made it; `node scripts/evidence.mjs --record sim quorum --runs 5000 --seed 1` makes one anew. Scripts are explained in',
    '[scripts.md](scripts.md), the simulator in [simulator.md](simulator.md), the mutants in [mutants.md](mutants.md).',
    '',
  ];
  for (const kit of kits) {
    const { name, summary, mutants } = kit;
    const mine = entries.filter(({ protocol }) => protocol === name);
    const sampled = mine.filter((one) => one.kind === 'sim');
    const explored = mine.filter((one) => one.kind === 'explore');
    const killed = mutants.map((mutant) => ({ ...mutant, ...deathOf(mutant.name, name, seeds, scripts, explored) }));
    lines.push(`## ${name}`, '', `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`, '');
    lines.push(
      ...properties(
        kit.properties(PLANS),
        sampled,
        explored,
        killed,
        scripts.filter(({ protocol }) => protocol === name),
      ),
    );
    lines.push(...worlds(explored), ...samples(sampled), ...deaths(killed));
  }
  return `${lines.join('\n').trimEnd()}\n`;
}

/**
 * @param {string[]} names
 * @param {Sampled[]} sampled
 * @param {Explored[]} explored
 * @param {Killed[]} killed
 * @param {Script[]} scripts
 */
function properties(names, sampled, explored, killed, scripts) {
  const clean = sampled.filter(({ mutant }) => mutant === null);
  const runs = clean.reduce((sum, { runs: count }) => sum + count, 0);
  const exhausted = explored.filter(({ mutant, exhausted: isWhole, property }) => mutant === null && isWhole && property === null);
  const states = exhausted.reduce((sum, one) => sum + one.states, 0);
  const rows = names.map((name) => {
    const broken = clean.filter(({ properties: found }) => found.includes(name)).length > 0;
    const killers = killed.filter(({ broken: found }) => found.includes(name)).map(({ name: mutant }) => `\`${mutant}\``);
    const shown = scripts.filter(({ mutant, breaks }) => mutant === null && breaks === name).map((script) => link(script));
    const isExplored = EXPLORED.has(name) || (name === 'regularity' && !names.includes('exclusion'));
    const worldsOf = !isExplored ? 'not explored' : exhausted.length > 0 ? `${exhausted.length}, ${number(states)} states, clean` : 'none';
    const sample = runs === 0 ? 'none' : `${number(runs)} runs, ${broken ? '**broken**' : 'clean'}`;
    return `| ${name} | ${worldsOf} | ${sample} | ${[...killers, ...shown].join(', ') || 'none'} |`;
  });
  return ['| property | worlds exhausted | runs sampled | broken by |', '|---|---|---|---|', ...rows, ''];
}

/** @param {Explored[]} explored */
function worlds(explored) {
  if (explored.length === 0) return [];
  const rows = explored.map(({ command, bounds, states, transitions, depth, exhausted, property, steps }) => {
    const parameters = Object.entries(bounds).map(([name, value]) => `${name} ${value}`);
    const outcome =
      property === null ? (exhausted ? 'exhausted, clean' : 'not exhausted, clean so far') : `${property} breaks in ${steps} steps`;
    return `| \`${command}\` | ${parameters.join(', ')} | ${number(states)} | ${number(transitions)} | ${depth} | ${outcome} |`;
  });
  return [
    '### Worlds explored',
    '',
    '| command | parameters | states | transitions | depth | outcome |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
  ];
}

/** @param {Sampled[]} sampled */
function samples(sampled) {
  if (sampled.length === 0) return [];
  const rows = sampled.map(({ command, runs, events, grants, violations, properties: found, liveness, unreached }) => {
    const outcome = violations === 0 ? 'clean' : `${number(violations)} runs break ${found.join(', ')}`;
    const reached = unreached.length === 0 ? 'all' : `all but ${unreached.join(', ')}`;
    return `| \`${command}\` | ${number(runs)} | ${number(events)} | ${number(grants)} | ${number(liveness.checked)} | ${reached} | ${outcome} |`;
  });
  const head = ['| command | runs | events | grants | progress checked | sometimes reached | outcome |', '|---|---|---|---|---|---|---|'];
  return ['### Runs sampled', '', ...head, ...rows, ''];
}

/**
 * @param {string} mutant
 * @param {string} protocol
 * @param {Map<string, Seed>} seeds
 * @param {Script[]} scripts
 * @param {Explored[]} explored
 * @returns {Death}
 */
function deathOf(mutant, protocol, seeds, scripts, explored) {
  const seed = seeds.get(`${protocol} ${mutant}`);
  const told = scripts.filter((script) => script.protocol === protocol && script.mutant === mutant);
  const found = explored.filter((one) => one.mutant === mutant && one.property !== null);
  const broken = [seed?.property, ...told.map(({ breaks }) => breaks), ...found.map(({ property }) => property)];
  return { seed, told, found, broken: [...new Set(broken)].filter((property) => typeof property === 'string') };
}

/** @param {Killed[]} killed */
function deaths(killed) {
  if (killed.length === 0) return [];
  const rows = killed.map(({ name, rule, seed, told, found, broken }) => {
    const sample = seed ? `run ${seed.run}: \`${seed.replay}\`` : 'no';
    const search = found.map(({ command, steps }) => `${steps} steps: \`${command}\``).join('<br>') || 'no';
    return `| \`${name}\` | ${rule} | ${broken.join(', ')} | ${told.map((script) => link(script)).join('<br>') || 'none'} | ${sample} | ${search} |`;
  });
  return [
    `### Mutants killed: ${killed.filter(({ broken }) => broken.length > 0).length} of ${killed.length}`,
    '',
    '| mutant | rule it removes | breaks | script | found by sampling | found by the explorer |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
  ];
}

/** @returns {Script[]} */
function readScripts() {
  const folder = at('test/scripts/');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.txt'));
  return files.sort().map((file) => {
    const { header, steps, failures } = runScript(readFileSync(new URL(file, folder), 'utf8'));
    if (failures.length > 0) throw new Error(`test/scripts/${file}: ${failures.join('; ')}`);
    return { file, steps, protocol: header.protocol, mutant: header.mutant, breaks: header.breaks };
  });
}

/** @param {Script} script */
function link({ file, steps }) {
  const name = file.replace(/^.*\//, '').replace(/\.txt$/, '');
  return `[${name}](../../test/scripts/${file}), ${steps} steps`;
}

/** @param {number} value */
function number(value) {
  return value.toLocaleString('en-US');
}
