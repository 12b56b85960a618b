/**
 * `tenure run` whose lease is lost, or that is killed or stopped itself: nobody of its command is left when another begins.
 * Who was there when is told by the order of the lines that the commands append to one file.
 */
import { statSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { isStopped, isThere, livingIn, MembersApart, stubborn, until, type Run } from './run-kit.ts';

/** Long enough that a busy machine kills in time: a fortieth of it is left to the switch. */
const TERM_MS = 6000;
/** Tests wait for terms at the same time, each with a lease of its own. Those that stop the members have a cell of their own, and come one after another. */
const AT_ONCE = { concurrent: true };
vi.setConfig({ maxConcurrency: 3 });
let cell: MembersApart;
let stopped: MembersApart;
beforeAll(async () => {
  [cell, stopped] = await Promise.all([MembersApart.start(TERM_MS), MembersApart.start(TERM_MS)]);
});
afterAll(() => {
  cell.close();
  stopped.close();
});

interface Begun {
  readonly place: MembersApart;
  readonly run: Run;
  readonly group: number;
  /** The name of its lease, and the file it writes. */
  readonly name: string;
}

let names = 0;
function nextName(): string {
  return `lost-${names++}`;
}

/** A command under way that listens to nobody, and its group. */
async function begin(place: MembersApart, args: readonly string[] = []): Promise<Begun> {
  const name = nextName();
  const run = place.run([name, ...args, '--', ...stubborn(place.file(name), 'first')]);
  const [, group] = (await place.line(name, /^first \d+ \d+$/)).split(' ');
  await place.line(name, /^first beats$/);
  return { place, run, group: Number(group), name };
}

/**
 * Another takes the lease; when it has, nobody of the first is left, and none of its lines follow. The first was cut off from
 * renewals at `sinceMs` by the clock of all: it was gone before the last lease it can have had was over.
 */
async function nextBegins({ place, group, name }: Begun, sinceMs: number): Promise<void> {
  const next = place.run([name, '--', 'sh', '-c', `echo next >> "${place.file(name)}"; ps -A -o pgid=,stat=`]);
  const { code, stdout } = await next.ended;
  expect(code).toBe(0);
  const living = stdout.split('\n').filter((line) => {
    const [id, state = ''] = line.trim().split(/ +/);
    return Number(id) === group && !state.startsWith('Z');
  });
  expect(living).toEqual([]);
  expect(place.lines(name).slice(-1)).toEqual(['next']);
  expect(statSync(place.file(`${name}.clock`)).mtimeMs).toBeLessThan(sinceMs + TERM_MS);
}

describe('a command whose holder is cut off from all members', AT_ONCE, () => {
  afterEach(() => stopped.signal('SIGCONT'));

  it.sequential('is gone before another begins, though it ignores every signal', async () => {
    const begun = await begin(stopped, ['--grace', '1s']);
    const { run } = begun;
    stopped.signal('SIGSTOP');
    const cutOffMs = Date.now();
    // It is not asked to give up while it could still be renewed; it gives up without a word from anybody.
    const ended = await run.ended;
    expect(ended).toMatchObject({ code: 73, signal: null });
    expect(ended.stderr).toMatch(/TENURE_LEASE_LOST/);
    stopped.signal('SIGCONT');
    await nextBegins(begun, cutOffMs);
  });

  it.sequential('is told to stop before it is killed, and may end in time', async () => {
    const name = nextName();
    const script = `trap 'echo told >> "$0"; exit 0' USR1; echo ready >> "$0"; while :; do sleep 0.02; done`;
    const run = stopped.run([name, '--grace', '2s', '--on-lost', 'usr1', '--', 'sh', '-c', script, stopped.file(name)]);
    await stopped.line(name, /^ready$/);
    stopped.signal('SIGSTOP');
    expect((await run.ended).code).toBe(73);
    expect(stopped.lines(name)).toEqual(['ready', 'told']);
  });

  it.sequential('goes on if they are away for less than the term', async () => {
    const name = nextName();
    const run = stopped.run([name, '--', 'sh', '-c', 'echo ready >> "$0"; read go; exit 4', stopped.file(name)]);
    await stopped.line(name, /^ready$/);
    stopped.signal('SIGSTOP');
    await sleep(TERM_MS / 4);
    stopped.signal('SIGCONT');
    await sleep(TERM_MS);
    run.process.stdin?.end('\n');
    expect((await run.ended).code).toBe(4);
  });
});

describe('a command that ignores every signal is gone before another begins', AT_ONCE, () => {
  it('when tenure run is killed', async () => {
    const begun = await begin(cell, ['--grace', '500ms']);
    const { run } = begun;
    run.process.kill('SIGKILL');
    await nextBegins(begun, Date.now());
    expect((await run.ended).signal).toBe('SIGKILL');
  });

  it('when tenure run is stopped', async () => {
    const begun = await begin(cell, ['--grace', '500ms']);
    const { run } = begun;
    run.process.kill('SIGSTOP');
    await nextBegins(begun, Date.now());
    expect(isStopped(run.pid)).toBe(true);
    run.process.kill('SIGCONT');
    expect((await run.ended).code).toBe(73);
  });

  it('when tenure run is killed after its switch was', async () => {
    const begun = await begin(cell, ['--grace', '500ms']);
    const { run } = begun;
    const first = await run.switchPid();
    process.kill(first, 'SIGKILL');
    await run.switchPid(first);
    run.process.kill('SIGKILL');
    await nextBegins(begun, Date.now());
    expect((await run.ended).signal).toBe('SIGKILL');
  });

  it('when tenure run is killed after its switch was stopped, and found out', async () => {
    const begun = await begin(cell, ['--grace', '500ms']);
    const { run } = begun;
    const first = await run.switchPid();
    process.kill(first, 'SIGSTOP');
    await run.switchPid(first);
    run.process.kill('SIGKILL');
    await nextBegins(begun, Date.now());
    expect((await run.ended).signal).toBe('SIGKILL');
  });
});

describe('a command that ignores every signal is gone before another begins (Linux)', AT_ONCE, () => {
  it.runIf(process.platform === 'linux')('when tenure run and its switch are killed at the same moment', async () => {
    const begun = await begin(cell, ['--grace', '500ms']);
    const { run } = begun;
    await run.lastResortPid();
    for (const pid of [run.pid, await run.switchPid()]) process.kill(pid, 'SIGKILL');
    await nextBegins(begun, Date.now());
    expect((await run.ended).signal).toBe('SIGKILL');
  });

  it.runIf(process.platform === 'linux')('when tenure run is killed with the switch that took the place of another', async () => {
    const begun = await begin(cell, ['--grace', '500ms']);
    const { run } = begun;
    await run.lastResortPid();
    const first = await run.switchPid();
    process.kill(first, 'SIGKILL');
    for (const pid of [await run.switchPid(first), run.pid]) process.kill(pid, 'SIGKILL');
    await nextBegins(begun, Date.now());
    expect((await run.ended).signal).toBe('SIGKILL');
  });

  it.runIf(process.platform === 'linux')('and the last resort leaves a command its grace while the switch lives', async () => {
    const name = nextName();
    const script = `trap 'sleep 0.3; echo told >> "$0"; exit 0' TERM; echo ready >> "$0"; while :; do sleep 0.02; done`;
    const run = cell.run([name, '--grace', '2s', '--', 'sh', '-c', script, cell.file(name)]);
    await cell.line(name, /^ready$/);
    const lastResort = await run.lastResortPid();
    run.process.kill('SIGKILL');
    expect(await cell.line(name, /^told$/)).toBe('told');
    await until(() => !isThere(lastResort));
  });
});

describe('a command', AT_ONCE, () => {
  it('is told to stop by the switch if tenure run is killed', async () => {
    const name = nextName();
    const script = `trap 'echo told >> "$0"; exit 0' TERM; echo ready >> "$0"; while :; do sleep 0.02; done`;
    const run = cell.run([name, '--grace', '2s', '--', 'sh', '-c', script, cell.file(name)]);
    await cell.line(name, /^ready$/);
    run.process.kill('SIGKILL');
    expect(await cell.line(name, /^told$/)).toBe('told');
  });

  it('that the switch told to stop while tenure run was stopped has lost its lease, whatever it ended with', async () => {
    const name = nextName();
    const script = `trap 'echo told >> "$0"; exit 0' TERM; echo "ready $$" >> "$0"; while :; do sleep 0.02; done`;
    const run = cell.run([name, '--grace', '2s', '--', 'sh', '-c', script, cell.file(name)]);
    const group = Number((await cell.line(name, /^ready \d+$/)).split(' ')[1]);
    // As from the keyboard. What happens first when we go on is another matter than after a SIGSTOP.
    run.process.kill('SIGTSTP');
    await until(() => livingIn(group).length === 0);
    run.process.kill('SIGCONT');
    expect(await run.ended).toMatchObject({ code: 73, stderr: expect.stringMatching(/TENURE_LEASE_LOST/) });
  });

  it('is killed when all awake after the end of the lease, and the code says that it was lost', async () => {
    const { run, group } = await begin(cell);
    const everyone = [run.pid, await run.switchPid(), -group];
    for (const pid of everyone) process.kill(pid, 'SIGSTOP');
    await sleep(TERM_MS + 500);
    for (const pid of everyone) process.kill(pid, 'SIGCONT');
    expect((await run.ended).code).toBe(73);
    expect(livingIn(group)).toEqual([]);
  });
});
