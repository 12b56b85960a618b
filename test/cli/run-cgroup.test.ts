/** The cgroup of a command of `tenure run`, and all its processes as one. Only where this process may make one. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { Cgroup } from '../../src/cli/run/cgroup.ts';
import { CommandProcesses } from '../../src/cli/run/command-processes.ts';
import { enclose, readCgroupWish } from '../../src/cli/run/enclosure.ts';
import { ProcessGroup } from '../../src/cli/run/process-group.ts';
import { isStopped, isThere, until } from './run-kit.ts';

const folder = mkdtempSync(join(tmpdir(), 'tenure-cgroup-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function canEnclose(): boolean {
  try {
    Cgroup.below().remove();
    return true;
  } catch {
    return false;
  }
}

/** A leader in a group of its own. It writes down what it is told, and so does a child of it in another session. */
async function family(file: string): Promise<{ leader: ChildProcess; cgroup: Cgroup; processes: CommandProcesses; stray: number }> {
  const member = `trap 'echo $0 told >> "${file}"' TERM; echo "$0 $$" >> "${file}"; while :; do sleep 0.02; done`;
  const script = `read go; setsid sh -c '${member.replaceAll("'", `'\\''`)}' stray & ${member}`;
  const leader = spawn('sh', ['-c', script, 'leader'], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  const cgroup = Cgroup.around(leader.pid ?? 0);
  onTestFinished(async () => {
    cgroup.kill();
    await until(() => !cgroup.isPopulated);
    cgroup.remove();
  });
  leader.stdin?.write('go\n');
  const lines = (): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []);
  while (lines().length < 2) await sleep(5);
  const stray = Number(
    lines()
      .find((line) => line.startsWith('stray'))
      ?.split(' ')[1],
  );
  return { leader, cgroup, processes: new CommandProcesses(new ProcessGroup(leader.pid ?? 0), cgroup), stray };
}

describe.runIf(process.platform === 'linux' && canEnclose())('a cgroup', () => {
  it('has those below it too, and goes with them', async () => {
    const outer = Cgroup.below();
    const sleeper = spawn('sleep', ['1000'], { stdio: 'ignore' });
    const ended = once(sleeper, 'exit');
    const inner = Cgroup.around(sleeper.pid ?? 0, outer.path);
    expect([outer.pids(), outer.isPopulated]).toEqual([[sleeper.pid], true]);
    outer.remove();
    expect(existsSync(inner.path)).toBe(true);
    outer.kill();
    await ended;
    await until(() => !outer.isPopulated);
    outer.remove();
    expect(existsSync(outer.path)).toBe(false);
    // Whoever comes late finds nothing to do.
    outer.kill();
    outer.remove();
    expect([outer.pids(), outer.isPopulated]).toEqual([[], false]);
  });

  it('tells everyone to stop, once, also who left the group and is stopped', async () => {
    const file = join(folder, 'told');
    const { processes, stray } = await family(file);
    process.kill(stray, 'SIGSTOP');
    await until(() => isStopped(stray));
    processes.tellToStop('SIGTERM');
    await until(() => readFileSync(file, 'utf8').includes('stray told'));
    await until(() => readFileSync(file, 'utf8').includes('leader told'));
    processes.forward('SIGTERM');
    await until(() => readFileSync(file, 'utf8').split('leader told').length === 3);
    expect(readFileSync(file, 'utf8').split('stray told').length).toBe(2);
  });

  it('is there while anybody who left the group is', async () => {
    const { leader, processes, stray } = await family(join(folder, 'there'));
    const ended = once(leader, 'exit');
    process.kill(-(leader.pid ?? 0), 'SIGKILL');
    await ended;
    expect([processes.isAlive, processes.isThere]).toEqual([true, true]);
    processes.kill();
    await until(() => !processes.isAlive);
    expect(isThere(stray)).toBe(false);
  });

  it('that is asked for by name is had, or it is an error', async () => {
    const parent = Cgroup.below();
    expect(readCgroupWish(parent.path)).toBe(parent.path);
    expect(parent.pids()).toEqual([]);
    parent.remove();
    expect(existsSync(parent.path)).toBe(false);
    expect(enclose(process.pid, `/${parent.path.slice(1)}`)).toMatchObject({ kind: 'refused', error: { code: 'TENURE_BAD_CONFIG' } });
    expect(enclose(2 ** 22, 'auto')).toMatchObject({ kind: 'none', why: expect.stringMatching(/ESRCH/) });
  });
});

describe('a wish for a cgroup', () => {
  it('is auto, off, or a folder', () => {
    expect([readCgroupWish('auto'), readCgroupWish('off')]).toEqual(['auto', 'off']);
    expect(() => readCgroupWish('on')).toThrow(expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }));
    expect(() => readCgroupWish(folder)).toThrow(expect.objectContaining({ code: 'TENURE_BAD_CONFIG' }));
  });

  it('leaves nothing in a folder that is no cgroup', () => {
    const plain = join(folder, 'plain');
    mkdirSync(plain);
    expect(() => readCgroupWish(plain)).toThrow('is no cgroup');
    expect(readdirSync(plain)).toEqual([]);
  });

  it('for none gives none', () => {
    expect(enclose(process.pid, 'off')).toEqual({ kind: 'none', why: '--cgroup off' });
  });
});
