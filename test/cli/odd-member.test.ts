/** Commands against a cell of which one member, the first, was started with another configuration than the others. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ServedCell } from './served-cell.ts';
import { tenure } from './tenure.ts';

const cell = new ServedCell();
const run = (...args: string[]): ReturnType<typeof tenure> => tenure(args, '', cell.env);
const TOLD = 'member a has maxTermUs = 3000000, a majority (b, c) has 2000000: give a the same as the others and start it again';

beforeAll(async () => {
  await cell.prepare();
  const [, b, c] = [cell.serve('a', ['--max-term', '3s']), cell.serve('b'), cell.serve('c')];
  await Promise.all([b, c].map((member) => member.says(/a majority is connected/)));
}, 30_000);
afterAll(async () => cell.end());

describe('where the first of three members is configured differently', () => {
  it('tenure status says which member differs from the majority, in what, and what to do', async () => {
    // As long as the others keep their restart silence, nothing can be granted.
    await expect.poll(() => run('status').code, { timeout: 30_000 }).toBe(0);
    const { stdout } = run('status');
    expect(stdout).toContain('a majority is reached, 2 of 3 (majority 2)');
    expect(stdout).toContain(TOLD);
    expect(JSON.parse(run('status', '--json').stdout)).toMatchObject({
      reached: 2,
      members: [
        { id: 'a', connected: false, error: TOLD },
        { id: 'b', connected: true, silentForMs: 0 },
        { id: 'c', connected: true, silentForMs: 0 },
      ],
    });
  });

  it('leases are had from the others', () => {
    expect(run('run', 'job', '--', 'sh', '-c', 'test -n "$TENURE_TOKEN"')).toMatchObject({ code: 0, stderr: '' });
    expect(run('holder', 'job')).toMatchObject({ code: 1, stdout: 'job free\n' });
  });

  it('and where a majority of others is not there, what keeps it from working is told', async () => {
    const c = cell.members.get('c');
    c?.child.kill('SIGTERM');
    await c?.ended;
    const { code, stderr } = run('holder', 'job', '--connect-timeout', '2s');
    expect(stderr).toContain('cell test has no majority: 1 of 3 members answer, 2 are needed');
    expect(stderr).toMatch(/member [ab] has maxTermUs = \d+, this client began with \d+, as [ab] said, and no majority states the same/);
    expect(stderr).toContain('(ECONNREFUSED)');
    expect(code).toBe(69);
  });
});

describe('where one member is up that thinks itself the only voter of some names', () => {
  it('shows that one as reached, and it grants nothing before a majority says the same', async () => {
    const alone = new ServedCell();
    onTestFinished(() => alone.end());
    await alone.prepare();
    // Alone it is not noted, and stays silent.
    await alone.serve('a', ['--replication', '1']).says(/^listening|^starting/);
    const { code, stdout } = tenure(['status'], '', alone.env);
    expect(stdout).toMatch(/^a +\S+ +reached /m);
    expect(code).toBe(69);
    const { stderr } = tenure(['run', '-n', '--connect-timeout', '1500ms', 'job', '--', 'true'], '', alone.env);
    expect(stderr).toContain('cell test has no majority: 1 of 3 members answer, 2 are needed');
  });
});
