import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { ROOT } from '../support/tree.ts';
import { tenure } from './tenure.ts';

const directory = mkdtempSync(join(tmpdir(), 'tenure-script-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function fileWith(name: string, text: string): string {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}

describe('tenure script', () => {
  const bare = 'stage toy term=1s\nstart\n\nacquire a\ndeliver all a b\nexpect a holds the-lease\n';

  test('says what is not written yet, writes it when told, and is content then', () => {
    const file = fileWith('new.txt', bare);
    const before = tenure(['script', file]);
    expect(before.code).toBe(2);
    expect(before.stdout).toMatch(/not as written[^]*\+ 0s +a HOLDS the-lease/);
    expect(readFileSync(file, 'utf8')).toBe(bare);
    expect(tenure(['script', '--rewrite', file]).code).toBe(0);
    const rewritten = readFileSync(file, 'utf8');
    expect(tenure(['script', file])).toMatchObject({ code: 0, stderr: '' });
    expect(tenure(['script', '--rewrite', file]).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(rewritten);
  });

  test('exits 2 when an expectation is not met, rewriting or not', () => {
    const file = fileWith('wrong.txt', `${bare}expect b holds the-lease\n`);
    expect(tenure(['script', '--rewrite', file])).toMatchObject({
      code: 2,
      stdout: expect.stringMatching(/line 7: the-lease is held by a/),
    });
  });

  test('exits 64 on what is no script, and on a file that is not there', () => {
    expect(tenure(['script', fileWith('none.txt', 'hello\n')]).code).toBe(64);
    const [right, timeless] = [fileWith('right.txt', bare), fileWith('timeless.txt', '\nstage flease skew=5s term=2s\n')];
    expect(tenure(['script', right, timeless])).toMatchObject({ code: 64, stderr: expect.stringContaining('timeless.txt, line 2: ') });
    expect(tenure(['script', join(directory, 'missing.txt')]).code).toBe(64);
    expect(tenure(['script']).code).toBe(64);
  });

  test('exits 64 when it cannot rewrite a file', () => {
    const file = fileWith('locked.txt', bare);
    // Also a superuser cannot write a file where no file may have any length.
    const command = `ulimit -f 0; exec '${process.execPath}' '${join(ROOT, 'bin', 'tenure.js')}' script --rewrite '${file}'`;
    const { status, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
    expect(stderr).toMatch(/^tenure: cannot write '.*locked\.txt': /);
    expect(status).toBe(64);
  });

  test('does not say that the product is whole where it is not', () => {
    const restarts = ['a', 'b', 'c'].flatMap((member) => [`crash ${member}`, `restart ${member}`]);
    const wakes = ['a', 'b', 'c'].map((member) => `wake ${member}`);
    const lines = ['set p +100s', 'acquire p x 1s', 'deliver all', ...restarts, 'advance 1s', ...wakes, 'acquire q x 1s', 'deliver all'];
    const source = ['stage quorum term=1s mutant=owner-is-node breaks=fencing', 'start', ...lines].join('\n');
    const { code, stdout } = tenure(['script', fileWith('both.txt', source)]);
    expect(code).toBe(2);
    expect(stdout).toMatch(/^FAILED .*: fencing breaks, and fencing does with all rules, too\n/);
  });

  test('prints one JSON object', () => {
    const { stdout } = tenure(['script', '--json', fileWith('json.txt', bare)]);
    const { scripts } = JSON.parse(stdout) as { scripts: Record<string, unknown>[] };
    expect(Object.keys(scripts[0] ?? {})).toEqual(['file', 'protocol', 'mutant', 'breaks', 'steps', 'property', 'failures', 'changes']);
    expect(scripts[0]).toMatchObject({ protocol: 'toy', mutant: null, breaks: null, steps: 3, property: null, failures: [] });
  });
});

describe('tenure shrink', () => {
  test('writes a script that tenure script agrees with', () => {
    const file = join(directory, 'shrunk.txt');
    const { code, stdout, stderr } = tenure(['shrink', 'toy', '--seed', '6975280443439790', '-o', file, '--json']);
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
    const found = JSON.parse(stdout) as { property: string; steps: number; script: string };
    expect(found.property).toBe('exclusion');
    expect(found.steps).toBeLessThanOrEqual(15);
    expect(readFileSync(file, 'utf8')).toBe(found.script);
    expect(tenure(['script', file]).code).toBe(0);
  });

  test('says before it begins that it cannot write there, and writes nothing where there is no script', () => {
    const seed = ['shrink', 'toy', '--seed', '6975280443439790'];
    for (const place of [join(directory, 'nowhere', 'x.txt'), directory, '']) {
      const { code, stdout, stderr } = tenure([...seed, '-o', place]);
      expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
      expect(stderr).toMatch(/^tenure: cannot write '/);
    }
    const file = join(directory, 'none of it.txt');
    const { stdout } = tenure([...seed, '--budget', '0s', '-o', file]);
    expect(stdout).toMatch(/0 smaller runs tried; the world stays as it is\n/);
    expect(stdout).toContain(`nothing was written to '${file}': there is no script\n`);
    expect(existsSync(file)).toBe(false);
  });

  test('calls nodes in what it says as the script does', () => {
    const { message } = JSON.parse(tenure(['shrink', 'toy', '--seed', '6975280443439790', '--json']).stdout) as { message: string };
    expect(message).toMatch(/^[abc]#\d+ was granted "the-lease" with token @0 at [^]* while [abc]#\d+ holds it/);
  });

  test('shows on a terminal how far it is, in one line of it and in seconds', () => {
    const words = `stty cols 60; '${process.execPath}' '${join(ROOT, 'bin', 'tenure.js')}' shrink flease --seed 7836656799769432 --mutant nack-is-vote --budget 4s`;
    const { stdout } = spawnSync('script', ['-qec', words, '/dev/null'], { encoding: 'utf8' });
    const shown = stdout.split('\r\u001B[2K').filter((line) => line.startsWith('shrinking: '));
    expect(shown.length).toBeGreaterThan(0);
    for (const line of shown) expect(line.split('\r', 1)[0]).toMatch(/^shrinking: \d+s of at most 4s, \d+ tries, .{0,59}$/);
    for (const line of shown.slice(0, -1)) expect(line.length).toBeLessThan(60);
  }, 60_000);

  test('says so when its budget ends it early', () => {
    const args = ['shrink', 'toy', '--seed', '6975280443439790'];
    expect(tenure([...args, '--budget', '1us'])).toMatchObject({ code: 2, stdout: expect.stringMatching(/the budget ended it early/) });
    expect(JSON.parse(tenure([...args, '--budget', '1us', '--json']).stdout)).toMatchObject({ endedEarly: true });
    expect(JSON.parse(tenure([...args, '--json']).stdout)).toMatchObject({ endedEarly: false });
  });

  test('exits 0 where nothing breaks, and 64 on a mutant that is not there', () => {
    expect(tenure(['shrink', 'quorum', '--seed', '1'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/nothing breaks/) });
    expect(tenure(['shrink', 'quorum', '--seed', '1', '--mutant', 'nonsense']).code).toBe(64);
    expect(tenure(['shrink', 'quorum', '--seed', '1', '--budget', 'soon']).code).toBe(64);
    expect(tenure(['shrink', 'quorum']).code).toBe(64);
  });
});
