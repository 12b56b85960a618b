/** The commands that use leases, with a store: acquire, run, holder, ls, watch, elect; with compare-and-set and on plain registers. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeLeaseRecord } from '../../src/core/index.ts';
import { incarnation } from '../../src/kernel/index.ts';
import { openStore } from '../../src/store/index.ts';
import { StoreDirectory } from './run-kit.ts';
import { BIN } from './served-cell.ts';
import { tenure, type Ended } from './tenure.ts';

interface Live {
  readonly child: ChildProcess;
  /** The next of this kind; what a busy machine makes of a watch, gaps, is passed over. */
  factOf(event: string): Promise<Record<string, unknown>>;
  readonly ended: Promise<number | string | null>;
}

const running: ChildProcess[] = [];
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
});

/** A command that goes on until it is told to end. */
function begin(store: StoreDirectory, ...args: string[]): Live {
  const child = spawn(process.execPath, [BIN, ...args, '--json'], { env: store.env, stdio: ['pipe', 'pipe', 'inherit'] });
  running.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const factOf = async (event: string): Promise<Record<string, unknown>> => {
    for (;;) {
      const found = JSON.parse(String((await lines.next()).value)) as Record<string, unknown>;
      if (found['event'] === event || found['kind'] === event) return found;
    }
  };
  return { child, factOf, ended: once(child, 'exit').then(([code, signal]: (number | string | null)[]) => code ?? signal ?? null) };
}

describe.each([
  { path: 'compare-and-set', isPlain: false },
  { path: 'plain registers', isPlain: true },
])('with a store ($path)', ({ isPlain }) => {
  let store: StoreDirectory;
  beforeAll(async () => {
    store = await StoreDirectory.make(isPlain, 4000, 50);
  });
  afterAll(() => store.close());
  const run = (...args: string[]): Ended => tenure(args, '', { TENURE_STORE: store.url });

  it('a lease is held until standard input closes; holder and ls tell who has it', async () => {
    const held = begin(store, 'acquire', 'reports/nightly', '--meta', 'me');
    const { token } = await held.factOf('acquired');
    // That another holds a lease is not certain on plain registers.
    const told = isPlain ? [69, 'unknown: plain registers do not tell .*; perhaps held'] : [0, 'held'];
    const { code, stdout } = run('holder', 'reports/nightly');
    expect([code, stdout]).toEqual([told[0], expect.stringMatching(`^reports/nightly ${told[1]} by me, token ${String(token)}, for `)]);
    const state = isPlain ? 'unknown' : 'held';
    expect(JSON.parse(run('holder', '--json', 'reports/nightly').stdout)).toMatchObject({ state, holder: { token, meta: 'me' } });
    expect(JSON.parse(run('ls', 'reports/', '--json').stdout)).toMatchObject({
      certain: true,
      leases: [{ name: 'reports/nightly', certain: !isPlain, holder: { token } }],
    });
    const refused = run('acquire', '-n', 'reports/nightly');
    expect(refused).toMatchObject({ code: 75, stdout: '', stderr: expect.stringContaining('(TENURE_HELD)') });
    held.child.stdin?.end();
    expect(await held.ended).toBe(0);
    expect(run('holder', 'reports/nightly')).toEqual({ code: 1, stdout: 'reports/nightly free\n', stderr: '' });
    expect(run('ls', 'reports/')).toEqual({ code: 0, stdout: '', stderr: "nothing is held under 'reports/'\n" });
  });

  it('a watch tells of what is taken and given back under its prefix', async () => {
    const watch = begin(store, 'watch', 'watched/');
    await watch.factOf('current');
    const held = begin(store, 'acquire', 'watched/one');
    await held.factOf('acquired');
    expect(await watch.factOf('held')).toMatchObject({ name: 'watched/one' });
    held.child.stdin?.end();
    expect(await watch.factOf('ended')).toMatchObject({ name: 'watched/one' });
    watch.child.kill('SIGINT');
    expect(await watch.ended).toBe(0);
  });

  it('candidates are elected in turn, and observers are told who leads', async () => {
    const first = begin(store, 'elect', 'chair', '--value', 'one');
    const elected = await first.factOf('elected');
    const second = begin(store, 'elect', 'chair', '--value', 'two');
    expect(await second.factOf('leader')).toMatchObject({ name: 'chair', leader: { value: 'one', token: elected['token'] } });
    first.child.kill('SIGTERM');
    expect(await first.factOf('resigned')).toMatchObject({ token: elected['token'] });
    expect(await first.ended).toBe(0);
    expect((await second.factOf('elected'))['token']).toBeGreaterThan(Number(elected['token']));
    second.child.kill('SIGINT');
    expect(await second.ended).toBe(0);
  });

  it('an elected one runs its command, and ends with its code', () => {
    expect(run('elect', 'office', '--', 'sh', '-c', 'echo $TENURE_NAME; exit 7')).toMatchObject({ code: 7, stdout: 'office\n' });
  });
});

describe('a store that was compacted', () => {
  it('gives tokens above those of the records that were erased, though the clock shows less', async () => {
    const store = await StoreDirectory.make(false, 4000, 50);
    const high = Date.now() * 1000 + 3_600_000_000;
    const opened = await openStore(store.url);
    const record = { owner: incarnation(7), lease: 1, seq: 1, termUs: 1_000_000, meta: null, isGrounded: true, isHeld: false, token: high };
    await opened.write('ahead', encodeLeaseRecord('ahead', record));
    await opened.close();
    expect(tenure(['store', 'compact', store.url])).toMatchObject({ code: 0 });
    const { stdout } = tenure(['run', '--store', store.url, 'ahead', '--', 'sh', '-c', 'echo $TENURE_TOKEN']);
    expect(Number(stdout)).toBe(high + 1);
    store.close();
  });
});

describe('a command that is told where its leases are', () => {
  it.each([
    [['holder', 'x', '--store', 'file:///nowhere', '--cell', 'c'], 78, 'a cell (--cell) and a store (--store) are named'],
    [['run', 'x', '--store', 'file:///no/such/directory', '--', 'true'], 69, '(TENURE_STORE_UNREACHABLE)'],
    [['run', 'x', '--store', 'ftp://host/', '--', 'true'], 64, '(TENURE_BAD_ARGUMENT)'],
    [['ls', '--store', 'redis://127.0.0.1:1/', '--connect-timeout', '300ms'], 69, '(TENURE_STORE_UNREACHABLE)'],
    [['status', '--store', 'file:///nowhere'], 64, "unknown option '--store'"],
    [['watch'], 78, 'which cell or store?'],
  ] as const)('%j ends with %i and says %s', (args, code, told) => {
    const ended = tenure(args);
    expect([ended.code, ended.stdout]).toEqual([code, '']);
    expect(ended.stderr).toContain(told);
  });

  it('takes what the command line says before what the environment says', () => {
    const { code, stderr } = tenure(['holder', 'x', '--store', 'file:///no/such/directory'], '', {
      TENURE_CELL: 'c',
      TENURE_MEMBERS: 'a=127.0.0.1:1',
    });
    expect({ code, stderr }).toMatchObject({ code: 69, stderr: expect.stringContaining('/no/such/directory') });
  });
});
