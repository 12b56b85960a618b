// `npm run test:s3`: the S3 store against a real server, Ceph's radosgw, which is started on this machine. Its packages are installed where that can be done
// (Debian or Ubuntu, as root); elsewhere it says what is missing.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const PACKAGES = ['ceph-mon', 'ceph-osd', 'ceph-common', 'radosgw'];
const PROGRAMS = ['ceph-mon', 'ceph-osd', 'ceph', 'radosgw', 'radosgw-admin', 'ceph-authtool', 'monmaptool'];

function missing() {
  const folders = (process.env['PATH'] ?? '').split(':');
  return PROGRAMS.filter((name) => !folders.some((folder) => existsSync(join(folder, name))));
}

if (missing().length > 0 && process.getuid?.() === 0) {
  console.log(`tenure: installing ${PACKAGES.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...PACKAGES], { stdio: ['ignore', 'inherit', 'inherit'], env });
}
if (missing().length > 0) {
  console.error(
    `tenure: ${missing().join(', ')} not found. On Debian or Ubuntu: apt-get install --no-install-recommends ${PACKAGES.join(' ')}`,
  );
  process.exit(69);
}
const { status } = spawnSync(
  process.execPath,
  [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', 'test/store/s3-server.test.ts'],
  {
    cwd: root,
    stdio: 'inherit',
  },
);
process.exitCode = status ?? 1;
