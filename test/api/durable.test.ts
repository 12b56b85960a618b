/** Members with data directories, and brand-new cells: over TCP with real disks, and in the testing kit. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect, joinCell, type Cell, type JoinOptions } from '../../src/api/index.ts';
import { testCell } from '../../src/api/testing.ts';
import { ROOT } from '../support/tree.ts';
import { freePort } from '../transport/cell.ts';

/** So long that whoever were silent would let the test time out. */
const MAX_TERM = '1h';
const SECRETS = { secret: 'a secret of members only', clientSecret: 'a secret of all clients' };

type Options = Omit<JoinOptions, 'self'> & { readonly members: Readonly<Record<'a' | 'b' | 'c', string>> };

async function optionsFor(more: Partial<Pick<JoinOptions, 'dataDir' | 'keepVotes'>> = {}): Promise<Options> {
  const [a, b, c] = [await freePort(), await freePort(), await freePort()].map((port) => `127.0.0.1:${port}`);
  return { cell: 'durable', members: { a: a ?? '', b: b ?? '', c: c ?? '' }, maxTerm: MAX_TERM, ...SECRETS, ...more };
}

function freshDir(): string {
  const path = mkdtempSync(join(tmpdir(), 'tenure-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function keep(cell: Cell): Cell {
  onTestFinished(() => cell.close());
  return cell;
}

/** A member in a process of its own, once it says that it is ready. */
function memberProcess(options: JoinOptions): { child: ChildProcess; ready: Promise<unknown> } {
  const child = spawn(process.execPath, [join(ROOT, 'test/api/processes/member.mjs'), JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ready = new Promise((resolve) => {
    createInterface({ input: child.stdout }).once('line', resolve);
  });
  return { child, ready };
}

describe('a member with a data directory', () => {
  test('that keeps its votes votes at once after a kill, and has not forgotten any', async () => {
    const options = await optionsFor();
    const dir = freshDir();
    const durable = { ...options, self: 'a', dataDir: dir, keepVotes: true } as const;
    const first = memberProcess(durable);
    const [b, c] = await Promise.all(['b', 'c'].map((self) => joinCell({ ...options, self }).then(keep)));
    await b?.bootstrap();
    await first.ready;
    const client = keep(await connect({ cell: options.cell, members: options.members, clientSecret: SECRETS.clientSecret }));
    const lease = await client.acquire('kept');
    first.child.kill('SIGKILL');
    await new Promise((resolve) => first.child.once('exit', resolve));
    await c?.close();

    // Of three members one is gone for good: the one that was killed has to vote, and b too.
    const again = memberProcess(durable);
    await again.ready;
    await expect(client.tryAcquire('kept')).resolves.toMatchObject({ ok: false, reason: 'held', holder: { token: lease.token } });
    const other = await client.acquire('other');
    expect(other.token).toBeGreaterThan(lease.token);
    const [a] = await client.status();
    expect(a).toMatchObject({ id: 'a', reached: true, silentForMs: 0 });
    await Promise.all([lease.release(), other.release()]);
  });

  test('that keeps no votes is silent after a restart, and tells for how long', async () => {
    const options = await optionsFor({ dataDir: freshDir() });
    const [a, b] = await Promise.all([joinCell({ ...options, self: 'a' }), joinCell({ ...options, self: 'b', dataDir: freshDir() })]);
    keep(b);
    keep(await joinCell({ ...options, self: 'c', dataDir: freshDir() }));
    await b.bootstrap();
    await a.ready();
    await a.close();
    const again = keep(await joinCell({ ...options, self: 'a' }));
    expect(again.incarnation).not.toBe(a.incarnation);
    expect(again.silentForMs).toBeGreaterThan(3_500_000);
    // Its directory remembers that it has voted: this is no brand-new cell.
    await expect(again.bootstrap()).rejects.toMatchObject({ code: 'TENURE_BOOTSTRAP_REFUSED' });
  });

  test('gives its directory back when it cannot start', async () => {
    const options = await optionsFor({ dataDir: freshDir() });
    const taken = keep(await joinCell({ ...options, self: 'b', dataDir: freshDir() }));
    await expect(joinCell({ ...options, self: 'a', listen: options.members.b })).rejects.toThrow(/EADDRINUSE/);
    keep(await joinCell({ ...options, self: 'a' }));
    expect(taken.isMember).toBe(true);
  });

  test('needs one for its votes', async () => {
    const options = await optionsFor({ keepVotes: true });
    await expect(joinCell({ ...options, self: 'a' })).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
  });
});

describe('a brand-new cell', () => {
  test('is bootstrapped by a client that proves the secret of members, and by no other', async () => {
    const options = await optionsFor();
    const { cell, members, secret, clientSecret } = options;
    const joined = await Promise.all(['a', 'b', 'c'].map((self) => joinCell({ ...options, self }).then(keep)));
    const stranger = keep(await connect({ cell, members, ...(clientSecret ? { clientSecret } : {}) }));
    await expect(stranger.bootstrap()).rejects.toMatchObject({ code: 'TENURE_BOOTSTRAP_REFUSED' });
    expect(joined.every((member) => member.silentForMs > 0)).toBe(true);
    // One that claims more than it can prove is a client like any other: members do not hear it.
    const posing = keep(await connect({ cell, members, ...(clientSecret ? { secret: clientSecret } : {}) }));
    await expect(posing.bootstrap({ signal: AbortSignal.timeout(500) })).rejects.toThrow(/timeout/i);
    expect(joined.every((member) => member.silentForMs > 0)).toBe(true);
    const admin = keep(await connect({ cell, members, ...(secret ? { secret } : {}) }));
    await admin.bootstrap();
    await Promise.all(joined.map((member) => member.ready()));
    expect((await admin.status()).map(({ silentForMs }) => silentForMs)).toEqual([0, 0, 0]);
    await (await stranger.acquire('now')).release();
    await expect(admin.bootstrap()).rejects.toMatchObject({ code: 'TENURE_BOOTSTRAP_REFUSED', details: { absent: '' } });
  });

  test('is not bootstrapped while a member is absent; the call can be given up', async () => {
    const kit = await testCell({ silent: true });
    onTestFinished(() => kit.close());
    kit.crash(kit.member('c'));
    const refused = kit.member('a').bootstrap();
    await Promise.all([
      expect(refused).rejects.toMatchObject({ code: 'TENURE_BOOTSTRAP_REFUSED', details: { absent: 'c' } }),
      kit.advance('6s'),
    ]);
    const control = new AbortController();
    const givenUp = kit.member('a').bootstrap({ signal: control.signal });
    control.abort(new Error('enough'));
    await expect(givenUp).rejects.toThrow('enough');
  });
});

describe('the testing kit', () => {
  test('restarts a member without silence if votes are kept', async () => {
    const kit = await testCell({ keepVotes: true });
    onTestFinished(() => kit.close());
    const client = await kit.client();
    const lease = await client.acquire('kept');
    for (const id of kit.memberIds) await kit.restart(id);
    await kit.advance('100ms');
    expect(kit.memberIds.map((id) => kit.member(id).silentForMs)).toEqual([0, 0, 0]);
    expect(lease.valid).toBe(true);
    expect(await (await kit.client()).tryAcquire('kept')).toMatchObject({ ok: false, holder: { token: lease.token } });
  });
});
