// `npm run test:campaigns`: the test files that as usual play a part of what they could (those that ask test/support/sizes.ts), at their full size.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .map((file) => join('test', file))
  .filter((file) => file.endsWith('.test.ts') && readFileSync(join(root, file), 'utf8').includes("support/sizes.ts'"))
  .sort();
console.log(`tenure: ${files.length} test files at full size: longer than npm run test:long`);
const { status } = spawnSync(process.execPath, [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...files], {
  cwd: root,
  env: { ...process.env, TENURE_TEST_SIZE: 'full' },
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
