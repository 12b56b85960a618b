// Builds `dist`, the bundles included, when the package is packed, and before the npm scripts that need it. Steps aside where there is
// nothing to build with: without the compiler (`npm ci --omit=dev`) or without the sources (a tarball).
// `--clean` removes `dist` first, so that nothing stale is packed.
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const compiler = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url));

if (!existsSync(new URL('../src', import.meta.url))) {
  console.log('tenure: no sources here, nothing to build');
} else if (!existsSync(compiler)) {
  console.log('tenure: the compiler is not installed, dist is left as it is (npm ci --include=dev builds it)');
} else {
  if (process.argv.includes('--clean')) rmSync(new URL('../dist', import.meta.url), { recursive: true, force: true });
  for (const script of [[compiler, '-b'], [fileURLToPath(new URL('bundle.mjs', import.meta.url))]]) {
    const { status } = spawnSync(process.execPath, script, { cwd: root, stdio: 'inherit' });
    process.exitCode = status ?? 1;
    if (status !== 0) break;
  }
}
