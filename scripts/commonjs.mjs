// Makes CommonJS (`dist/cjs`) of the entry points that programs use, for those who cannot take modules: Jest, and TypeScript that compiles to
// CommonJS. Node itself never loads it: it can `require` modules, and is led to them by the condition `module-sync`, so a process has one
// copy of everything. Declarations are copied as they are: in a folder of CommonJS they are declarations of CommonJS.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rolldown } from 'rolldown';

/** Optional: whoever wants them installs them beside the package. */
export const LEFT_OUT = ['@aws-sdk/client-s3', 'ioredis', 'lmdb', 'pg'];

/** By their paths in `dist`. The others are for research, and modules only. */
export const ENTRIES = ['api/index', 'api/testing', 'api/conformance', 'store/index', 'store/conformance'];

/** @param {string} dist */
export async function makeCommonJs(dist) {
  const to = join(dist, 'cjs');
  rmSync(to, { recursive: true, force: true });
  const bundle = await rolldown({
    platform: 'node',
    external: LEFT_OUT,
    input: Object.fromEntries(ENTRIES.map((entry) => [entry, join(dist, `${entry}.js`)])),
  });
  await bundle.write({
    dir: to,
    format: 'cjs',
    // Whoever cannot take modules cannot import them later either.
    dynamicImportInCjs: false,
    entryFileNames: '[name].js',
    chunkFileNames: 'parts/[name]-[hash].js',
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
    comments: { legal: false, annotation: false, jsdoc: false },
  });
  await bundle.close();
  writeFileSync(join(to, 'package.json'), '{ "type": "commonjs" }\n');
  for (const file of declarationsFrom(ENTRIES.map((entry) => join(dist, `${entry}.d.ts`)))) {
    const copy = join(to, file.slice(dist.length));
    mkdirSync(dirname(copy), { recursive: true });
    cpSync(file, copy);
  }
}

/**
 * These declarations, and all that they import.
 * @param {readonly string[]} files
 */
function declarationsFrom(files) {
  const found = new Set(files);
  for (const file of found) {
    for (const [, specifier = ''] of readFileSync(file, 'utf8').matchAll(/(?:from|import\()\s*'(\.[^']+)\.ts'/g)) {
      found.add(join(dirname(file), `${specifier}.d.ts`));
    }
  }
  return found;
}
