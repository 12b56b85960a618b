// `npm run verify`: everything that must hold before a commit, one stage after the other, stopping at the
// first that fails. Writes nothing but build output. `--skip layers,tests` leaves stages out.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const packed = mkdtempSync(join(tmpdir(), 'tenure-verify-'));
process.on('exit', () => rmSync(packed, { recursive: true, force: true }));

const HOUSE_RULES = ['test/tidy.test.ts', 'test/layers.test.ts'];

const FOR_RESEARCH = ['./kernel', './core', './wire', './check', './sim'];

/** The tarball of the stage `package`; asked for only after `npm pack` has made it. */
const tarball = () => join(packed, readdirSync(packed)[0] ?? 'missing.tgz');

/** @typedef {() => readonly [command: string, ...args: string[]]} Command */
/** @type {readonly { name: string, commands: readonly Command[], retry: string, live?: boolean }[]} */
const STAGES = [
  { name: 'types of src', commands: [() => ['tsc', '-b'], () => ['node', 'scripts/bundle.mjs']], retry: 'npm run build' },
  {
    name: 'types of the rest',
    commands: [() => ['tsc', '-b', 'test', 'bench', 'examples', 'scripts']],
    retry: 'npx tsc -b test bench examples scripts',
  },
  { name: 'lint', commands: [() => ['oxlint', '--type-aware', '--deny-warnings']], retry: 'npm run fix' },
  { name: 'format', commands: [() => ['oxfmt', '--check']], retry: 'npm run fix' },
  { name: 'dead code', commands: [() => ['knip', '--no-progress', '--no-config-hints']], retry: 'npx knip' },
  {
    name: 'package',
    commands: [
      () => ['npm', 'pack', '--ignore-scripts', '--silent', '--pack-destination', packed],
      () => ['publint', '--strict', tarball()],
      // What programs use is there for every resolver; the layers for research are modules only.
      () => ['attw', '--exclude-entrypoints', ...FOR_RESEARCH, '--', tarball()],
      () => ['attw', '--profile', 'esm-only', '--entrypoints', ...FOR_RESEARCH, '--', tarball()],
    ],
    retry: 'npx publint --strict && npx attw --pack .',
  },
  {
    name: 'layers',
    commands: [() => ['vitest', 'run', '--reporter=dot', ...HOUSE_RULES]],
    retry: `npx vitest run ${HOUSE_RULES.join(' ')}`,
  },
  {
    name: 'tests',
    commands: [() => ['vitest', 'run', ...HOUSE_RULES.flatMap((file) => ['--exclude', file])]],
    retry: 'npm test',
    live: true,
  },
];

const { values } = parseArgs({ options: { skip: { type: 'string', multiple: true, default: [] } } });
const skipped = new Set(values.skip.flatMap((list) => list.split(',')).map((name) => name.trim()));
for (const name of skipped) {
  if (STAGES.some((stage) => stage.name === name)) continue;
  console.error(`verify: no stage is called "${name}"; there are: ${STAGES.map((stage) => stage.name).join(', ')}`);
  process.exit(64);
}

const bin = join(root, 'node_modules', '.bin');
const env = { ...process.env, PATH: `${bin}${process.platform === 'win32' ? ';' : ':'}${process.env['PATH'] ?? ''}` };

for (const { name, commands, retry, live = false } of STAGES) {
  if (skipped.has(name)) {
    console.log(`${name.padEnd(18)} skipped`);
    continue;
  }
  const started = performance.now();
  for (const command of commands) {
    const [file, ...args] = command();
    const result = spawnSync(file, args, {
      cwd: root,
      env,
      encoding: 'utf8',
      stdio: live ? 'inherit' : ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
      maxBuffer: 64 * 1024 * 1024,
    });
    if (result.status === 0) continue;
    if (result.error) console.error(result.error.message);
    if (!live) console.error(`${result.stdout ?? ''}${result.stderr ?? ''}`);
    console.error(`${name.padEnd(18)} FAILED in ${seconds(started)}; run: ${retry}`);
    process.exit(1);
  }
  console.log(`${name.padEnd(18)} ok ${seconds(started)}`);
}
console.log('verify: all is well');

/** @param {number} started */
function seconds(started) {
  return `${((performance.now() - started) / 1000).toFixed(1)} s`;
}
