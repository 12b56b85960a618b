/** Commands against members of Flease: what works as with any engine, what is refused, and what is told. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BIN, ServedCell, type Member } from './served-cell.ts';
import { tenure } from './tenure.ts';

const ENGINE = 'flease:4,skew=500ms';
const cell = new ServedCell();
const run = (...args: string[]): ReturnType<typeof tenure> => tenure(args, '', cell.env);
let members: readonly Member[] = [];

beforeAll(async () => {
  await cell.prepare();
  members = cell.ids.map((id) => cell.serve(id, ['--engine', ENGINE]));
  await Promise.all(members.map((member) => member.says(/all members are connected/)));
}, 30_000);
afterAll(async () => cell.end());

describe('members of Flease', () => {
  it('say at their start which engine they have and how long that keeps them silent', async () => {
    // Two seconds and twice the skew, stretched.
    expect(await members[0]?.says(/^starting/)).toMatchObject({ engine: ENGINE, maxTerm: '2s', silence: '3.666667s' });
  });

  it('grant leases to commands that were not told of the engine', () => {
    expect(run('run', 'job', '--', 'sh', '-c', 'test -n "$TENURE_TOKEN"')).toMatchObject({ code: 0, stderr: '' });
    expect(run('holder', 'job')).toMatchObject({ code: 1, stdout: 'job free\n' });
  });

  it('are shown as reached, not as silent: how they stand they do not tell', () => {
    const { stdout, code } = run('status');
    expect(stdout).toContain(`all members reached, 3 of 3 (majority 2), engine ${ENGINE}\n`);
    expect(stdout.match(/ reached /g)).toHaveLength(3);
    expect(stdout).not.toContain('silent');
    expect(code).toBe(0);
    expect(JSON.parse(run('status', '--json').stdout)).toMatchObject({ engine: ENGINE, reached: 3 });
  });

  it.each([
    [['ls'], "the engine 'flease' has no list of what is held: ask about one name with tenure holder NAME,"],
    [['watch', 'job'], "the engine 'flease' tells nobody of its leases: ask now and then with tenure holder NAME,"],
    [['elect', '--observe', 'job'], "the engine 'flease' tells nobody of its leases: ask now and then with tenure holder NAME,"],
    [['bootstrap', '--yes'], "the engine 'flease' ends no silence early: wait until it is over,"],
  ])('refuse %j and say why and what to do, with exit code 78', (args, told) => {
    const { code, stderr } = run(...args);
    expect(stderr).toContain(told);
    expect(stderr).not.toContain('()');
    expect(stderr).toContain('(TENURE_UNSUPPORTED)');
    expect(code).toBe(78);
  });
});

describe('of members of Flease', () => {
  it('one that stands for a leader is elected, though it cannot be told who else leads', async () => {
    const child = spawn(process.execPath, [BIN, 'elect', 'boss', '--value', 'me', '--json'], { env: { ...process.env, ...cell.env } });
    const told = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async (): Promise<unknown> => JSON.parse((await told.next()).value as string);
    expect(await next()).toMatchObject({ name: 'boss', event: 'elected' });
    const ended = once(child, 'close');
    child.kill('SIGTERM');
    expect(await next()).toMatchObject({ name: 'boss', event: 'resigned' });
    expect((await ended)[0]).toBe(0);
  });

  it('a wait that ends in vain is told who has it', async () => {
    const name = "it's taken";
    const child = spawn(process.execPath, [BIN, 'acquire', name], { env: { ...process.env, ...cell.env } });
    await once(createInterface({ input: child.stdout }), 'line');
    const { stderr, code } = run('acquire', '-w', '200ms', name);
    expect(stderr).toMatch(
      /^tenure: 'it's taken' was not free in time: held by .* pid \d+, .*; wait longer, or .* \(TENURE_WAIT_TIMEOUT\)\n$/,
    );
    expect(code).toBe(76);
    const ended = once(child, 'close');
    child.stdin.end();
    expect((await ended)[0]).toBe(0);
  });
});

describe('tenure config check', () => {
  const check = (engine: string): ReturnType<typeof tenure> => {
    const file = join(cell.folder, 'other.yaml');
    writeFileSync(file, `cell: test\nmembers: { a: "127.0.0.1:1", b: "127.0.0.1:2", c: "127.0.0.1:3" }\nengine: ${engine}\n`);
    return tenure(['config', 'check', file]);
  };

  it('tells the silence of the engine that was chosen', () => {
    expect(check(ENGINE).stdout).toContain('a member that starts keeps silent for 19.555556s');
  });

  it('refuses a skew that leaves nothing of a term', () => {
    expect(check('flease:4,skew=20s')).toMatchObject({ code: 78, stderr: expect.stringContaining('the skew of clocks must be less than') });
  });
});

describe('a member that cannot work as it is told to', () => {
  const MEMBERS = ['--cell', 'test', '--self', 'a', '--members', 'a=127.0.0.1:1,b=127.0.0.1:2,c=127.0.0.1:3'];

  it.each([
    ['--engine flease', '--engine: engine: flease:4 must be told how far', 'write flease:4,skew=500ms'],
    ['--engine paxoslease:skewed', '--engine: engine: paxoslease:skewed must be told', 'write paxoslease:skewed,skew=500ms'],
    ['--engine flease:2,skew=1s', '--engine: engine: flease: Algorithm 2 needs clocks that do not differ', 'leave skew out'],
    ['--engine flease:4,skew=20s', '--engine: engine: the skew of clocks must be less than the longest term', '15s'],
    ['--engine flease:4,skew=often', "--engine: engine: cannot use 'often' as a duration", 'write it like'],
    ['--engine paxoslease --data-dir /nowhere', '--data-dir: dataDir: the engine paxoslease keeps nothing on disk', 'leave it out'],
    ['--keep-votes', '--keep-votes: keepVotes: votes are kept in a data directory', 'give --data-dir too'],
    ['--max-term 1ms', '--max-term: maxTerm: a maxTerm of 1ms is too short', 'Use at least'],
    ['--replication 4', '--replication: replication: there are only 3 members', 'to vote on a name'],
  ])('%s: is refused by serve and by config check before anything starts, with exit code 78 and what to do', (flags, told, next) => {
    for (const command of [['serve'], ['config', 'check']]) {
      const { code, stdout, stderr } = tenure([...command, ...MEMBERS, ...flags.split(' ')]);
      expect(stdout).toBe('');
      expect(stderr).toContain(told);
      expect(stderr).toContain(next);
      expect(stderr).toContain('(TENURE_BAD_CONFIG)');
      expect(code).toBe(78);
    }
  });
});
