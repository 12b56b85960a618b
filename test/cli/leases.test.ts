/** The commands that use a cell: holder, acquire, watch, status; against three real members. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BIN, freePorts, ServedCell } from './served-cell.ts';
import { tenure, type Ended } from './tenure.ts';

const cell = new ServedCell();
const running: ChildProcess[] = [];
beforeAll(async () => void (await cell.start()), 60_000);
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
  await cell.end();
});

const run = (...args: string[]): Ended => tenure(args, '', cell.env);

interface Live {
  readonly child: ChildProcess;
  /** The next line of its output. */
  line(): Promise<string>;
  readonly ended: Promise<number | string | null>;
}

/** A command that goes on until it is told to end. */
function start(...args: string[]): Live {
  const child = spawn(process.execPath, [BIN, ...args], { env: { ...process.env, ...cell.env }, stdio: ['pipe', 'pipe', 'inherit'] });
  running.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = once(child, 'exit').then(([code, signal]: (number | string | null)[]) => code ?? signal ?? null);
  return { child, ended, line: async () => String((await lines.next()).value) };
}

describe('tenure acquire', () => {
  it('holds the lease until its standard input closes', async () => {
    const held = start('acquire', 'stdin', '--json');
    const acquired = JSON.parse(await held.line()) as { token: number };
    expect(acquired).toMatchObject({ event: 'acquired', name: 'stdin' });
    expect(run('holder', 'stdin')).toMatchObject({ code: 0 });
    held.child.stdin?.end();
    expect(JSON.parse(await held.line())).toEqual({ event: 'released', name: 'stdin', token: acquired.token });
    expect(await held.ended).toBe(0);
    expect(run('holder', 'stdin')).toEqual({ code: 1, stdout: 'stdin free\n', stderr: '' });
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('gives the lease back on %s, and exits with 0', async (signal) => {
    const held = start('acquire', signal);
    expect(await held.line()).toMatch(new RegExp(`^${signal} acquired, token \\d+ `));
    held.child.kill(signal);
    expect(await held.line()).toBe(`${signal} released`);
    expect(await held.ended).toBe(0);
    expect(run('holder', '-q', signal)).toEqual({ code: 1, stdout: '', stderr: '' });
  });

  it('exits with 75 if another holds it and waiting is not wanted, with 76 if it was not free in time', async () => {
    const held = start('acquire', 'taken', '--meta', 'the first');
    await held.line();
    const refused = run('acquire', '-n', 'taken');
    expect(refused).toMatchObject({ code: 75, stdout: '' });
    expect(refused.stderr).toMatch(/^tenure: 'taken' is not free: held by the first, for .* at most unless renewed \(TENURE_HELD\)\n$/);
    const late = run('acquire', '-w', '200ms', 'taken');
    expect(late).toMatchObject({ code: 76, stdout: '' });
    expect(late.stderr).toMatch(
      /^tenure: 'taken' was not free in time: held by the first, for at most \d+ s unless it is renewed; wait longer, or try again later \(TENURE_WAIT_TIMEOUT\)\n$/,
    );
    expect(run('holder', 'taken').stdout).toMatch(/^taken held by the first, token \d+, for \S+ at most unless renewed\n$/);
    held.child.stdin?.end();
    await held.ended;
  });

  it('exits with 73 when the lease is lost', async () => {
    const held = start('acquire', 'lost', '--term', '1s');
    await held.line();
    // Asleep for longer than its term: it wakes up to a lease that is over.
    held.child.kill('SIGSTOP');
    const next = start('acquire', 'lost');
    expect(await next.line()).toMatch(/^lost acquired/);
    held.child.kill('SIGCONT');
    expect(await held.ended).toBe(73);
    next.child.stdin?.end();
    await next.ended;
  });
});

describe('tenure holder', () => {
  it('prints one JSON object', async () => {
    expect(JSON.parse(run('holder', 'json', '--json').stdout)).toEqual({
      name: 'json',
      state: 'free',
      holder: null,
      waiters: [],
      viewEpoch: 0,
    });
    const held = start('acquire', 'json', '--json', '--meta', 'me');
    const { token } = JSON.parse(await held.line()) as { token: number };
    const answer = JSON.parse(run('holder', 'json', '--json').stdout) as { holder: { remainingMsMax: number; incarnation: number } };
    expect(answer).toMatchObject({ name: 'json', state: 'held', holder: { token, meta: 'me' } });
    expect(Object.keys(answer.holder)).toEqual(['incarnation', 'token', 'remainingMsMax', 'meta']);
    held.child.stdin?.end();
    await held.ended;
  });

  it('refuses what is no name, with 64', () => {
    expect(run('holder', '_tenure/x')).toMatchObject({ code: 64, stdout: '' });
  });
});

describe('tenure watch', () => {
  it('tells what is held under its prefix, then of what is taken and given back there, and of nothing else', async () => {
    const first = start('acquire', 'watched/first', '--meta', 'me');
    await first.line();
    const watch = start('watch', 'watched/', '--json');
    const next = async (): Promise<Record<string, unknown>> => JSON.parse(await watch.line()) as Record<string, unknown>;
    // A member that is reached late makes a gap, and all is told anew.
    let told = await next();
    while (told['kind'] === 'gap') told = await next();
    expect(Object.keys(told)).toEqual(['at', 'kind', 'name', 'holder']);
    expect(told).toMatchObject({ kind: 'held', name: 'watched/first', holder: { meta: 'me' } });
    expect(await next()).toMatchObject({ kind: 'current' });

    run('acquire', 'elsewhere');
    const second = start('acquire', 'watched/second');
    await second.line();
    expect(await next()).toMatchObject({ kind: 'held', name: 'watched/second' });
    second.child.stdin?.end();
    expect(await next()).toMatchObject({ kind: 'ended', name: 'watched/second' });
    watch.child.kill('SIGINT');
    expect(await watch.ended).toBe(0);
    first.child.stdin?.end();
    await first.ended;
  });
});

describe('tenure ls', () => {
  it('lists what is held under a prefix, in the order of names, and exits with 0', async () => {
    const held = [start('acquire', 'ls/b', '--meta', 'second'), start('acquire', 'ls/a', '--meta', 'first')];
    await Promise.all(held.map((each) => each.line()));
    const { leases, certain } = JSON.parse(run('ls', 'ls/', '--json').stdout) as {
      leases: { name: string; holder: object }[];
      certain: boolean;
    };
    expect(certain).toBe(true);
    expect(leases.map(({ name }) => name)).toEqual(['ls/a', 'ls/b']);
    expect(Object.keys(leases[0]?.holder ?? {})).toEqual(['incarnation', 'token', 'remainingMsMax', 'meta']);
    expect(run('ls', 'ls/').stdout).toMatch(/^NAME {2}TOKEN +AT MOST {2}HOLDER\nls\/a  \d+ +\S+ +first\nls\/b  \d+ +\S+ +second\n$/);
    for (const each of held) each.child.stdin?.end();
    await Promise.all(held.map((each) => each.ended));
    expect(run('ls', 'ls/')).toEqual({ code: 0, stdout: '', stderr: "nothing is held under 'ls/'\n" });
  });
});

describe('tenure elect', () => {
  it('is elected in turn, tells who leads, and resigns on a signal', async () => {
    const facts = async (live: Live, event: string): Promise<Record<string, unknown>> => {
      for (;;) {
        const line = JSON.parse(await live.line()) as Record<string, unknown>;
        if (line['event'] === event) return line;
      }
    };
    const first = start('elect', 'chair', '--json', '--value', 'one');
    const elected = await facts(first, 'elected');
    const second = start('elect', 'chair', '--json', '--value', 'two');
    expect(await facts(second, 'leader')).toMatchObject({ name: 'chair', leader: { value: 'one', token: elected['token'] } });
    first.child.kill('SIGTERM');
    expect(await facts(first, 'resigned')).toMatchObject({ token: elected['token'], handedOver: expect.any(Boolean) as boolean });
    expect(await first.ended).toBe(0);
    expect((await facts(second, 'elected'))['token']).toBeGreaterThan(Number(elected['token']));
    const watcher = start('elect', 'chair', '--observe', '--json');
    expect(await facts(watcher, 'leader')).toMatchObject({ leader: { value: 'two' } });
    for (const live of [second, watcher]) live.child.kill('SIGINT');
    expect(await Promise.all([second.ended, watcher.ended])).toEqual([0, 0]);
  });

  it('runs a command while it leads, and ends with its code', () => {
    const ended = run('elect', 'office', '--', 'sh', '-c', 'echo $TENURE_NAME; exit 7');
    expect(ended).toMatchObject({ code: 7, stdout: 'office\n' });
  });

  it('wants -- before the command', () => {
    expect(run('elect', 'office', 'sh')).toMatchObject({ code: 64, stdout: '' });
  });
});

describe('tenure status', () => {
  it('lists every member, reached or not, and exits with 0 while a majority is', async () => {
    const whole = JSON.parse(run('status', '--json').stdout) as { members: { id: string; rttMs: number; silentForMs: number }[] };
    expect(whole).toMatchObject({ cell: 'test', majority: 2, reached: 3 });
    expect(whole.members.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(whole.members.every(({ rttMs, silentForMs }) => rttMs > 0 && silentForMs === 0)).toBe(true);
  });
});

describe('a command that cannot reach its cell', () => {
  it('says of each member why, and exits with 69', async () => {
    const [p, q] = await freePorts(2);
    const { code, stdout, stderr } = tenure([
      'holder',
      'x',
      '--cell',
      'test',
      '--members',
      `a=127.0.0.1:${p},b=127.0.0.1:${q}`,
      '--connect-timeout',
      '300ms',
    ]);
    expect({ code, stdout }).toEqual({ code: 69, stdout: '' });
    expect(stderr).toBe(
      `tenure: no member of cell test was reached in 300ms (TENURE_UNREACHABLE)\n` +
        `  a (127.0.0.1:${p}): nobody listens there (ECONNREFUSED); is it started?\n` +
        `  b (127.0.0.1:${q}): nobody listens there (ECONNREFUSED); is it started?\n`,
    );
  });

  it('because it lacks the secret exits with 77, because of another cell with 78', () => {
    const wrong = join(cell.folder, 'wrong.secret');
    writeFileSync(wrong, 'not the secret of the clients');
    const refused = run('holder', 'x', '--client-secret-file', wrong);
    expect(refused).toMatchObject({ code: 77, stdout: '' });
    expect(refused.stderr).toContain('(TENURE_WRONG_SECRET)');
    expect(run('holder', 'x', '--cell', 'other')).toMatchObject({ code: 78, stdout: '' });
  });
});

describe('a typing error', () => {
  it.each([
    [['holdr', 'x'], 'Did you mean holder?'],
    [['holder', '--jsno', 'x'], 'Did you mean --json?'],
    [['serve', '--max-trm', '1s'], 'Did you mean --max-term?'],
    [['config', 'chek'], 'Did you mean check?'],
  ])('%j is answered with what was meant, and 64', (args, told) => {
    const { code, stderr } = run(...args);
    expect(stderr).toContain(told);
    expect(code).toBe(64);
  });
});
