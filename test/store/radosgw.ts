/** A Ceph of one node with an S3 endpoint, in a directory and on ports of its own: a monitor, one object store in memory, and the gateway. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '../api/real-cell.ts';

export const ACCESS_KEY = 'AK';
export const SECRET_KEY = 'SK';
const TRIES = 400;
const PAUSE_MS = 300;

export interface Radosgw {
  readonly port: number;
  stall(): void;
  resume(): void;
  stop(): Promise<void>;
}

function configOf(folder: string, fsid: string, [monitor, gateway]: readonly [number, number]): string {
  const settings: Readonly<Record<string, string | number>> = {
    fsid,
    mon_host: `v2:127.0.0.1:${monitor}`,
    auth_cluster_required: 'cephx',
    auth_service_required: 'cephx',
    auth_client_required: 'cephx',
    keyring: join(folder, 'keyring'),
    run_dir: join(folder, 'run'),
    admin_socket: `${folder}/run/$cluster-$name.asok`,
    log_file: `${folder}/log/$name.log`,
    mon_cluster_log_file: join(folder, 'log', 'cluster.log'),
    pid_file: `${folder}/run/$name.pid`,
    osd_pool_default_size: 1,
    osd_pool_default_min_size: 1,
    osd_pool_default_pg_num: 1,
    osd_pool_default_pgp_num: 1,
    osd_pool_default_pg_autoscale_mode: 'off',
    osd_crush_chooseleaf_type: 0,
    mon_allow_pool_size_one: 'true',
    mon_warn_on_pool_no_redundancy: 'false',
    mon_max_pg_per_osd: 1000,
    public_addr: '127.0.0.1',
    cluster_addr: '127.0.0.1',
    ms_bind_ipv6: 'false',
    osd_objectstore: 'memstore',
    memstore_device_bytes: 536_870_912,
    mon_data: join(folder, 'mon'),
    osd_data: join(folder, 'osd'),
    osd_class_load_list: '*',
    osd_class_default_list: '*',
    rgw_frontends: `beast endpoint=127.0.0.1:${gateway}`,
    rgw_data: join(folder, 'rgw'),
    rgw_dns_name: 'localhost',
  };
  return `[global]\n${Object.entries(settings)
    .map(([name, value]) => `${name} = ${value}`)
    .join('\n')}\n`;
}

async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    if (await isSo()) return;
    await sleep(PAUSE_MS);
  }
  throw new Error(`${what} did not come up`);
}

export async function startRadosgw(): Promise<Radosgw> {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-ceph-'));
  for (const name of ['mon', 'osd', 'run', 'log', 'rgw']) mkdirSync(join(folder, name));
  const [monitor = 0, port = 0] = await freePorts(2);
  const [fsid, config, keyring] = [randomUUID(), join(folder, 'ceph.conf'), join(folder, 'keyring')];
  writeFileSync(config, configOf(folder, fsid, [monitor, port]));
  const run = (program: string, ...args: string[]): string =>
    execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, CEPH_CONF: config } });
  const children: ChildProcess[] = [];
  const begin = (program: string, ...args: string[]): ChildProcess => {
    const child = spawn(program, ['-c', config, ...args, '-f'], { stdio: 'ignore', env: { ...process.env, CEPH_CONF: config } });
    children.push(child);
    return child;
  };
  const succeeds = (program: string, ...args: string[]): boolean => {
    try {
      run('timeout', '10', program, '-c', config, ...args);
      return true;
    } catch {
      return false;
    }
  };
  const everything = ['--cap', 'mon', 'allow *', '--cap', 'osd', 'allow *', '--cap', 'mgr', 'allow *'];
  run('ceph-authtool', '--create-keyring', keyring, '--gen-key', '-n', 'mon.', '--cap', 'mon', 'allow *');
  for (const entity of ['client.admin', 'client.rgw']) run('ceph-authtool', keyring, '--gen-key', '-n', entity, ...everything);
  run('ceph-authtool', keyring, '--gen-key', '-n', 'osd.0', '--cap', 'mon', 'allow profile osd', '--cap', 'osd', 'allow *');
  const map = join(folder, 'monmap');
  run('monmaptool', '--create', '--clobber', '--fsid', fsid, '--addv', 'a', `[v2:127.0.0.1:${monitor}]`, map);
  run('ceph-mon', '-c', config, '-i', 'a', '--mkfs', '--keyring', keyring, '--monmap', map, '--mon-data', join(folder, 'mon'));
  begin('ceph-mon', '-i', 'a', '--mon-data', join(folder, 'mon'));
  await until(() => succeeds('ceph', 'mon', 'stat'), 'the monitor');
  const uuid = randomUUID();
  run('ceph', '-c', config, 'osd', 'new', uuid);
  run('ceph-osd', '-c', config, '-i', '0', '--osd-data', join(folder, 'osd'), '--mkfs', '--osd-uuid', uuid);
  begin('ceph-osd', '-i', '0', '--osd-data', join(folder, 'osd'));
  await until(() => run('ceph', '-c', config, 'osd', 'stat').includes('1 up'), 'the object store');
  run('ceph', '-c', config, 'osd', 'crush', 'add', 'osd.0', '1.0', 'root=default', 'host=h');
  const gateway = begin('radosgw', '-n', 'client.rgw');
  const answers = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${port}/`).catch(() => null)) !== null;
  await until(answers, 'the gateway');
  const user = ['user', 'create', '--uid=u', '--display-name=u', `--access-key=${ACCESS_KEY}`, `--secret-key=${SECRET_KEY}`];
  run('radosgw-admin', '-c', config, '-n', 'client.rgw', ...user);
  return {
    port,
    stall: () => void gateway.kill('SIGSTOP'),
    resume: () => void gateway.kill('SIGCONT'),
    async stop() {
      for (const child of children.toReversed()) child.kill('SIGKILL');
      await Promise.all(
        children.map(async (child) => child.exitCode ?? child.signalCode ?? new Promise((ended) => child.once('exit', ended))),
      );
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
