/**
 * The package as its users get it: packed, installed into fresh projects, and used from modules, from CommonJS, from TypeScript of every
 * kind, and in the test runners people have. One project has all the tools, because installing them takes longest.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../support/tree.ts';

const INSTALL_MS = 300_000;
/** The oldest that must do. The newest is the repository's own. */
const OLDEST = '5.2.2';
const JEST = '30.5.2';

const run = promisify(execFile);
let folder = '';
let installed = '';

/** Uses what programs use, and says so in the end. */
const PROGRAM = `
async function main() {
  const kit = await testCell();
  const client = await kit.client();
  const token = await client.using('x', async (lease) => lease.token);
  for await (const change of client.watch('x')) if (change.kind === 'current') break;
  const error = await client.acquire('').catch((caught) => caught);
  const storage = await openStorage('memory:///matrix');
  const taken = await storage.tryAcquire('y');
  await storage.close();
  await kit.close();
  return token > 0 && taken.ok && error instanceof TenureError ? 'it works' : 'it does not';
}
`;
const NAMES = 'openStorage, TenureError';
const AS_MODULE = `import { ${NAMES} } from 'tenure';\nimport { testCell } from 'tenure/testing';\n${PROGRAM}`;
const AS_COMMONJS = `const { ${NAMES} } = require('tenure');\nconst { testCell } = require('tenure/testing');\n${PROGRAM}`;
const AS_TYPESCRIPT = `import { connect, joinCell, ${NAMES}, type Cell, type Lease, type LeaseClient } from 'tenure';
import { testCell } from 'tenure/testing';
import { leaseServiceConformance } from 'tenure/conformance';
import { openStore, type Store } from 'tenure/store';
${PROGRAM.replace('async function main() {', 'async function main(): Promise<string> {')
  .replace('const client =', 'const client: LeaseClient =')
  .replace('async (lease) =>', 'async (lease: Lease) =>')
  .replace('(caught) =>', '(caught: unknown) =>')}
export function listen(cell: Cell, store: Store): void {
  cell.on('state', (state) => void state.length);
  void [connect, joinCell, openStore, leaseServiceConformance, store];
}
void main().then((said) => console.log(said));
`;

function write(file: string, text: string): string {
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

async function outputOf(file: string, ...args: string[]): Promise<string> {
  try {
    const { stdout, stderr } = await run(process.execPath, [file, ...args], { cwd: folder });
    return `${stdout}${stderr}`;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return `${stdout}${stderr}`;
  }
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tenure-matrix-'));
  // Its npm runs nothing of the repository: what is packed is what was built.
  execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], { cwd: ROOT, stdio: 'ignore' });
  const [tarball = ''] = readdirSync(folder);
  write('package.json', '{ "name": "a-user", "version": "1.0.0", "private": true }\n');
  const packages = [`./${tarball}`, `jest@${JEST}`, `typescript-oldest@npm:typescript@${OLDEST}`];
  const { stdout, stderr } = await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', ...packages], { cwd: folder });
  installed = `${stdout}${stderr}`;
  for (const name of ['vitest', '@types/node', 'typescript']) {
    mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true });
    rmSync(join(folder, 'node_modules', name), { recursive: true, force: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  }
}, INSTALL_MS);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('programs', () => {
  test('in modules', async () => {
    const file = write('program.mjs', `${AS_MODULE}\nconsole.log(await main());\n`);
    expect(await outputOf(file)).toBe('it works\n');
  });

  test('in CommonJS, with the same copy of the library as modules have', async () => {
    const same = `import('tenure').then((module) => console.log(module.TenureError === TenureError));`;
    const file = write('program.cjs', `${AS_COMMONJS}\nmain().then((said) => console.log(said)).then(() => ${same.slice(0, -1)});\n`);
    expect(await outputOf(file)).toBe('it works\ntrue\n');
  });

  test('by resolvers that know no exports', () => {
    const { main, types } = JSON.parse(readFileSync(join(folder, 'node_modules/tenure/package.json'), 'utf8')) as Record<string, string>;
    for (const path of [main, types]) expect(readFileSync(join(folder, 'node_modules/tenure', String(path)), 'utf8')).toContain('joinCell');
  });

  test('of the shell', async () => {
    const said = await outputOf(join(folder, 'node_modules/.bin/tenure'), '--version');
    expect(said).toBe(`${(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version}\n`);
  });
});

describe('TypeScript, strict and with the declarations of libraries checked', () => {
  const STRICT = ['--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false', '--target', 'es2022', '--types', 'node'];
  const OLD = 'typescript-oldest/lib/tsc.js';
  const NEW = 'typescript/bin/tsc';
  test.each([
    // The newest has left node10 behind.
    [OLD, 'node10', ['--module', 'commonjs'], ['ts']],
    [OLD, 'node16', ['--module', 'node16'], ['mts', 'cts']],
    [OLD, 'bundler', ['--module', 'esnext'], ['ts']],
    [NEW, 'node16', ['--module', 'node16'], ['mts', 'cts']],
    [NEW, 'bundler', ['--module', 'esnext'], ['ts']],
  ] as const)(
    '%s, %s',
    async (compiler, resolution, options, extensions) => {
      const into = `${compiler.split('/')[0]}-${resolution}`;
      const files = extensions.map((extension) => write(`${into}/program.${extension}`, AS_TYPESCRIPT));
      const all = [...STRICT, ...options, '--moduleResolution', resolution, '--outDir', `${into}/out`, ...files];
      expect(await outputOf(join(folder, 'node_modules', compiler), ...all)).toBe('');
      // A bundler would take it from here.
      if (resolution === 'bundler') return;
      for (const extension of extensions) {
        expect(await outputOf(`${into}/out/program.${extension.replace('ts', 'js')}`)).toBe('it works\n');
      }
    },
    INSTALL_MS,
  );
});

describe('test runners', () => {
  const claim = `test('it works', async () => { if ((await main()) !== 'it works') throw new Error('it does not'); });\n`;

  test(
    'vitest',
    async () => {
      write('vitest/it.test.mjs', `import { test } from 'vitest';\n${AS_MODULE}${claim}`);
      expect(await outputOf(join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--root', 'vitest')).toMatch(/1 passed/);
    },
    INSTALL_MS,
  );

  test(
    'Jest, in CommonJS',
    async () => {
      write('jest/it.test.js', `${AS_COMMONJS}${claim}`);
      write('jest/package.json', '{ "type": "commonjs" }\n');
      expect(await outputOf(join(folder, 'node_modules/jest/bin/jest.js'), '--rootDir', 'jest')).toMatch(/^Tests: +1 passed/m);
    },
    INSTALL_MS,
  );

  test('node:test', async () => {
    write('node-test/it.mjs', `import test from 'node:test';\n${AS_MODULE}${claim}`);
    expect(await outputOf('--test', 'node-test/it.mjs')).toMatch(/^# pass 1$/m);
  });
});

test('installing it asks for nothing: no script of ours is to be approved, and no dependency comes with it', () => {
  expect(installed).not.toMatch(/tenure@/);
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dependencies?: object; hasInstallScript?: boolean }>;
  };
  expect(lock.packages['node_modules/tenure']).not.toHaveProperty('hasInstallScript');
  expect(lock.packages['node_modules/tenure']).not.toHaveProperty('dependencies');
});

test('the pages come with it, and what they lead to', () => {
  const has = (path: string): boolean =>
    readdirSync(join(folder, 'node_modules/tenure', dirname(path))).includes(path.split('/').at(-1) ?? '');
  for (const path of ['README.md', 'docs/api.md', 'docs/errors.md', 'examples/README.md', 'deploy/README.md', 'dist/man/tenure.1'])
    expect([path, has(path)]).toEqual([path, true]);
});
