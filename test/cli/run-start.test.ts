/** What a start of `tenure run` leaves for the next: code that V8 has compiled, beside the bundle, and never trusted blindly. */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { ROOT } from '../support/tree.ts';
import { freePort } from '../transport/cell.ts';
import { isThere, MembersApart } from './run-kit.ts';

let cell: MembersApart;
beforeAll(async () => {
  cell = await MembersApart.start(4000);
});
afterAll(() => cell.close());

/** The package as it is installed: nothing but the launcher and the bundle. */
const installed = realpathSync(mkdtempSync(join(tmpdir(), 'tenure-installed-')));
const bundle = join(installed, 'dist', 'command');
afterAll(() => rmSync(installed, { recursive: true, force: true }));
beforeEach(() => {
  rmSync(bundle, { recursive: true, force: true });
  mkdirSync(bundle, { recursive: true });
  cpSync(join(ROOT, 'bin'), join(installed, 'bin'), { recursive: true });
  cpSync(join(ROOT, 'dist/command'), bundle, { recursive: true, filter: (file) => !file.endsWith('.cache') });
  cpSync(join(ROOT, 'package.json'), join(installed, 'package.json'));
});

/** Nothing here takes so long. */
const HANGS_MS = 20_000;

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(args: readonly string[] = ['--', 'echo', 'ran'], env: NodeJS.ProcessEnv = {}): Ran {
  const options = { env: { ...cell.env, NODE_OPTIONS: '', ...env }, encoding: 'utf8', timeout: HANGS_MS } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(installed, 'bin/tenure.js'), 'run', 'start', ...args], options);
  return { status, stdout, stderr };
}

const WELL = { status: 0, stdout: 'ran\n', stderr: '' };

/** The kept files; each is another file if it was written anew. */
function kept(): Map<string, number> {
  return new Map(readdirSync(bundle).flatMap((name) => (name.endsWith('.cache') ? [[name, statSync(join(bundle, name)).ino]] : [])));
}

it('a command that ended well leaves what was compiled, and the next start takes it', () => {
  expect(run()).toEqual(WELL);
  const first = kept();
  expect([...first.keys()].map((name) => name.replace(/-.*/, ''))).toEqual(['cell', 'start']);
  expect(run()).toEqual(WELL);
  expect(kept()).toEqual(first);
});

it('what was damaged is not run, and is replaced', () => {
  run();
  for (const name of kept().keys()) {
    const bytes = readFileSync(join(bundle, name));
    // V8 sees only that a file is too short.
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 0xff;
    writeFileSync(join(bundle, name), bytes);
  }
  const damaged = kept();
  expect(run()).toEqual(WELL);
  const repaired = kept();
  expect([...repaired.keys()]).toEqual([...damaged.keys()]);
  for (const [name, file] of repaired) expect(file).not.toBe(damaged.get(name));
});

it('what was kept of another bundle is not run', () => {
  run();
  for (const name of readdirSync(bundle).filter((file) => /^(?:start|cell)-.*\.js$/.test(file))) {
    const source = readFileSync(join(bundle, name), 'latin1');
    // Of the same length: V8 compares no more than that.
    writeFileSync(join(bundle, name), source.replaceAll('put -- before the command', 'PUT -- BEFORE THE COMMAND'), 'latin1');
  }
  expect(run(['true'])).toMatchObject({ status: 64, stderr: expect.stringContaining('PUT -- BEFORE THE COMMAND') });
});

it.each([
  { when: 'the command ended badly', args: ['--', 'false'], env: {}, status: 1 },
  { when: 'Node has flags of its own', args: ['--', 'true'], env: { NODE_OPTIONS: '--no-warnings' }, status: 0 },
  { when: 'nothing is to be kept', args: ['--', 'true'], env: { NODE_DISABLE_COMPILE_CACHE: '1' }, status: 0 },
])('nothing is left when $when', ({ args, env, status }) => {
  expect(run(args, env)).toMatchObject({ status, stderr: '' });
  expect([...kept().keys()]).toEqual([]);
});

it('a command whose switch cannot be started is ended, and the code says so', () => {
  rmSync(join(bundle, 'switch.js'));
  const { status, stdout, stderr } = run(['--', 'sh', '-c', 'echo "$$"; exec sleep 1000']);
  expect(status).toBe(70);
  expect(stderr).toContain("the dead-man's switch that guards the command cannot be started");
  expect(isThere(Number(stdout))).toBe(false);
});

it('packages are found from code that was kept', async () => {
  run();
  expect(kept().size).toBe(2);
  symlinkSync(join(ROOT, 'node_modules'), join(installed, 'node_modules'));
  const member = ['--cell', 'kept', '--self', 'a', '--members', `a=127.0.0.1:${await freePort()}`, '--data-dir', join(installed, 'data')];
  const served = spawn(process.execPath, [join(installed, 'bin/tenure.js'), 'serve', ...member], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(served, 'close');
  let said = '';
  for (const stream of [served.stdout, served.stderr]) {
    stream.on('data', (text: Buffer) => {
      const isKnown = said.includes('"listening"');
      said += text.toString();
      if (!isKnown && said.includes('"listening"')) served.kill('SIGTERM');
    });
  }
  await ended;
  expect(said).toContain('"stopped"');
  expect(said).not.toContain('Warning');
});
