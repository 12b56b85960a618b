/**
 * The compiler and the linter hold the layers apart: violations planted in a copy of the project's own
 * settings are refused, and the same copy without them is not.
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LAYERS, PURE_LAYERS } from './support/tidy.ts';
import { ROOT } from './support/tree.ts';

const present: readonly string[] = LAYERS.filter((layer) => readdirSync(join(ROOT, 'src')).includes(layer));
const copy = mkdtempSync(join(tmpdir(), 'tenure-layers-'));
afterAll(() => rmSync(copy, { recursive: true, force: true }));

const GLOBALS = ['setTimeout', 'setInterval', 'queueMicrotask', 'process', 'console', 'crypto', 'performance', 'fetch', 'Buffer'];

const LINTED: Record<string, { readonly code: string; readonly rule: string }> = {
  date: { code: 'export const at: number = Date.now();', rule: 'no-restricted-globals' },
  'new-date': { code: 'export const at: Date = new Date();', rule: 'no-restricted-globals' },
  'global-this': { code: 'export const at: number = globalThis.Date.now();', rule: 'no-restricted-globals' },
  random: { code: 'export const one: number = Math.random();', rule: 'no-restricted-properties' },
  'random-taken-out': { code: 'export const { random } = Math;', rule: 'no-restricted-properties' },
  logarithm: { code: 'export const one: number = Math.log(2);', rule: 'no-restricted-properties' },
  locale: { code: `export const less: number = 'a'.localeCompare('b');`, rule: 'no-restricted-properties' },
};

const LINTED_ANYWHERE: typeof LINTED = {
  floating: { code: 'async function go(): Promise<void> {}\nexport function start(): void {\n  go();\n}', rule: 'no-floating-promises' },
  'open-switch': {
    code: `export function f(x: 'a' | 'b'): void {\n  switch (x) {\n    case 'a':\n      return;\n  }\n}`,
    rule: 'switch-exhaustiveness-check',
  },
  any: { code: 'export const a: any = 1;', rule: 'no-explicit-any' },
  'non-null': { code: 'export const f = (x: number | undefined): number => x!;', rule: 'no-non-null-assertion' },
  'loose-equality': { code: 'export const f = (x: number, y: number): boolean => x == y;', rule: 'eqeqeq' },
};

function write(path: string, text: string): void {
  const file = join(copy, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${text}\n`);
}

/** Runs one of the project's tools in the copy; never throws. */
function run(script: string, ...args: string[]): Promise<{ failed: boolean; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(ROOT, 'node_modules', script), ...args], { cwd: copy }, (error, stdout, stderr) =>
      resolve({ failed: error !== null, output: stdout + stderr }),
    );
  });
}

const compile = () => run('typescript/bin/tsc', '-b', '--pretty', 'false');
const lint = () => run('oxlint/bin/oxlint', '--type-aware', '--format', 'unix');

/** The lines of `output` about one file. */
function about(output: string, path: string): string {
  return output
    .split('\n')
    .filter((line) => line.startsWith(path))
    .join('\n');
}

const clean = { compiled: { failed: true, output: '' }, linted: { failed: true, output: '' } };
const planted = { compiled: '', linted: '' };

beforeAll(async () => {
  for (const file of readdirSync(ROOT).filter((name) => /^tsconfig.*\.json$|^\.oxlintrc\.json$|^package\.json$/.test(name))) {
    cpSync(join(ROOT, file), join(copy, file));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'), 'junction');
  for (const layer of present) {
    write(`src/${layer}/index.ts`, `export const ${layer} = 1;`);
    cpSync(join(ROOT, 'src', layer, 'tsconfig.json'), join(copy, 'src', layer, 'tsconfig.json'));
  }
  [clean.compiled, clean.linted] = await Promise.all([compile(), lint()]);

  for (const [index, layer] of present.entries()) {
    for (const above of present.slice(index + 1)) {
      write(`src/${layer}/imports-${above}.ts`, `import { ${above} } from '../${above}/index.ts';\nexport const taken: number = ${above};`);
    }
  }
  for (const layer of PURE_LAYERS) {
    for (const name of GLOBALS) write(`src/${layer}/global-${name}.ts`, `export const taken: unknown = ${name};`);
    write(`src/${layer}/imports-node.ts`, `export { readFileSync } from 'node:fs';`);
  }
  for (const layer of [...PURE_LAYERS, 'cli']) {
    for (const [name, { code }] of Object.entries({ ...LINTED, ...LINTED_ANYWHERE })) write(`src/${layer}/lint-${name}.ts`, code);
  }
  const [compiled, linted] = await Promise.all([compile(), lint()]);
  planted.compiled = compiled.output;
  planted.linted = linted.output;
}, 60_000);

describe('without a violation', () => {
  it('the compiler has nothing to say', () => {
    expect(clean.compiled).toEqual({ failed: false, output: '' });
  });
  it('the linter has nothing to say', () => {
    expect(clean.linted.output).not.toContain('src/');
    expect(clean.linted.failed).toBe(false);
  });
});

describe.each(present.slice(0, -1))('%s', (layer) => {
  it.each(present.slice(present.indexOf(layer) + 1))('cannot import %s', (above) => {
    expect(about(planted.compiled, `src/${layer}/imports-${above}.ts`)).toMatch(/error TS(?:6059|6307)/);
  });
});

describe.each(PURE_LAYERS)('%s', (layer) => {
  it.each(GLOBALS)('cannot touch %s', (name) => {
    expect(about(planted.compiled, `src/${layer}/global-${name}.ts`)).toMatch(/error TS(?:2304|2552|2580|2584|2591)/);
  });

  it(`cannot import Node's own modules`, () => {
    expect(about(planted.compiled, `src/${layer}/imports-node.ts`)).toMatch(/error TS(?:2307|2580|2591)/);
  });

  it.each(Object.entries(LINTED))('may not use %s', (name, { rule }) => {
    expect(about(planted.linted, `src/${layer}/lint-${name}.ts`)).toContain(rule);
  });
});

describe('everywhere', () => {
  it.each(Object.entries(LINTED_ANYWHERE))('%s is refused', (name, { rule }) => {
    for (const layer of ['core', 'cli']) expect(about(planted.linted, `src/${layer}/lint-${name}.ts`)).toContain(rule);
  });

  it('what only the pure layers may not do, the command line may', () => {
    for (const name of Object.keys(LINTED)) expect(about(planted.linted, `src/cli/lint-${name}.ts`)).not.toContain('no-restricted');
  });
});
