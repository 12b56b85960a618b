/**
 * `tenure run` whose lease is lost, or that is killed or stopped itself: nobody of its command is left when another begins.
 * Who was there when is told by the order of the lines that the commands append to one file.
 */
import { statSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { isStopped, isThere, livingIn, MembersApart, stubborn, until, type Run } from './run-kit.ts';

/** Long enough that a busy machine kills in time: a fortieth of it is left to the switch. */
const TERM_MS = 6000;
let cell: MembersApart;
let tests = 0;
let file = '';
beforeAll(async () => {
  cell = await MembersApart.start(TERM_MS);
});
afterAll(() => cell.close());
afterEach(() => cell.signal('SIGCONT'));

/** A command under way that listens to nobody, and its group. */
async function begin(who: string, args: readonly string[] = []): Promise<{ run: Run; group: number }> {
  file = `beats-${tests++}`;
  const run = cell.run(['lost', ...args, '--', ...stubborn(cell.file(file), who)]);
  const [, group] = (await cell.line(file, new RegExp(`^${who} \\d+ \\d+$`))).split(' ');
  await cell.line(file, new RegExp(`^${who} beats$`));
  return { run, group: Number(group) };
}

/**
 * Another takes the lease; when it has, nobody of the first is left, and none of its lines follow. The first was cut off from
 * renewals at `sinceMs` by the clock of all: it was gone before the last lease it can have had was over.
 */
async function nextBegins(group: number, sinceMs: number): Promise<void> {
  const next = cell.run(['lost', '--', 'sh', '-c', `echo next >> "${cell.file(file)}"; ps -A -o pgid=,stat=`]);
  const { code, stdout } = await next.ended;
  expect(code).toBe(0);
  const living = stdout.split('\n').filter((line) => {
    const [id, state = ''] = line.trim().split(/ +/);
    return Number(id) === group && !state.startsWith('Z');
  });
  expect(living).toEqual([]);
  expect(cell.lines(file).slice(-1)).toEqual(['next']);
  expect(statSync(cell.file(`${file}.clock`)).mtimeMs).toBeLessThan(sinceMs + TERM_MS);
}

describe('a command that ignores every signal is gone before another begins', () => {
  it('when its holder is cut off from all members', async () => {
    const { run, group } = await begin('first', ['--grace', '1s']);
    cell.signal('SIGSTOP');
    const cutOffMs = Date.now();
    // It is not asked to give up while it could still be renewed; it gives up without a word from anybody.
    const ended = await run.ended;
    expect(ended).toMatchObject({ code: 73, signal: null });
    expect(ended.stderr).toMatch(/TENURE_LEASE_LOST/);
    cell.signal('SIGCONT');
    await nextBegins(group, cutOffMs);
  });

  it('when tenure run is killed', async () => {
    const { run, group } = await begin('first', ['--grace', '500ms']);
    run.process.kill('SIGKILL');
    await nextBegins(group, Date.now());
    expect((await run.ended).signal).toBe('SIGKILL');
  });

  it('when tenure run is stopped', async () => {
    const { run, group } = await begin('first', ['--grace', '500ms']);
    run.process.kill('SIGSTOP');
    await nextBegins(group, Date.now());
    expect(isStopped(run.pid)).toBe(true);
    run.process.kill('SIGCONT');
    expect((await run.ended).code).toBe(73);
  });

  it('when tenure run is killed after its switch was', async () => {
    const { run, group } = await begin('first', ['--grace', '500ms']);
    const first = await run.switchPid();
    process.kill(first, 'SIGKILL');
    await run.switchPid(first);
    run.process.kill('SIGKILL');
    await nextBegins(group, Date.now());
    expect((await run.ended).signal).toBe('SIGKILL');
  });

  it('when tenure run is killed after its switch was stopped, and found out', async () => {
    const { run, group } = await begin('first', ['--grace', '500ms']);
    const first = await run.switchPid();
    process.kill(first, 'SIGSTOP');
    await run.switchPid(first);
    run.process.kill('SIGKILL');
    await nextBegins(group, Date.now());
    expect((await run.ended).signal).toBe('SIGKILL');
  });
});

describe('a command that ignores every signal is gone before another begins (Linux)', () => {
  it.runIf(process.platform === 'linux')('when tenure run and its switch are killed at the same moment', async () => {
    const { run, group } = await begin('first', ['--grace', '500ms']);
    await run.lastResortPid();
    for (const pid of [run.pid, await run.switchPid()]) process.kill(pid, 'SIGKILL');
    await nextBegins(group, Date.now());
    expect((await run.ended).signal).toBe('SIGKILL');
  });

  it.runIf(process.platform === 'linux')('when tenure run is killed with the switch that took the place of another', async () => {
    const { run, group } = await begin('first', ['--grace', '500ms']);
    await run.lastResortPid();
    const first = await run.switchPid();
    process.kill(first, 'SIGKILL');
    for (const pid of [await run.switchPid(first), run.pid]) process.kill(pid, 'SIGKILL');
    await nextBegins(group, Date.now());
    expect((await run.ended).signal).toBe('SIGKILL');
  });

  it.runIf(process.platform === 'linux')('and the last resort leaves a command its grace while the switch lives', async () => {
    file = `beats-${tests++}`;
    const script = `trap 'sleep 0.3; echo told >> "$0"; exit 0' TERM; echo ready >> "$0"; while :; do sleep 0.02; done`;
    const run = cell.run(['lost', '--grace', '2s', '--', 'sh', '-c', script, cell.file(file)]);
    await cell.line(file, /^ready$/);
    const lastResort = await run.lastResortPid();
    run.process.kill('SIGKILL');
    expect(await cell.line(file, /^told$/)).toBe('told');
    await until(() => !isThere(lastResort));
  });
});

describe('a command', () => {
  it('is told to stop before it is killed, and may end in time', async () => {
    file = `beats-${tests++}`;
    const script = `trap 'echo told >> "$0"; exit 0' USR1; echo ready >> "$0"; while :; do sleep 0.02; done`;
    const run = cell.run(['lost', '--grace', '2s', '--on-lost', 'usr1', '--', 'sh', '-c', script, cell.file(file)]);
    await cell.line(file, /^ready$/);
    cell.signal('SIGSTOP');
    expect((await run.ended).code).toBe(73);
    expect(cell.lines(file)).toEqual(['ready', 'told']);
  });

  it('is told to stop by the switch if tenure run is killed', async () => {
    file = `beats-${tests++}`;
    const script = `trap 'echo told >> "$0"; exit 0' TERM; echo ready >> "$0"; while :; do sleep 0.02; done`;
    const run = cell.run(['lost', '--grace', '2s', '--', 'sh', '-c', script, cell.file(file)]);
    await cell.line(file, /^ready$/);
    run.process.kill('SIGKILL');
    expect(await cell.line(file, /^told$/)).toBe('told');
  });

  it('that the switch told to stop while tenure run was stopped has lost its lease, whatever it ended with', async () => {
    file = `beats-${tests++}`;
    const script = `trap 'echo told >> "$0"; exit 0' TERM; echo "ready $$" >> "$0"; while :; do sleep 0.02; done`;
    const run = cell.run(['lost', '--grace', '2s', '--', 'sh', '-c', script, cell.file(file)]);
    const group = Number((await cell.line(file, /^ready \d+$/)).split(' ')[1]);
    // As from the keyboard. What happens first when we go on is another matter than after a SIGSTOP.
    run.process.kill('SIGTSTP');
    await until(() => livingIn(group).length === 0);
    run.process.kill('SIGCONT');
    expect(await run.ended).toMatchObject({ code: 73, stderr: expect.stringMatching(/TENURE_LEASE_LOST/) });
  });

  it('is killed when all awake after the end of the lease, and the code says that it was lost', async () => {
    const { run, group } = await begin('first');
    const everyone = [run.pid, await run.switchPid(), -group];
    for (const pid of everyone) process.kill(pid, 'SIGSTOP');
    await sleep(TERM_MS + 500);
    for (const pid of everyone) process.kill(pid, 'SIGCONT');
    expect((await run.ended).code).toBe(73);
    expect(livingIn(group)).toEqual([]);
  });

  it('outlives a cell whose members are all away for less than the term', async () => {
    file = `beats-${tests++}`;
    const run = cell.run(['lost', '--', 'sh', '-c', 'echo ready >> "$0"; read go; exit 4', cell.file(file)]);
    await cell.line(file, /^ready$/);
    cell.signal('SIGSTOP');
    await sleep(TERM_MS / 4);
    cell.signal('SIGCONT');
    await sleep(TERM_MS);
    run.process.stdin?.end('\n');
    expect((await run.ended).code).toBe(4);
  });
});
