/** `tenure run` as scripts see it: exit codes, environment, standard streams, signals. Real members, real processes. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isGroupStopped, isStopped, livingIn, MembersApart, until } from './run-kit.ts';

const TERM_MS = 6000;
let cell: MembersApart;
beforeAll(async () => {
  cell = await MembersApart.start(TERM_MS);
});
afterAll(() => cell.close());

interface Case {
  readonly code: number;
  readonly when: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Somebody holds the lease `held` meanwhile. */
  readonly isHeld?: boolean;
  readonly says?: RegExp;
}

const NOBODY = { TENURE_MEMBERS: 'a=127.0.0.1:1,b=127.0.0.1:2,c=127.0.0.1:3' };

const CASES: readonly Case[] = [
  { code: 0, when: 'the command ends well', args: ['x', '--', 'true'] },
  { code: 1, when: 'the command ends with 1', args: ['x', '--', 'false'] },
  { code: 255, when: 'the command ends with 255', args: ['x', '--', 'sh', '-c', 'exit 255'] },
  { code: 64, when: 'there is no command', args: ['x'], says: /missing required argument 'command'/ },
  { code: 64, when: 'the command does not follow --', args: ['x', 'true'], says: /put -- before the command/ },
  { code: 64, when: 'the -- is one of the command', args: ['x', 'echo', '--', 'true'], says: /put -- before the command/ },
  { code: 64, when: 'an option does not exist', args: ['x', '--nonsense', '--', 'true'], says: /unknown option/ },
  { code: 64, when: 'a duration cannot be read', args: ['-w', 'soon', 'x', '--', 'true'], says: /TENURE_BAD_DURATION/ },
  { code: 64, when: 'a name is reserved', args: ['_tenure/x', '--', 'true'], says: /TENURE_BAD_NAME/ },
  { code: 64, when: 'waiting is wanted and not wanted', args: ['-n', '-w', '1s', 'x', '--', 'true'], says: /give one of them/ },
  { code: 64, when: 'there is no such signal', args: ['--on-lost', 'BOO', 'x', '--', 'true'], says: /no signal 'BOO'/ },
  { code: 64, when: 'an exit code is none', args: ['-E', '256', 'x', '--', 'true'], says: /from 0 to 255/ },
  { code: 64, when: 'slots are shared', args: ['-s', '--slots', '2', 'x', '--', 'true'], says: /give one of them/ },
  { code: 64, when: 'slots are no number', args: ['--slots', 'many', 'x', '--', 'true'], says: /from 1 to 8192/ },
  { code: 64, when: 'the term is too long', args: ['--term', '1m', 'x', '--', 'true'], says: /longer than the longest of this cell, 6s/ },
  { code: 64, when: 'the grace does not fit', args: ['--grace', '4s', 'x', '--', 'true'], says: /at most 2.7s, or a term of at least/ },
  { code: 64, when: 'a cgroup is none', args: ['--cgroup', 'some', 'x', '--', 'true'], says: /give auto, off, or the folder of a cgroup/ },
  {
    code: 78,
    when: 'there is no such cgroup',
    args: ['--cgroup', '/no/such', 'x', '--', 'true'],
    says: /there is no \/no\/such \(TENURE_BAD_CONFIG/,
  },
  { code: 78, when: 'a folder is no cgroup', args: ['--cgroup', '/tmp', 'x', '--', 'true'], says: /\/tmp is no cgroup of version 2/ },
  {
    code: 69,
    when: 'no member is there',
    args: ['--connect-timeout', '300ms', 'x', '--', 'true'],
    env: NOBODY,
    says: /TENURE_UNREACHABLE/,
  },
  { code: 69, when: 'no member is there, and time is short', args: ['-w', '300ms', 'x', '--', 'true'], env: NOBODY },
  { code: 75, when: 'another has it', args: ['-n', 'held', '--', 'true'], isHeld: true, says: /'held' is taken: held by .+ pid \d+/ },
  { code: 9, when: 'another has it, with -E 9', args: ['-n', '-E', '9', 'held', '--', 'true'], isHeld: true },
  { code: 0, when: 'another has it, with -E 0', args: ['-n', '-E', '0', 'held', '--', 'false'], isHeld: true },
  {
    code: 76,
    when: 'another has it for long',
    args: ['-w', '200ms', 'held', '--', 'true'],
    isHeld: true,
    says: /was not free in time: held by .* unless it is renewed; .*TENURE_WAIT_TIMEOUT/,
  },
  { code: 77, when: 'the secret is wrong', args: ['--secret-file', 'WRONG', 'x', '--', 'true'], says: /TENURE_WRONG_SECRET/ },
  { code: 78, when: 'no cell is named', args: ['x', '--', 'true'], env: { TENURE_CELL: '' }, says: /TENURE_BAD_CONFIG/ },
  { code: 78, when: 'the cell has another name', args: ['--cell', 'other', 'x', '--', 'true'], says: /TENURE_WRONG_CELL/ },
  { code: 126, when: 'the command cannot be run', args: ['x', '--', '/etc/passwd'], says: /^tenure: \/etc\/passwd: .* may not run it/ },
  { code: 126, when: 'the command is a folder', args: ['x', '--', '/etc'], says: /^tenure: \/etc: it is a folder\n$/ },
  {
    code: 127,
    when: 'there is no such command',
    args: ['x', '--', 'no-such-command'],
    says: /^tenure: no-such-command: no such command\n$/,
  },
  { code: 127, when: 'there is no such file', args: ['x', '--', '/no/such'], says: /^tenure: \/no\/such: no such command\n$/ },
  { code: 127, when: 'the command is nothing', args: ['x', '--', ''], says: /^tenure: : no such command\n$/ },
  { code: 126, when: 'it cannot be run, and no shell is between', args: ['x', '--', '/etc/passwd'], env: { 'not.a.name': '1' } },
  { code: 127, when: 'there is none, and no shell is between', args: ['x', '--', 'no-such-command'], env: { 'not.a.name': '1' } },
];

const DEADLY = ['SIGHUP', 'SIGINT', 'SIGKILL', 'SIGTERM', 'SIGUSR1', 'SIGSEGV'] as const;

/** Whether it listens to signals yet. Node itself catches some from the start; the last that `tenure run` asks for is CONT. */
function hasHandlers(pid: number): boolean {
  const caught = /^SigCgt:\s+([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? '0';
  return ((BigInt(`0x${caught}`) >> BigInt(constants.signals.SIGCONT - 1)) & 1n) === 1n;
}

describe('tenure run exits', () => {
  it.each(CASES)('with $code when $when', async ({ args, env, isHeld = false, code, says = /^/ }) => {
    writeFileSync(cell.file('wrong'), 'a wrong secret of clients');
    const words = args.map((word) => (word === 'WRONG' ? cell.file('wrong') : word));
    const holder = isHeld ? await cell.hold('held') : null;
    const ended = await cell.run(words, env ? { env } : {}).ended;
    await holder?.letGo();
    expect(ended).toEqual({ code, signal: null, stdout: '', stderr: expect.stringMatching(says) });
  });

  it.each(DEADLY)('with 128 and its number when %s killed the command', async (signal) => {
    const { code } = await cell.run(['x', '--', 'sh', '-c', `kill -${signal.slice(3)} $$`]).ended;
    expect(code).toBe(128 + constants.signals[signal]);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const)('with 128 and its number when %s ended the waiting', async (signal) => {
    const holder = await cell.hold('waited-for');
    const waiting = cell.run(['waited-for', '--', 'true']);
    await until(() => hasHandlers(waiting.pid));
    waiting.process.kill(signal);
    expect((await waiting.ended).code).toBe(128 + constants.signals[signal]);
    await holder.letGo();
  });
});

describe('the command of tenure run', () => {
  it('gets its words as they are', async () => {
    const words = ['', ' ', 'a b', "it's", '"', '$HOME', '*', '-n', '--json', 'ü\n'];
    const { stdout } = await cell.run(['x', '--', 'printf', '<%s>', ...words]).ended;
    expect(stdout).toBe(words.map((word) => `<${word}>`).join(''));
  });

  it('finds name, token, holder and deadline in its environment, and all that was there before', async () => {
    const print = 'process.stdout.write(JSON.stringify(process.env))';
    const tokens: number[] = [];
    for (const env of [{ FOO: 'a=b\nc' }, { FOO: 'a=b\nc', 'not.a.name': '1' }]) {
      const before = Date.now();
      const { stdout } = await cell.run(['some/name', '--', process.execPath, '-e', print], { env }).ended;
      const found = JSON.parse(stdout) as Record<string, string>;
      expect(found).toMatchObject({ ...env, TENURE_NAME: 'some/name', TENURE_HOLDER: expect.stringMatching(/^.+ pid \d+$/) });
      expect(Number(found['TENURE_DEADLINE'])).toBeGreaterThan(before);
      expect(Number(found['TENURE_DEADLINE'])).toBeLessThanOrEqual(Date.now() + TERM_MS);
      tokens.push(Number(found['TENURE_TOKEN']));
    }
    expect(tokens[1]).toBeGreaterThan(tokens[0] ?? Infinity);
  });

  it('reads our input and writes our output and error', async () => {
    const input = 'x'.repeat(300_000);
    const { stdout, stderr, code } = await cell.run(['x', '--', 'sh', '-c', 'cat; echo done >&2'], { input }).ended;
    expect([stdout === input, stderr, code]).toEqual([true, 'done\n', 0]);
  });

  it('gets streams that block, as programs expect', async () => {
    const { stdout } = await cell.run(['x', '--', 'sh', '-c', 'for fd in 0 1 2; do grep flags /proc/self/fdinfo/$fd; done']).ended;
    const O_NONBLOCK = 0o4000;
    const flags = [...stdout.matchAll(/flags:\s+([0-7]+)/g)].map(([, octal = '']) => Number.parseInt(octal, 8) & O_NONBLOCK);
    expect(flags).toEqual([0, 0, 0]);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const)('hears %s', async (signal) => {
    const script = `trap 'echo heard; exit 5' ${signal.slice(3)}; echo ready; while :; do sleep 0.02; done`;
    const run = cell.run(['x', '--', 'sh', '-c', script]);
    await new Promise((resolve) => run.process.stdout?.once('data', resolve));
    run.process.kill(signal);
    expect(await run.ended).toMatchObject({ code: 5, stdout: 'ready\nheard\n' });
  });

  it('is stopped with us by the keyboard, and goes on with us', async () => {
    const run = cell.run([
      'x',
      '--grace',
      '100ms',
      '--',
      'sh',
      '-c',
      'echo $$; while [ ! -e "$0" ]; do sleep 0.02; done',
      cell.file('go-on'),
    ]);
    const group = Number(await new Promise((resolve) => run.process.stdout?.once('data', resolve)));
    run.process.kill('SIGTSTP');
    await until(() => isGroupStopped(group) && isStopped(run.pid));
    run.process.kill('SIGCONT');
    await until(() => !isGroupStopped(group));
    writeFileSync(cell.file('go-on'), '');
    expect((await run.ended).code).toBe(0);
  });

  it('leaves nobody of its group behind when it ends, and its code is kept', async () => {
    const run = cell.run(['x', '--', 'sh', '-c', '(trap "" TERM; while :; do sleep 0.02; done) & echo $$; exit 6']);
    const { code, stdout } = await run.ended;
    expect(code).toBe(6);
    expect(livingIn(Number(stdout))).toEqual([]);
  });

  it('has the lease to itself, and the lease is free when we exit', async () => {
    expect((await cell.run(['x', '--', 'true']).ended).code).toBe(0);
    expect((await cell.run(['-n', 'x', '--', 'true']).ended).code).toBe(0);
  });

  it('is told of what went wrong as JSON, if that is wanted', async () => {
    const holder = await cell.hold('held');
    const { stderr } = await cell.run(['--json', '-n', 'held', '--', 'true']).ended;
    await holder.letGo();
    expect(JSON.parse(stderr)).toMatchObject({ event: 'conflict', code: 'TENURE_HELD', name: 'held' });
  });
});

describe('a command that cannot be started', () => {
  it.each([
    { command: 'no-such-command', code: 127 },
    { command: '/etc/passwd', code: 126 },
  ])('is told as JSON, with $code: $command', async ({ command, code }) => {
    const ended = await cell.run(['x', '--json', '--', command]).ended;
    expect(ended).toMatchObject({ code, stdout: '' });
    expect(JSON.parse(ended.stderr)).toEqual({ event: 'not-started', name: 'x', message: expect.stringContaining(command) });
  });

  it('is looked for as shells do: one that may not be run does not hide another', async () => {
    for (const folder of ['first', 'second', 'third']) mkdirSync(cell.file(folder));
    writeFileSync(cell.file('first/tool'), '#!/bin/sh\necho first\n', { mode: 0o644 });
    mkdirSync(cell.file('second/tool'));
    const PATH = [cell.file('first'), cell.file('second'), cell.file('third'), process.env['PATH']].join(':');
    expect((await cell.run(['x', '--', 'tool'], { env: { PATH } }).ended).code).toBe(126);
    writeFileSync(cell.file('third/tool'), '#!/bin/sh\necho third\n', { mode: 0o755 });
    expect(await cell.run(['x', '--', 'tool'], { env: { PATH } }).ended).toMatchObject({ code: 0, stdout: 'third\n' });
  });
});

describe('docs/cli.md', () => {
  it('lists the exit codes that are tried here', () => {
    const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');
    for (const code of [64, 69, 73, 75, 76, 77, 78, 126, 127]) expect(page).toMatch(new RegExp(`^\\| ${code} \\|`, 'm'));
  });
});
