/**
 * Real servers for tests: each on a port and in a directory of its own, on loopback only, killed without a warning and
 * started again. Where a server is not installed the tests say so; in CI that is a failure.
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Server {
  readonly port: number;
  /** SIGKILL, and a new start on the same port and directory. */
  restart(): Promise<void>;
  /** It takes what is sent and does nothing. */
  stall(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

/** Where a program is; null if it is nowhere. In CI it has to be somewhere. */
export function program(name: string): string | null {
  const debian = '/usr/lib/postgresql';
  const folders = (process.env['PATH'] ?? '').split(':');
  if (existsSync(debian)) folders.push(...readdirSync(debian).map((version) => join(debian, version, 'bin')));
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
  if (found === null && process.env['CI']) throw new Error(`${name} is not installed, and in CI no test may be left out`);
  return found;
}

/** PostgreSQL refuses to run as root: then its files and processes belong to the user postgres, or to nobody. */
function unprivileged(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const idOf = (flag: string): number => {
    try {
      return Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
    } catch {
      return 65_534;
    }
  };
  return { uid: idOf('-u'), gid: idOf('-g') };
}

/** With `copyOf` it is a standby of that server. */
export async function startPostgres(settings: readonly string[] = [], copyOf?: Server): Promise<Server> {
  const user = unprivileged();
  const directory = mkdtempSync(join(tmpdir(), 'tenure-postgres-'));
  if (user) chownSync(directory, user.uid, user.gid);
  const as = { ...user, cwd: directory, stdio: 'ignore' as const };
  const data = join(directory, 'data');
  if (copyOf) {
    const from = ['-h', '127.0.0.1', '-p', String(copyOf.port), '-U', 'postgres'];
    execFileSync(program('pg_basebackup') ?? '', [...from, '-D', data, '-R', '-c', 'fast', '--no-sync'], as);
  } else {
    execFileSync(program('initdb') ?? '', ['--no-sync', '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '-D', data], as);
  }
  const port = await freePort();
  const options = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', ...settings].flatMap((one) => ['-c', one]);
  return await serve({
    port,
    directory,
    start: () => spawn(program('postgres') ?? '', ['-D', data, ...options], as),
    isReady: () => spawnSync(program('pg_isready') ?? '', ['-q', '-h', '127.0.0.1', '-p', String(port)]).status === 0,
  });
}

export async function startRedis(settings: readonly string[] = []): Promise<Server> {
  const directory = mkdtempSync(join(tmpdir(), 'tenure-redis-'));
  const port = await freePort();
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', '', ...settings];
  return await serve({
    port,
    directory,
    start: () => spawn(program('redis-server') ?? '', options, { cwd: directory, stdio: 'ignore' }),
    isReady: () => spawnSync(program('redis-cli') ?? '', ['-p', String(port), 'ping'], { encoding: 'utf8' }).stdout.startsWith('PONG'),
  });
}

interface Service {
  readonly port: number;
  readonly directory: string;
  readonly start: () => ChildProcess;
  readonly isReady: () => boolean;
}

async function serve({ port, directory, start, isReady }: Service): Promise<Server> {
  let child = start();
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  // The children of PostgreSQL are in process groups of their own, and go on without their parent.
  const signal = (name: NodeJS.Signals): void => {
    if (child.pid === undefined || hasEnded()) return;
    for (const pid of [child.pid, ...childrenOf(child.pid)]) {
      try {
        process.kill(pid, name);
      } catch {
        // It has ended by itself.
      }
    }
  };
  const kill = async (): Promise<void> => {
    signal('SIGKILL');
    if (!hasEnded()) await new Promise((resolve) => child.once('exit', resolve));
  };
  const up = async (): Promise<void> => {
    while (!isReady()) {
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

function childrenOf(parent: number): number[] {
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

async function freePort(): Promise<number> {
  return await new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
