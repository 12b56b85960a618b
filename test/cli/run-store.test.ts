/** `tenure run` with a store: the same exit codes and the same guards as with a cell, with compare-and-set and on plain registers. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isStopped, livingIn, StoreDirectory, stubborn, type Run } from './run-kit.ts';

const TERM_MS = 4000;
/** Of the plain registers: an attempt takes about five times as long. */
const DELTA_MS = 100;

// Both wait for terms at the same time; the tests of one store, which takes it away, come one after another.
describe.each([
  { path: 'compare-and-set', isPlain: false },
  { path: 'plain registers', isPlain: true },
])('tenure run with a store ($path)', { concurrent: true }, ({ isPlain }) => {
  let store: StoreDirectory;
  let tests = 0;
  let file = '';
  beforeAll(async () => {
    store = await StoreDirectory.make(isPlain, TERM_MS, DELTA_MS);
  });
  afterAll(() => store.close());
  afterEach(() => store.move('back'));

  /** A command under way that listens to nobody, and its group. */
  async function begin(args: readonly string[] = []): Promise<{ run: Run; group: number }> {
    file = `beats-${tests++}`;
    const run = store.run(['lost', ...args, '--', ...stubborn(store.file(file), 'first')]);
    const [, group] = (await store.line(file, /^first \d+ \d+$/)).split(' ');
    await store.line(file, /^first beats$/);
    return { run, group: Number(group) };
  }

  /** Another takes the lease; when it has, nobody of the first is left, and none of its lines follow. */
  async function nextBegins(group: number): Promise<void> {
    const { code, stdout } = await store.run(['lost', '--', 'sh', '-c', `echo next >> "${store.file(file)}"; ps -A -o pgid=,stat=`]).ended;
    expect(code).toBe(0);
    const living = stdout.split('\n').filter((line) => {
      const [id, state = ''] = line.trim().split(/ +/);
      return Number(id) === group && !state.startsWith('Z');
    });
    expect(living).toEqual([]);
    expect(store.lines(file).slice(-1)).toEqual(['next']);
  }

  it.sequential('exits with the code of the command, which knows its name, token and holder', async () => {
    const { code, stdout, stderr } = await store.run(['job', '--', 'sh', '-c', 'echo "$TENURE_NAME $TENURE_TOKEN $TENURE_HOLDER"; exit 7'])
      .ended;
    expect({ code, stderr }).toEqual({ code: 7, stderr: '' });
    expect(stdout).toMatch(/^job \d+ \S+ pid \d+\n$/);
  });

  it.sequential('exits with 75 if another has it and -n is given, with 76 if it was not free in time', async () => {
    const { letGo } = await store.hold('taken');
    const refused = await store.run(['-n', 'taken', '--', 'true']).ended;
    expect(refused.stderr).toMatch(/^tenure: 'taken' is taken: held by \S+ pid \d+, for at most \d+ s unless it is renewed\n$/);
    expect(refused.code).toBe(75);
    expect(await store.run(['-w', '1500ms', 'taken', '--', 'true']).ended).toMatchObject({ code: 76 });
    expect((await letGo()).code).toBe(0);
    expect(await store.run(['-w', '20s', 'taken', '--', 'true']).ended).toMatchObject({ code: 0, stderr: '' });
  });

  it.sequential('shares a lease with -s, and is refused one beside a command that shares it', async () => {
    const { letGo } = await store.hold('shared', ['-s']);
    expect(await store.run(['-s', '-n', 'shared', '--', 'true']).ended).toMatchObject({ code: 0, stderr: '' });
    expect(await store.run(['-n', 'shared', '--', 'true']).ended).toMatchObject({ code: 75 });
    expect((await letGo()).code).toBe(0);
  });

  it.sequential('takes with -n what a process left that is dead', async () => {
    const { run } = await store.hold('left behind');
    run.process.kill('SIGKILL');
    await run.ended;
    expect(await store.run(['-n', 'left behind', '--', 'true']).ended).toMatchObject({ code: 0, stderr: '' });
  });

  it.sequential('refuses a term that is longer than the longest of the store', async () => {
    const ended = await store.run(['--term', '1m', 'long', '--', 'true']).ended;
    expect(ended).toMatchObject({ code: 64, stderr: expect.stringContaining('--term 1m is longer than the longest of this store, 4s') });
  });

  it.sequential('ends its command before another begins when the store is away for too long, and exits with 73', async () => {
    const { run, group } = await begin();
    store.move('away');
    expect(await run.ended).toMatchObject({ code: 73, stderr: expect.stringMatching(/TENURE_LEASE_LOST/) });
    expect(livingIn(group)).toEqual([]);
    store.move('back');
    await nextBegins(group);
  });

  it.sequential('leaves its command alone when the store is away for a moment', async () => {
    file = `beats-${tests++}`;
    const run = store.run(['moment', '--', 'sh', '-c', 'echo ready >> "$0"; read go; exit 4', store.file(file)]);
    await store.line(file, /^ready$/);
    store.move('away');
    await sleep(TERM_MS / 8);
    store.move('back');
    await sleep(TERM_MS);
    run.process.stdin?.end('\n');
    expect((await run.ended).code).toBe(4);
  });

  it.sequential('has its command ended before another begins when it is killed', async () => {
    const { run, group } = await begin();
    run.process.kill('SIGKILL');
    await nextBegins(group);
    expect((await run.ended).signal).toBe('SIGKILL');
  });

  it.sequential('has its command ended before another begins when it is stopped', async () => {
    const { run, group } = await begin();
    run.process.kill('SIGSTOP');
    await nextBegins(group);
    expect(isStopped(run.pid)).toBe(true);
    run.process.kill('SIGCONT');
    expect((await run.ended).code).toBe(73);
  });
});
