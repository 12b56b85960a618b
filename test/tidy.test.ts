/** The project's own rules as a test: the repository keeps them, and each notices a planted violation. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { importCycles } from './support/cycles.ts';
import { sharedNames } from './support/exports.ts';
import { brokenLinks } from './support/links.ts';
import { inspect, LAYERS, RULES } from './support/tidy.ts';
import { readRepositoryFile, repositoryFiles, ROOT } from './support/tree.ts';

// Put together here, so that this file itself keeps the rule.
const [WORK, HOME] = ['work', 'root'].map((name) => `/${name}`);
const HOST = ['registry', 'npmjs', 'org'].join('.');

const OPENING = '/** What lives here, in a few words. */\n';

interface Plant {
  readonly path: string;
  readonly bad: readonly string[];
  /** Near misses: the rule has to let them pass. */
  readonly good: readonly string[];
}

const PLANTS: Record<keyof typeof RULES, readonly Plant[]> = {
  layerOrder: [
    {
      path: 'src/core/planted.ts',
      bad: [
        `import { World } from '../sim/index.ts';`,
        `import type { World } from '../sim/index.ts';`,
        `export * from '../wire/index.ts';`,
        `export type World = import('../sim/index.ts').World;`,
        `export const world = () => import('../sim/index.ts');`,
        `export const any = (name: string) => import(name);`,
        `import { World } from 'tenure/sim';`,
        `import { readFileSync } from 'node:fs';`,
        `import { Command } from 'commander';`,
        `import { ROOT } from '../../test/support/tree.ts';`,
      ],
      good: [`import { nodeId } from '../kernel/index.ts';`, `import { Core } from './contract.ts';`, `// import '../sim/index.ts'`],
    },
    { path: 'src/core/leases/planted.ts', bad: [`import '../../sim/index.ts';`], good: [`import '../../kernel/index.ts';`] },
    {
      path: 'src/store/planted.ts',
      bad: [`import '../runtime/index.ts';`],
      good: [`import '../transport/index.ts';`, `import 'node:fs';`],
    },
    { path: 'src/cli/planted.ts', bad: [], good: [`import '../server/index.ts';`, `import { Command } from 'commander';`] },
    { path: 'src/misc/planted.ts', bad: ['export const a = 1;'], good: [] },
  ],
  enginesApart: [
    {
      path: 'src/core/leases/rounds/planted.ts',
      bad: [
        `import { Ledger } from '../quorum/ledger.ts';`,
        `export type { Ledger } from '../quorum/ledger.ts';`,
        `import '../quorum/deeper/ledger.ts';`,
      ],
      good: [
        `import { stretch } from '../timing.ts';`,
        `import { Claim } from './claim.ts';`,
        `import { DueHeap } from '../../tables/index.ts';`,
      ],
    },
    { path: 'src/core/leases/planted.ts', bad: [`import './quorum/ledger.ts';`], good: [`import './timing.ts';`] },
    { path: 'src/core/index.ts', bad: [], good: [`export * from './leases/quorum/index.ts';`] },
  ],
  layerProjects: [
    {
      path: 'src/core/tsconfig.json',
      bad: [
        '{ "extends": "../../tsconfig.pure.json", "references": [{ "path": "../sim" }] }',
        '{ "extends": "../../tsconfig.node.json", "references": [] }',
      ],
      good: ['{ "extends": "../../tsconfig.pure.json", "references": [{ "path": "../kernel" }] }'],
    },
  ],
  arithmetic: [
    {
      path: 'src/sim/planted.ts',
      bad: ['export const a = (x: number) => 1.5 ** x;', 'let b = 2; b **= b;', 'const m = Math; m.random();'],
      good: ['export const a = 2 ** 32;', 'export const a = (x: bigint) => 10n ** x;', 'export const b = Math.floor(1.5);'],
    },
    { path: 'src/cli/planted.ts', bad: [], good: ['export const a = (x: number) => 1.5 ** x;'] },
  ],
  opening: [
    {
      path: 'src/kernel/planted.ts',
      bad: ['export const a = 1;', '\n/** What lives here, in words. */', '/** Things. */', '/** @module */', ''],
      good: [`${OPENING}export const a = 1;`, '// What lives here, in words.'],
    },
  ],
  size: [
    { path: 'src/kernel/planted.ts', bad: ['x();\n'.repeat(501)], good: ['x();\n'.repeat(500)] },
    { path: 'test/planted.test.ts', bad: ['x();\n'.repeat(601)], good: ['x();\n'.repeat(600)] },
  ],
  functionSize: [
    {
      path: 'src/kernel/planted.ts',
      bad: [
        `function f() {\n${'x();\n'.repeat(79)}}`,
        `const f = () => {\n${'x();\n'.repeat(79)}};`,
        `class C { static async m() {\n${'x();\n'.repeat(79)}} }`,
      ],
      good: [`function f() {\n${'x();\n'.repeat(78)}}`, `class C {\n${'m() {}\n'.repeat(99)}}`, 'x();\n'.repeat(99)],
    },
    { path: 'test/planted.test.ts', bad: [], good: [`function f() {\n${'x();\n'.repeat(79)}}`] },
  ],
  names: [
    { path: 'src/kernel/utils.ts', bad: [''], good: [] },
    { path: 'src/common/index.ts', bad: [''], good: [] },
    { path: 'test/support/time-helpers.ts', bad: [''], good: [] },
    {
      path: 'src/api/planted.ts',
      bad: ['class LeaseManager {}', 'const timeUtils = {};', 'function helper() {}'],
      good: ['class Lease {}', 'const managerial = 1;'],
    },
  ],
  unfinished: [
    { path: 'src/kernel/planted.ts', bad: ['// TODO: later', '/* FIXME */', '/** XXX */'], good: ['export const a = "TODO";'] },
    { path: '.ci/run', bad: ['# TODO'], good: ['echo TODO'] },
  ],
  escapes: [
    {
      path: 'test/planted.test.ts',
      bad: [
        'const a = b as any;',
        'const a = <any>b;',
        'function f(x: any[]) {}',
        '// @ts-ignore',
        '// @ts-expect-error',
        '// oxlint-disable-next-line no-console',
      ],
      good: [
        'const a = b as number;',
        '// any',
        '// @ts-expect-error: a name must be a string',
        '// oxlint-disable-next-line no-console -- speaks to a person',
      ],
    },
  ],
  focus: [
    {
      path: 'test/planted.test.ts',
      bad: [`it.only('a', f);`, `describe.skip('a', f);`, `test.todo('a');`, `it.skip.each([1])('a', f);`, `it.concurrent.only('a', f);`],
      good: [`it('a', f);`, `it.skipIf(noServer)('a', f);`, `queue.skip(1);`, `const text = 'it.only(';`],
    },
  ],
  deadCode: [
    {
      path: 'src/kernel/planted.ts',
      bad: ['// const a = 1;', '// if (a) {\n//   b();\n// }', '/* run(all); */'],
      good: ['// Names are short; a loop is faster.', '/**\n * `do { run(all); } while (all.next());`\n */', '// See {@link Core}'],
    },
  ],
  places: [
    {
      path: 'docs/planted.md',
      bad: [`see ${WORK}/main`, `"${HOME}/x"`, `https://${HOST}/a`, `host ${HOST}`],
      good: [`https://example.org${WORK}`, `src${WORK}/index.ts`, 'the npm registry', 'a register.read call'],
    },
  ],
  mutants: [
    {
      path: 'src/api/planted.ts',
      bad: ['open({ rules: odd });', 'open({ rules });', 'options.rules = odd;'],
      good: ['// the rules: all of them'],
    },
    { path: 'src/sim/planted.ts', bad: [], good: ['open({ rules: odd });'] },
  ],
  lockFile: [
    {
      path: 'package-lock.json',
      bad: [
        '{ "packages": { "node_modules/a": { "resolved": "https://example.org/a.tgz" } } }',
        '{ "packages": { "node_modules/a": { "optionalDependencies": { "a-darwin": "1.0.0" } } } }',
      ],
      good: ['{ "packages": { "node_modules/a": { "optionalDependencies": { "b": "1.0.0" } }, "node_modules/b": {} } }'],
    },
  ],
  dependencies: [
    {
      path: 'package.json',
      bad: ['{ "dependencies": { "lodash": "1.0.0" } }'],
      good: ['{ "devDependencies": { "lodash": "1.0.0" } }', '{}'],
    },
  ],
};

const RULE_NAMES = Object.keys(RULES) as (keyof typeof RULES)[];

describe('the repository', () => {
  const files = repositoryFiles();

  it('keeps the rules of the house', () => {
    expect(files.length).toBeGreaterThan(20);
    expect(files.flatMap((path) => inspect(path, readRepositoryFile(path) ?? ''))).toEqual([]);
  });

  it('builds every layer it has, in the order of the layers', () => {
    const { references } = JSON.parse(readRepositoryFile('tsconfig.json') ?? '') as { references: { path: string }[] };
    const present = readdirSync(join(ROOT, 'src'));
    expect(references.map(({ path }) => path)).toEqual(LAYERS.filter((layer) => present.includes(layer)).map((layer) => `src/${layer}`));
  });

  it('has no files that import each other in a circle, where that is ruled out', () => {
    expect(importCycles(files, readRepositoryFile)).toEqual([]);
  });

  it('exports no two things under one name', () => {
    expect(sharedNames(files, readRepositoryFile)).toEqual([]);
  });

  it('names the protocols of the simulator in one list, and nowhere else in src', () => {
    const list = 'src/sim/protocols/index.ts';
    const folders = files.flatMap((path) => /^src\/sim\/protocols\/([^/]+)\/index\.ts$/.exec(path)?.[1] ?? []);
    const listed = [...(readRepositoryFile(list) ?? '').matchAll(/from '\.\/([^/]+)\/index\.ts'/g)].map(([, folder = '']) => folder);
    expect(folders.length).toBeGreaterThan(5);
    expect(listed.toSorted()).toEqual(folders.toSorted());
    const others = files.filter((path) => path.startsWith('src/') && !path.startsWith('src/sim/protocols/'));
    const strays = others.filter((path) => /protocols\/[a-z-]+\//.test(readRepositoryFile(path) ?? ''));
    expect(strays).toEqual([]);
  });

  it('has every test file that is called long', () => {
    const long = JSON.parse(readRepositoryFile('test/long-tests.json') ?? '') as string[];
    expect(long.filter((file) => !repositoryFiles().includes(file))).toEqual([]);
  });

  it('has no broken link in its pages', () => {
    const pages = files.filter((path) => path.endsWith('.md'));
    expect(pages.flatMap((path) => brokenLinks(path, readRepositoryFile(path) ?? '', readRepositoryFile))).toEqual([]);
  });
});

describe.each(RULE_NAMES)('the rule %s', (name) => {
  const rule = RULES[name];
  const each = (kind: 'bad' | 'good') => PLANTS[name].flatMap((plant) => plant[kind].map((text) => ({ path: plant.path, text })));

  it('complains about every planted violation', () => {
    expect(each('bad').length).toBeGreaterThan(0);
    expect(each('bad').filter(({ path, text }) => rule(path, text).length === 0)).toEqual([]);
  });

  it('lets near misses pass', () => {
    expect(each('good').flatMap(({ path, text }) => rule(path, text))).toEqual([]);
  });
});

describe('circles of imports', () => {
  const found = (sources: Record<string, string>) => {
    const planted = Object.fromEntries(Object.entries(sources).map(([name, text]) => [`src/api/${name}.ts`, text]));
    return importCycles(Object.keys(planted), (path) => planted[path]);
  };

  it('are found, of types too, over any number of files', () => {
    expect(found({ a: `import './b.ts';`, b: `import type { A } from './a.ts';` })).toEqual(['in a circle: src/api/a.ts, src/api/b.ts']);
    expect(found({ a: `export * from './x/b.ts';`, 'x/b': `import './c.ts';`, 'x/c': `type A = import('../a.ts').A;` })).toHaveLength(1);
    expect(found({ a: `import './b.ts';`, b: `import './c.ts';`, c: `import './b.ts';` })).toEqual([
      'in a circle: src/api/b.ts, src/api/c.ts',
    ]);
    expect(found({ a: `import './a.ts';` })).toHaveLength(1);
  });

  it('are not seen where two ways lead to one file, or another layer is in between', () => {
    expect(found({ a: `import './b.ts'; import './c.ts';`, b: `import './d.ts';`, c: `import './b.ts'; import './d.ts';`, d: '' })).toEqual(
      [],
    );
    expect(found({ a: `import '../kernel/index.ts';`, b: `// import './b.ts'` })).toEqual([]);
  });
});

describe('names of exports', () => {
  const found = (...sources: string[]) => {
    const planted = Object.fromEntries(sources.map((text, index) => [`src/core/${index}.ts`, text]));
    return sharedNames(Object.keys(planted), (path) => planted[path]);
  };

  it('that two things share are found, in capitals or not', () => {
    expect(found('export type Told = 1;', '\nexport interface Told {}')).toEqual([
      'exported more than once: Told (src/core/0.ts:1), Told (src/core/1.ts:2)',
    ]);
    expect(found('export const HELD = 1;', 'export const LOW = 1, HELD = 2;')).toHaveLength(1);
    expect(found('function settle() {}\nexport { settle };', 'function end() {}\nexport { end as settle };')).toHaveLength(1);
    expect(found('export class QuorumWorld {}', 'export const quorumWorld = 1;')).toHaveLength(1);
    expect(found('export class Cell {} export function cell(): void {}')).toHaveLength(1);
    expect(found('export abstract class A {}', 'export async function A() {}', 'export type A = 1;')).toHaveLength(1);
    expect(found('export type Cell = 1;', 'export type Cell = 2;', 'export function cell(): Cell {}')).toHaveLength(1);
  });

  it('that only look shared pass', () => {
    expect(found('export type Cell = 1;', `export type { Cell } from './0.ts';`, `export * from './0.ts';`)).toEqual([]);
    expect(found('export type Cell = 1;', `import { Cell } from './0.ts';\nexport { Cell };`)).toEqual([]);
    expect(found('export type Cell = 1;', 'type Cell = 2;', `import type { Cell } from './0.ts';`)).toEqual([]);
    expect(found('export class Cell {} export async function cell(): Promise<Cell> {}')).toEqual([]);
    expect(found('export interface Hello {}', 'export const HELLO = 1;')).toEqual([]);
    expect(found('export function f(): void;\nexport function f(a?: 1): void {}')).toEqual([]);
    expect(sharedNames(['test/a.ts', 'src/a.ts'], () => 'export const a = 1;')).toEqual([]);
  });
});

describe('links', () => {
  const pages: Record<string, string> = { 'docs/a.md': '# A `b`, c\n\n## Twice\n\n## Twice\n', 'README.md': '# Tenure\n', docs: '' };
  const broken = (text: string) => brokenLinks('docs/here.md', text, (path) => pages[path]);

  it('that lead nowhere are found', () => {
    expect(broken('[a](b.md)')).toHaveLength(1);
    expect(broken('![a](../a.png)')).toHaveLength(1);
    expect(broken('[a]: b.md')).toHaveLength(1);
    expect(broken('[a](a.md#z)')).toHaveLength(1);
    expect(broken('[a](#z)')).toHaveLength(1);
  });

  it('that lead somewhere pass', () => {
    expect(broken('[a](a.md) [b](a.md#a-b-c) [c](a.md#twice-1) [d](../README.md "title") [e](https://example.org/x.md)')).toEqual([]);
    expect(broken('# Here\n[a](#here) `[b](b.md)`\n```md\n[c](c.md)\n```\n')).toEqual([]);
  });
});
