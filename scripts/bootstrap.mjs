// Makes `npm start`, `npm test` and `npm run verify` work from a bare clone: installs what the lock file
// says when `node_modules` does not hold it, then builds. Takes a fraction of a second when all is fresh.
// `--no-build` stops after the install.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * @param {string} name
 * @returns {Record<string, { version?: string, integrity?: string, optional?: boolean, devOptional?: boolean }>}
 */
function packagesIn(name) {
  const file = new URL(`../${name}`, import.meta.url);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : {};
}

/** Contents are compared rather than dates: a checkout renews dates, and `npm ci --omit=dev` leaves packages out. */
function isInstalled() {
  const installed = packagesIn('node_modules/.package-lock.json');
  return Object.entries(packagesIn('package-lock.json')).every(([path, wanted]) => {
    if (path === '') return true;
    const found = installed[path];
    // Builds for other platforms are optional, and not here.
    if (found === undefined) return wanted.optional === true || wanted.devOptional === true;
    return found.version === wanted.version && found.integrity === wanted.integrity;
  });
}

/** @param {string} command @param {string[]} args */
function run(command, args, shell = false) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit', shell });
  if (error) console.error(`tenure: could not run ${command}: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

if (!isInstalled()) {
  console.log('tenure: installing dependencies (npm ci)');
  const npm = process.env['npm_execpath'];
  // npm_execpath names another package manager's script when that one runs us.
  if (npm?.endsWith('npm-cli.js')) run(process.execPath, [npm, 'ci', '--include=dev']);
  else run('npm', ['ci', '--include=dev'], process.platform === 'win32');
}
if (!process.argv.includes('--no-build')) run(process.execPath, [fileURLToPath(new URL('prepare.mjs', import.meta.url))]);
