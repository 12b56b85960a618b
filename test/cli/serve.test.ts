/** `tenure serve` as a daemon: what it logs, how it stops, what keeps it from starting. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ServedCell } from './served-cell.ts';
import { tenure } from './tenure.ts';

const cell = new ServedCell();
beforeAll(async () => void (await cell.prepare()));
afterAll(async () => cell.end());

describe('a member that is served', () => {
  it('keeps its silence, votes, has its ready file while it does, and stops when it is told to, with exit code 0', async () => {
    const ready = join(cell.folder, 'ready');
    const history = join(cell.folder, 'history.jsonl');
    const a = cell.serve('a', ['--ready-file', ready, '--history', history]);
    const b = cell.serve('b');
    expect(await a.says(/^starting/)).toMatchObject({
      level: 'info',
      cell: 'test',
      node: 'a',
      maxTerm: '2s',
      secrets: ['members', 'clients'],
    });
    await a.says(/^silent for/);
    expect(existsSync(ready)).toBe(false);
    await a.says(/majority of the members is connected, not all/);
    await vi.waitFor(() => expect(readFileSync(ready, 'utf8')).toBe(`tenure serve ${a.child.pid}\n`));
    const c = cell.serve('c');
    await a.says(/all members are connected/);

    b.child.kill('SIGTERM');
    expect(await b.ended).toBe(0);
    expect(b.lines.at(-1)).toMatchObject({ level: 'info', msg: 'stopped' });
    expect(b.lines.find(({ msg }) => String(msg).startsWith('stopping'))).toMatchObject({ signal: 'SIGTERM' });

    a.child.kill('SIGINT');
    expect(await a.ended).toBe(0);
    expect(existsSync(ready)).toBe(false);
    expect(JSON.parse(readFileSync(history, 'utf8').split('\n')[0] ?? '')).toMatchObject({ 'tenure-history': 1 });
    c.child.kill('SIGTERM');
    await c.ended;
  });

  it('of a brand-new cell votes at once after a bootstrap, which needs --yes and all members', async () => {
    const fresh = await new ServedCell().prepare('10m');
    try {
      const [a, b] = [fresh.serve('a'), fresh.serve('b')];
      await Promise.all([a, b].map((member) => member.says(/keeps its restart silence/)));
      expect(tenure(['bootstrap'], '', fresh.env)).toMatchObject({ code: 64, stdout: '' });
      const alone = tenure(['bootstrap', '--yes'], '', fresh.env);
      expect(alone.stderr).toContain('TENURE_BOOTSTRAP_REFUSED');
      expect(alone.code).toBe(77);
      const c = fresh.serve('c');
      await c.says(/keeps its restart silence/);
      const { members } = JSON.parse(tenure(['status', '--json'], '', fresh.env).stdout) as { members: { silentForMs: number }[] };
      expect(members.every(({ silentForMs }) => silentForMs > 60_000)).toBe(true);
      expect(tenure(['bootstrap', '--yes', '--json'], '', fresh.env)).toMatchObject({
        code: 0,
        stdout: '{"bootstrapped":true,"claims":false,"broadcast":true}\n',
      });
      expect(tenure(['acquire', 'x'], '', fresh.env).code).toBe(0);
    } finally {
      await fresh.end();
    }
  });

  it('is ended by a second signal at once, also in the middle of closing its data', async () => {
    const alone = new ServedCell();
    try {
      await alone.prepare();
      const a = alone.serve('a', ['--data-dir', join(alone.folder, 'data')]);
      await a.says(/^listening/);
      // Both are there when it goes on, in an order that is the kernel's.
      for (const signal of ['SIGSTOP', 'SIGINT', 'SIGTERM', 'SIGCONT'] as const) a.child.kill(signal);
      // By a signal: an exit in good order would wait for threads of the store, for ever if they are closing.
      expect(['SIGINT', 'SIGTERM']).toContain(await a.ended);
    } finally {
      await alone.end();
    }
  });

  it('says who has its port, and exits with 78', async () => {
    const server = createServer().listen(cell.ports[0], '127.0.0.1');
    const a = cell.serve('a');
    expect(await a.says(/^cannot listen on/)).toMatchObject({
      level: 'fatal',
      code: 'TENURE_CANNOT_LISTEN',
      msg: `cannot listen on 127.0.0.1:${cell.ports[0]}: another process has this port: stop it, or listen elsewhere (EADDRINUSE)`,
    });
    expect(await a.ended).toBe(78);
    server.close();
  });

  it.each([
    [['--self', 'x'], '--self: self: x is not among the members a, b, c'],
    [['--max-term', 'soon'], "--max-term: cannot use 'soon' as a duration"],
    [['--engine', 'raft'], '--engine: an engine is quorum, flease:4,skew=500ms or paxoslease:relative, for example'],
    [['--secret-file', '/nowhere'], '--secret-file: cannot read the secret in /nowhere: there is no such file'],
  ])('told %j does not start, says why, and exits with 78', (args, told) => {
    const { code, stderr } = tenure(['serve', '--self', 'a', ...args], '', cell.env);
    expect(stderr).toContain(`tenure: ${told}`);
    expect(stderr).toContain('(TENURE_BAD_CONFIG)');
    expect(code).toBe(78);
  });
});

describe('tenure init', () => {
  const folder = join(cell.folder, 'fresh');

  it('writes a config that can work and secrets that only their owner can read', () => {
    expect(tenure(['init', folder, '--cell', 'orders', '--members', 'x=h1:1,y=h2:1,z=h3:1'])).toMatchObject({ code: 0, stderr: '' });
    expect(['member.secret', 'client.secret'].map((name) => statSync(join(folder, name)).mode & 0o777)).toEqual([0o600, 0o600]);
    const checked = tenure(['config', 'check', join(folder, 'tenure.yaml'), '--json']);
    expect(JSON.parse(checked.stdout)).toMatchObject({
      settings: { cell: 'orders', members: { x: 'h1:1', y: 'h2:1', z: 'h3:1' } },
      warnings: [],
    });
  });

  it('draws fresh secrets, different ones for members and clients', () => {
    const [member, client] = ['member.secret', 'client.secret'].map((name) => readFileSync(join(folder, name), 'utf8'));
    expect(member).toMatch(/^[0-9a-f]{64}\n$/);
    expect(client).not.toBe(member);
  });

  it('writes over nothing', () => {
    const before = readFileSync(join(folder, 'member.secret'), 'utf8');
    const { code, stderr } = tenure(['init', folder]);
    expect(code).toBe(78);
    expect(stderr).toContain('already there, and nothing is written over');
    expect(readFileSync(join(folder, 'member.secret'), 'utf8')).toBe(before);
  });
});
