/** Where users stumble: errors under --json, outputs that take no more, values at the edge, members that cannot be. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { BIN, freePorts, ServedCell } from './served-cell.ts';
import { tenure } from './tenure.ts';

const cell = new ServedCell();
beforeAll(async () => void (await cell.start()));
afterAll(async () => cell.end());

const nobody = ['--cell', 'none', '--members', 'a=127.0.0.1:1', '--connect-timeout', '100ms'];

describe('with --json an error is one JSON object on standard error', () => {
  it.each([
    { args: ['holder', 'x', '--json', ...nobody], exit: 69, code: 'TENURE_UNREACHABLE' },
    { args: ['run', 'x', '--json', ...nobody, '--', 'true'], exit: 69, code: 'TENURE_UNREACHABLE' },
    { args: ['run', 'x', '--json', '-n', '-w', '1s', '--', 'true'], exit: 64, code: 'TENURE_BAD_ARGUMENT' },
    { args: ['serve', '--json'], exit: 78, code: 'TENURE_BAD_CONFIG' },
    { args: ['serve', '--json', '--log-format', 'text'], exit: 64, code: 'TENURE_BAD_ARGUMENT' },
    { args: ['ls', '--json', '--prefx'], exit: 64, code: 'TENURE_BAD_ARGUMENT' },
    { args: ['holder', '--json'], exit: 64, code: 'TENURE_BAD_ARGUMENT' },
    { args: ['config', 'check', '--json', '--nope'], exit: 64, code: 'TENURE_BAD_ARGUMENT' },
    { args: ['config', 'check', '--json', 'no-such-file'], exit: 78, code: 'TENURE_BAD_CONFIG' },
  ])('$args', ({ args, exit, code }) => {
    const ended = tenure(args);
    expect(ended).toMatchObject({ code: exit, stdout: '' });
    expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(ended.stderr)).toMatchObject({ event: 'error', code, message: expect.stringMatching(/./) });
  });

  it('and the --json of a command that is run is its own', () => {
    expect(tenure(['run', 'x', ...nobody, '--', 'echo', '--json']).stderr).toMatch(/^tenure: no member/);
  });
});

describe('usage', () => {
  it('is 64 in commands of commands too, with a hint', () => {
    const ended = tenure(['config', 'check', '--jsn']);
    expect(ended.code).toBe(64);
    expect(ended.stderr).toMatch(/Did you mean --json\?[^]*tenure config check --help/);
  });

  it('a wait of nothing is one try', () => {
    expect(tenure(['run', 'x', '-w', '0s', '--', 'true'], '', cell.env)).toMatchObject({ code: 0, stderr: '' });
  });

  it('elect --observe is not for a command: it would be ignored', () => {
    const ended = tenure(['elect', 'x', '--observe', '--', 'echo', 'ran'], '', cell.env);
    expect(ended).toMatchObject({ code: 64, stdout: '', stderr: expect.stringContaining('--observe and a command') });
  });

  it('patience may be longer than any timer', () => {
    expect(tenure(['holder', 'x', '--connect-timeout', '100d'], '', cell.env)).toMatchObject({ code: 1, stdout: 'x free\n' });
    expect(tenure(['run', 'x', '-w', '100d', '--', 'true'], '', cell.env)).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('an output that takes no more', () => {
  it('is no answer: a full disk is not the exit code of a free lease', () => {
    const { status, stderr } = spawnSync('sh', ['-c', '"$@" > /dev/full', 'sh', process.execPath, BIN, 'holder', 'x'], {
      encoding: 'utf8',
      env: { ...process.env, ...cell.env },
    });
    expect({ status, stderr }).toEqual({ status: 70, stderr: expect.stringMatching(/^tenure: cannot write .*ENOSPC.*\n$/) });
  });
});

describe('members', () => {
  it.each([
    { text: 'members: {}', says: /at least one member/ },
    { text: 'members: { a: "127.0.0.1:1", constructor: "127.0.0.1:2" }', says: /constructor cannot be the id of a member/ },
    { text: 'members: { a: "127.0.0.1:1", b: "127.0.0.1:1" }', says: /a and b have the same address/ },
  ])('$text', ({ text, says }) => {
    const file = join(cell.folder, 'members.yaml');
    writeFileSync(file, `cell: x\n${text}\n`);
    expect(tenure(['config', 'check', file])).toMatchObject({ code: 78, stderr: expect.stringMatching(says) });
  });
});

describe('a member that is served', () => {
  const alone = (port: number): string[] => ['--cell', 'alone', '--members', `a=127.0.0.1:${port}`, '--max-term', '200ms'];

  it('does not start with a ready file that cannot be written', () => {
    const ended = tenure(['serve', '--self', 'a', '--ready-file', '/no-such-folder/ready', ...alone(1)]);
    expect(ended).toMatchObject({ code: 78, stderr: expect.stringMatching(/--ready-file: .*no-such-folder/) });
  });

  it('stops on SIGTERM, and takes its ready file along; SIGHUP reads its configuration anew', async () => {
    const ready = join(cell.folder, 'ready-c');
    cell.members.get('c')?.child.kill('SIGTERM');
    await cell.members.get('c')?.ended;
    const c = cell.serve('c', ['--ready-file', ready]);
    await c.says(/all members are connected/);
    c.child.kill('SIGHUP');
    await c.says(/the configuration was read anew: it has no view/);
    expect(existsSync(ready)).toBe(true);
    c.child.kill('SIGTERM');
    expect(await c.ended).toBe(0);
    expect(existsSync(ready)).toBe(false);
  });

  it('stops on SIGHUP if there is no configuration to read anew', async () => {
    const [port = 0] = await freePorts(1);
    const child = spawn(process.execPath, [BIN, 'serve', '--self', 'a', ...alone(port)], { stdio: ['ignore', 'pipe', 'ignore'] });
    const ended = once(child, 'exit');
    await once(child.stdout, 'data');
    child.kill('SIGHUP');
    expect(await ended).toEqual([0, null]);
  });

  it('votes on when nobody reads its log any more', async () => {
    const c = cell.serve('c');
    await c.says(/^starting/);
    c.child.stdout?.destroy();
    const standing = (): unknown => (JSON.parse(tenure(['status', '--json'], '', cell.env).stdout) as { members: unknown[] }).members[2];
    await vi.waitFor(() => expect(standing()).toMatchObject({ id: 'c', connected: true, silentForMs: 0 }), { timeout: 10_000 });
    c.child.kill('SIGTERM');
    expect(await c.ended).toBe(0);
  });
});
