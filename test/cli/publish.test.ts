/** `tenure publish`, `tenure tail` and the bootstrap of broadcast, against three real members without data directories. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BIN, ServedCell } from './served-cell.ts';
import { tenure, type Ended } from './tenure.ts';

/** Enough that many are under way at once. */
const LINES = 500;

const cell = new ServedCell();
beforeAll(async () => void (await cell.start()), 60_000);
afterAll(() => cell.end());

const run = (...args: string[]): Ended => tenure(args, '', cell.env);

describe('tenure publish and tenure tail', () => {
  it('say that broadcast has not begun, and how to begin it; exit code 69', () => {
    for (const refused of [run('publish', 'flags', 'x'), run('tail', 'flags')]) {
      expect(refused).toMatchObject({ code: 69, stdout: '' });
      expect(refused.stderr).toMatch(/^tenure: broadcast has not begun .*tenure bootstrap --broadcast --yes.*\(TENURE_NOT_BEGUN\)\n$/);
    }
    expect(run('status').stdout).toMatch(/BROADCAST(.*\n.* blank, at 0 ){3}/);
    const careful = run('bootstrap', '--broadcast');
    expect(careful).toMatchObject({ code: 64, stdout: '' });
    expect(careful.stderr).toContain('could be lost');
    expect(run('bootstrap', '--broadcast', '--claims', '--yes')).toMatchObject({ code: 64, stdout: '' });
    expect(run('bootstrap', '--broadcast', '--yes')).toEqual({ code: 0, stdout: 'broadcast has begun\n', stderr: '' });
    const again = run('bootstrap', '--broadcast', '--yes');
    expect(again).toMatchObject({ code: 77, stdout: '' });
    expect(again.stderr).toContain('In a group that goes on: a, b, c');
  });

  it('print positions, and the messages in their order', () => {
    // What was given up above may be there.
    const first = Number(run('publish', 'orders', 'one').stdout);
    expect(first).toBeGreaterThanOrEqual(1);
    const lines = Array.from({ length: LINES }, (_, i) => `line ${i}`);
    const { code, stdout } = tenure(['publish', 'orders', '--json'], `${lines.join('\n')}\n`, cell.env);
    expect(code).toBe(0);
    const told = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { log: string; position: number });
    expect(told).toEqual(lines.map((_, i) => ({ log: 'orders', position: first + 1 + i })));
    const tail = run('tail', 'orders', '--no-follow');
    expect(tail.code).toBe(0);
    expect(tail.stdout).toBe(['one', ...lines].map((text, i) => `${first + i} tenure-publish ${text}\n`).join(''));
    expect(run('tail', 'orders', '--from', String(first + LINES), '-n', '1', '--json').stdout).toBe(
      `${JSON.stringify({ position: first + LINES, from: 'tenure-publish', message: `line ${LINES - 1}` })}\n`,
    );
    expect(run('tail', 'nobody-wrote-here', '--no-follow')).toEqual({ code: 0, stdout: '', stderr: '' });
    const status = JSON.parse(run('status', '--json').stdout) as { members: { broadcast: { standing: string; last: number } }[] };
    expect(status.members.map(({ broadcast }) => [broadcast.standing, broadcast.last])).toEqual(
      Array.from({ length: 3 }, () => ['ready', first + LINES]),
    );
  });

  it('tail goes on as messages come, and ends with 0 by a signal', async () => {
    const child = spawn(process.execPath, [BIN, 'tail', 'news', '--json'], {
      env: { ...process.env, ...cell.env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const seen: string[] = [];
    const lines = createInterface({ input: child.stdout });
    lines.on('line', (line) => seen.push((JSON.parse(line) as { message: string }).message));
    for (const text of ['one', 'two']) {
      const came = once(lines, 'line');
      expect(run('publish', 'news', text)).toMatchObject({ code: 0 });
      await came;
    }
    expect(seen).toEqual(['one', 'two']);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('print bytes that are no text so that nothing happens to the terminal', () => {
    tenure(['publish', 'odd'], 'bell \u0007\n', cell.env);
    expect(run('tail', 'odd', '--no-follow').stdout).toMatch(/^\d+ tenure-publish 0x62656c6c2007\n$/);
  });

  it.each([
    [['publish'], /missing required argument/],
    [['publish', '_tenure/x', 'y'], /TENURE_BAD_NAME/],
    [['tail', 'x', '--from', '0'], /a position \(a whole number from 1 on\), first or next/],
    [['tail', 'x', '--from', 'last'], /a position/],
    [['tail', 'x', '-n', '0'], /a whole number from 1 on/],
  ])('exit with 64 where %j makes no sense', (args, said) => {
    const { code, stdout, stderr } = run(...args);
    expect([code, stdout]).toEqual([64, '']);
    expect(stderr).toMatch(said);
  });

  it('go on while a member is down; it comes back without its memory, catches up, and is ready then', async () => {
    const c = cell.members.get('c');
    c?.child.kill('SIGKILL');
    await c?.ended;
    expect(run('publish', 'flags', 'without c')).toMatchObject({ code: 0 });
    const again = cell.serve('c');
    await again.says(/broadcast: this member does not remember/);
    expect(await again.says(/broadcast: this member votes, and has the log/)).toMatchObject({ standing: 'ready' });
    expect(run('tail', 'flags', '--no-follow').stdout).toMatch(/ without c\n$/);
  });

  it('publish -w gives up with 76 where nobody answers', async () => {
    const halted = ['a', 'b'].map((id) => cell.members.get(id));
    for (const member of halted) member?.child.kill('SIGSTOP');
    const { code, stderr } = run('publish', 'flags', 'late', '-w', '1s', '--connect-timeout', '4s');
    for (const member of halted) member?.child.kill('SIGCONT');
    expect(stderr).toMatch(/may be published yet|no majority|was reached/);
    expect([69, 76]).toContain(code);
  });
});
