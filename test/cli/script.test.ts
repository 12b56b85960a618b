import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
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
