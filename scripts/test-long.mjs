// `npm run test:long`: the test files that take longest (test/long-tests.json), which `npm test` leaves out.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** @type {string[]} */
const files = JSON.parse(readFileSync(join(root, 'test', 'long-tests.json'), 'utf8'));
console.log(`tenure: ${files.length} long test files, about nineteen minutes on two cores`);
const { status } = spawnSync(process.execPath, [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...files], {
  cwd: root,
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
