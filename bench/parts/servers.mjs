/**
 * Real servers for tests and benches: each on a port and in a directory of its own, on loopback only, killed without a warning and
 * started again. Where a server is not installed the tests say so; in CI that is a failure.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from './processes.mjs';

/** @typedef {import('./servers.d.mts').Server} Server */

/** Where a program is; null if it is nowhere. In CI it has to be somewhere. @param {string} name */
export function program(name) {
  const debian = '/usr/lib/postgresql';
  const folders = (process.env['PATH'] ?? '').split(':');
  if (existsSync(debian)) folders.push(...readdirSync(debian).map((version) => join(debian, version, 'bin')));
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
  if (found === null && process.env['CI']) throw new Error(`${name} is not installed, and in CI no test may be left out`);
  return found;
}

/** PostgreSQL refuses to run as root: then its files and processes belong to the user postgres, or to nobody. */
function unprivileged() {
  if (process.getuid?.() !== 0) return null;
  /** @param {string} flag */
  const idOf = (flag) => {
    try {
      return Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
    } catch {
      return 65_534;
    }
  };
  return { uid: idOf('-u'), gid: idOf('-g') };
}

/**
 * With `copyOf` it is a standby of that server. `folder` is where its directory will be, among the temporary files unless told otherwise.
 * @param {readonly string[]} [settings]
 * @param {Server} [copyOf]
 * @param {string} [folder]
 */
export async function startPostgres(settings = [], copyOf, folder = tmpdir()) {
  const user = unprivileged();
  const directory = mkdtempSync(join(folder, 'tenure-postgres-'));
  if (user) chownSync(directory, user.uid, user.gid);
  const as = { ...user, cwd: directory, stdio: /** @type {const} */ ('ignore') };
  const data = join(directory, 'data');
  if (copyOf) {
    const from = ['-h', '127.0.0.1', '-p', String(copyOf.port), '-U', 'postgres'];
    execFileSync(program('pg_basebackup') ?? '', [...from, '-D', data, '-R', '-c', 'fast', '--no-sync'], as);
  } else {
    execFileSync(program('initdb') ?? '', ['--no-sync', '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '-D', data], as);
  }
  const [port = 0] = await freePorts(1);
  const options = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', ...settings].flatMap((one) => ['-c', one]);
  return await serve({
    port,
    directory,
    start: () => spawn(program('postgres') ?? '', ['-D', data, ...options], as),
    isReady: () => spawnSync(program('pg_isready') ?? '', ['-q', '-h', '127.0.0.1', '-p', String(port)]).status === 0,
  });
}

/** @param {readonly string[]} [settings] */
export async function startRedis(settings = []) {
  const directory = mkdtempSync(join(tmpdir(), 'tenure-redis-'));
  const [port = 0] = await freePorts(1);
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', '', ...settings];
  return await serve({
    port,
    directory,
    start: () => spawn(program('redis-server') ?? '', options, { cwd: directory, stdio: 'ignore' }),
    isReady: () => spawnSync(program('redis-cli') ?? '', ['-p', String(port), 'ping'], { encoding: 'utf8' }).stdout.startsWith('PONG'),
  });
}

/** One member, which speaks JSON over HTTP. */
export async function startEtcd() {
  const directory = mkdtempSync(join(tmpdir(), 'tenure-etcd-'));
  const [port = 0, peer = 0] = await freePorts(2);
  const [clients, peers] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peer}`];
  const listening = ['--listen-client-urls', clients, '--advertise-client-urls', clients, '--listen-peer-urls', peers];
  const cluster = ['--initial-advertise-peer-urls', peers, '--initial-cluster', `default=${peers}`];
  const options = ['--data-dir', join(directory, 'data'), ...listening, ...cluster];
  return await serve({
    port,
    directory,
    start: () => spawn(program('etcd') ?? '', options, { cwd: directory, stdio: 'ignore' }),
    isReady: async () => {
      const answer = await fetch(`${clients}/health`, { signal: AbortSignal.timeout(1000) }).catch(() => null);
      return answer?.ok === true && (await answer.text()).includes('true');
    },
  });
}

/** @typedef {{ port: number, directory: string, start: () => import('node:child_process').ChildProcess, isReady: () => boolean | Promise<boolean> }} Service */

/** @param {Service} service @returns {Promise<Server>} */
async function serve({ port, directory, start, isReady }) {
  let child = start();
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  // The children of PostgreSQL are in process groups of their own, and go on without their parent.
  /** @param {NodeJS.Signals} name */
  const signal = (name) => {
    if (child.pid === undefined || hasEnded()) return;
    for (const pid of [child.pid, ...childrenOf(child.pid)]) {
      try {
        process.kill(pid, name);
      } catch {
        // It has ended by itself.
      }
    }
  };
  const kill = async () => {
    signal('SIGKILL');
    if (!hasEnded()) await new Promise((resolve) => child.once('exit', resolve));
  };
  const up = async () => {
    while (!(await isReady())) {
      // What is left of the one that was killed may still have the port or the memory.
      if (hasEnded()) child = start();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await up();
  return {
    port,
    restart: async () => {
      await kill();
      child = start();
      await up();
    },
    stall: async () => signal('SIGSTOP'),
    resume: async () => signal('SIGCONT'),
    stop: async () => {
      await kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** @param {number} parent */
function childrenOf(parent) {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/status`, 'utf8').includes(`\nPPid:\t${parent}\n`);
    } catch {
      // It has ended meanwhile.
      return false;
    }
  });
}
