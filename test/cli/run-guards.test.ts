/**
 * The rows of the table in docs/run.md, each by a test: `tenure run`, its switch and its last resort are killed and stopped, alone and
 * together, under a command that ignores every signal. Either nothing of it is left when another begins, or the page says that it runs on.
 */
import { spawn } from 'node:child_process';
import { lstatSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cgroup } from '../../src/cli/run/cgroup.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { isCalled, isThere, MembersApart, until, type Run } from './run-kit.ts';

const TERM_MS = 3000;
let cell: MembersApart;
beforeAll(async () => {
  cell = await MembersApart.start(TERM_MS);
});
afterAll(() => cell.close());

type Guard = 'run' | 'switch' | 'last resort';
type Fault = `${'kill' | 'stop'} ${Guard}`;
/** What follows it happens when `tenure run` is gone. */
const THEN = 'then';

const IN_GROUP = 'sh -c "$BEAT" &';
const WITH_SETSID = 'setsid sh -c "$BEAT" &';
const FORKED_TWICE = '(setsid sh -c "$BEAT" &);';
/** The command asks, and another starts it. */
const ON_ITS_BEHALF = 'echo please >> "$FILE";';

let tests = 0;

/** A command under way, one process of which writes a line again and again, and listens to nobody. */
class Troubled {
  readonly run: Run;
  readonly #file = `beats-${tests++}`;
  readonly #name = `guards/${tests}`;
  readonly #pids: number[] = [];

  constructor(start: string, args: readonly string[]) {
    const BEAT = `trap "" TERM INT HUP; echo "beats as $$" >> "${this.path}"; while echo beats >> "${this.path}"; do sleep 0.02; done`;
    const script = `trap "" TERM INT HUP; echo "leads as $$" >> "${this.path}"; ${start} while :; do sleep 0.02; done`;
    this.run = cell.run([this.#name, ...args, '--', 'sh', '-c', script], { env: { BEAT, FILE: this.path } });
    if (start === ON_ITS_BEHALF)
      void cell.line(this.#file, /^please$/).then(() => spawn('sh', ['-c', BEAT], { detached: true, stdio: 'ignore' }).unref());
  }

  get path(): string {
    return cell.file(this.#file);
  }

  async begun(): Promise<void> {
    // The group of the command, and the process that may have left it.
    this.#pids.push(-(await this.#pidIn(/^leads as \d+$/)), await this.#pidIn(/^beats as \d+$/));
    await cell.line(this.#file, /^beats$/);
  }

  async #pidIn(line: RegExp): Promise<number> {
    const [, , pid] = (await cell.line(this.#file, line)).split(' ');
    return Number(pid);
  }

  /** All at the same moment, in this order. */
  async suffer(faults: readonly (Fault | typeof THEN)[]): Promise<void> {
    const pids = { run: this.run.pid, switch: await this.run.switchPid(), 'last resort': await this.run.lastResortPid() };
    this.#pids.push(...Object.values(pids));
    for (const fault of faults) {
      if (fault === THEN) {
        await until(() => this.run.process.signalCode !== null);
        continue;
      }
      const [deed, target] = [fault.slice(0, 4), fault.slice(5) as Guard];
      process.kill(pids[target], deed === 'kill' ? 'SIGKILL' : 'SIGSTOP');
    }
  }

  /** Another takes the lease and writes a line. Answers with what was written after it before that one was over. */
  async next(): Promise<string[]> {
    const { code, stderr } = await cell.run([this.#name, '--', 'sh', '-c', `echo next >> "${this.path}"; sleep 0.1`]).ended;
    if (code !== 0) throw new Error(`the next one ended with ${code}: ${stderr}`);
    const lines = cell.lines(this.#file);
    return lines.slice(lines.indexOf('next') + 1);
  }

  clear(): void {
    for (const pid of this.#pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It is gone, as it should be.
      }
    }
  }
}

async function troubled(start: string, args: readonly string[], test: (troubled: Troubled) => Promise<void>): Promise<void> {
  const subject = new Troubled(start, args);
  try {
    await subject.begun();
    await test(subject);
  } finally {
    subject.clear();
  }
}

function canEnclose(): boolean {
  try {
    Cgroup.below().remove();
    return true;
  } catch {
    return false;
  }
}

const isLinux = process.platform === 'linux';
const hasCgroup = isLinux && canEnclose();
const hasSetpriv = lstatSync('/usr/bin/setpriv', { throwIfNoEntry: false })?.isFile() === true;

const PAIRS: readonly (readonly Fault[])[] = [
  ['kill run', 'kill switch'],
  ['kill switch', 'kill run'],
  ['kill run', 'stop switch'],
  ['stop switch', 'kill run'],
  ['stop run', 'kill switch'],
  ['kill switch', 'stop run'],
  ['stop run', 'stop switch'],
  ['stop switch', 'stop run'],
  ['kill run', 'kill last resort'],
  ['kill run', 'stop last resort'],
  ['stop run', 'kill last resort'],
  ['stop run', 'stop last resort'],
];

describe.runIf(isLinux)('nothing of a command is left when another begins', () => {
  it.concurrent.each([['kill run'], ['stop run'], ...PAIRS].map((faults) => ({ faults, title: faults.join(', ') })))(
    'after $title',
    async ({ faults }) =>
      troubled(IN_GROUP, ['--cgroup', 'off'], async (subject) => {
        await subject.suffer(faults as Fault[]);
        expect(await subject.next()).toEqual([]);
      }),
  );

  it.runIf(hasSetpriv)(
    'after switch and last resort were stopped and tenure run was killed: the kernel lets the last resort go on',
    async () =>
      troubled(IN_GROUP, ['--cgroup', 'off'], async (subject) => {
        await subject.suffer(['stop switch', 'stop last resort', 'kill run']);
        expect(await subject.next()).toEqual([]);
      }),
  );
});

describe.runIf(hasCgroup)('in a cgroup, nobody who left the process group is left when another begins', () => {
  const faults: readonly (readonly Fault[])[] = [
    ['kill run'],
    ['kill run', 'kill switch'],
    ['stop run', 'stop switch'],
    ['kill run', 'stop switch'],
  ];
  it.concurrent.each(
    [WITH_SETSID, FORKED_TWICE].flatMap((start) => faults.map((all) => ({ start, all, title: all.join(', '), how: start.split(' ')[0] }))),
  )('after $title, by $how', async ({ start, all }) =>
    troubled(start, [], async (subject) => {
      await subject.suffer(all);
      expect(await subject.next()).toEqual([]);
    }),
  );
});

describe.runIf(isLinux)('the command runs on, as the page says', () => {
  it.concurrent('after tenure run and all its guards were stopped', async () =>
    troubled(IN_GROUP, [], async (subject) => {
      await subject.suffer(['stop last resort', 'stop switch', 'stop run']);
      expect(await subject.next()).toContain('beats');
    }));

  it.concurrent('after tenure run and all its guards were killed', async () =>
    troubled(IN_GROUP, [], async (subject) => {
      await subject.suffer(['kill last resort', 'kill switch', 'kill run']);
      expect(await subject.next()).toContain('beats');
    }));

  it.concurrent('after tenure run was killed, and then those of its guards that were left were stopped', async () =>
    troubled(IN_GROUP, [], async (subject) => {
      await subject.suffer(['stop switch', 'kill run', THEN, 'stop last resort']);
      expect(await subject.next()).toContain('beats');
    }));

  it.concurrent('in a process that somebody else has started on its behalf', async () =>
    troubled(ON_ITS_BEHALF, [], async (subject) => {
      await subject.suffer(['kill run']);
      expect(await subject.next()).toContain('beats');
    }));

  it.concurrent('in a process that left the group, without a cgroup', async () =>
    troubled(WITH_SETSID, ['--cgroup', 'off'], async (subject) => {
      await subject.suffer(['kill run']);
      expect(await subject.next()).toContain('beats');
    }));
});

describe.runIf(isLinux)('a guard that is lost while tenure run lives', () => {
  it.concurrent.each(['kill switch', 'stop switch', 'kill last resort', 'stop last resort'] as const)('is replaced: %s', async (fault) =>
    troubled(IN_GROUP, ['--cgroup', 'off'], async (subject) => {
      const { run } = subject;
      const [oldSwitch, oldLastResort] = [await run.switchPid(), await run.lastResortPid()];
      await subject.suffer([fault]);
      const lost = fault.endsWith('switch') ? oldSwitch : oldLastResort;
      await until(() => !isThere(lost));
      // A new last resort comes with a new switch, which holds its input open.
      await run.switchPid(oldSwitch);
      if (lost === oldLastResort) await run.lastResortPid(oldLastResort);
      expect(run.process.exitCode).toBe(null);
      await subject.suffer(['kill run', 'kill switch']);
      expect(await subject.next()).toEqual([]);
    }),
  );
});

describe.runIf(isLinux)('guards', () => {
  it.concurrent('that answer are kept, and one that was replaced knows of every renewal', async () =>
    troubled(IN_GROUP, ['--cgroup', 'off'], async ({ run }) => {
      const [firstSwitch, lastResort] = [await run.switchPid(), await run.lastResortPid()];
      await sleep(TERM_MS);
      expect([isThere(firstSwitch), isThere(lastResort)]).toEqual([true, true]);
      process.kill(firstSwitch, 'SIGKILL');
      const second = await run.switchPid(firstSwitch);
      await sleep(2 * TERM_MS);
      expect([run.process.exitCode, isThere(second)]).toEqual([null, true]);
    }));

  it.concurrent('are started as often as they die', async () =>
    troubled(IN_GROUP, ['--cgroup', 'off'], async ({ run }) => {
      // More often than one may fail to start.
      for (let times = 0, pid = await run.switchPid(); times < 7; times++) {
        // On a busy machine it may have been replaced already.
        await until(() => isCalled(pid, 'tenure switch') || !isThere(pid));
        if (isThere(pid)) process.kill(pid, 'SIGKILL');
        pid = await run.switchPid(pid);
      }
      expect(run.process.exitCode).toBe(null);
    }));
});

describe('the message of a lost lease', () => {
  it.concurrent.each([
    ['off', /nobody of its process group is left, and whoever left the group is out of reach without a cgroup \(--cgroup off\)/],
    ...(hasCgroup ? [['auto', /; nothing of the command is left \(TENURE_LEASE_LOST\)/] as const] : []),
  ] as const)('says what is left with --cgroup %s', async (which, says) => {
    const file = `lost-${which}`;
    const run = cell.run([`message/${which}`, '--cgroup', which, '--', 'sh', '-c', 'echo ready >> "$0"; exec sleep 1000', cell.file(file)]);
    await cell.line(file, /^ready$/);
    run.process.kill('SIGSTOP');
    await sleep(TERM_MS + TERM_MS / 2);
    run.process.kill('SIGCONT');
    expect(await run.ended).toMatchObject({ code: 73, stderr: expect.stringMatching(says) });
  });
});

describe.runIf(hasCgroup)('the cgroup of a command', () => {
  const cgroups = (): string => readFileSync('/proc/self/cgroup', 'latin1');
  const own = /^0::(.*)$/m.exec(isLinux ? cgroups() : '')?.[1] ?? '';

  it('is below ours, and is gone when the command has ended', async () => {
    const { stdout } = await cell.run(['enclosed', '--', 'cat', '/proc/self/cgroup']).ended;
    const [, path = ''] = /^0::(.*)$/m.exec(stdout) ?? [];
    expect(path.startsWith(own)).toBe(true);
    expect(path).toMatch(/\/tenure-run-\d+-\w+$/);
    const parent = Cgroup.below();
    parent.remove();
    expect(lstatSync(`${parent.path}/../${path.split('/').at(-1)}`, { throwIfNoEntry: false })).toBeUndefined();
  });

  it('is below the one that was asked for', async () => {
    const parent = Cgroup.below();
    try {
      const { stdout, code } = await cell.run(['enclosed', '--cgroup', parent.path, '--', 'cat', '/proc/self/cgroup']).ended;
      expect([code, stdout]).toEqual([0, expect.stringMatching(new RegExp(`/${parent.path.split('/').at(-1)}/tenure-run-`))]);
    } finally {
      parent.remove();
    }
  });

  it('is none if none is wanted', async () => {
    const { stdout } = await cell.run(['enclosed', '--cgroup', 'off', '--', 'cat', '/proc/self/cgroup']).ended;
    expect(stdout).toBe(cgroups());
  });

  it('ends whom the command left behind in a session of its own, after a word and its grace', async () => {
    const file = cell.file('left-behind');
    const left = `trap 'echo told >> "${file}"; exit' TERM; echo ready >> "${file}"; while :; do sleep 0.02; done`;
    const script = '(setsid sh -c "$LEFT" &); while [ ! -e "$0" ]; do sleep 0.02; done; exit 6';
    const { code } = await cell.run(['enclosed', '--grace', '1s', '--', 'sh', '-c', script, file], { env: { LEFT: left } }).ended;
    expect(code).toBe(6);
    expect(cell.lines('left-behind')).toEqual(['ready', 'told']);
  });

  it('leaves whoever left the group its grace when tenure run is killed and the leader is gone', async () => {
    const file = cell.file('stray-grace');
    const left = `trap 'sleep 0.5; echo told >> "${file}"; exit' TERM; echo ready >> "${file}"; while :; do sleep 0.02; done`;
    const script = '(setsid sh -c "$LEFT" &); while :; do sleep 0.02; done';
    const run = cell.run(['stray', '--grace', '1s', '--', 'sh', '-c', script], { env: { LEFT: left } });
    await cell.line('stray-grace', /^ready$/);
    const pid = await run.switchPid();
    await until(() => isCalled(pid, 'tenure switch'));
    run.process.kill('SIGKILL');
    expect(await cell.line('stray-grace', /^told$/)).toBe('told');
  });
});
