import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { elementsOf } from '../support/xml.ts';
import { tenure } from './tenure.ts';

const directory = mkdtempSync(join(tmpdir(), 'tenure-figures-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const FIG8 = ['figures', '--only', 'fig8', '--runs', '3', '--seed', '2'];

describe('tenure figures', () => {
  test('--json prints one object with a figure under each name, and nothing else', () => {
    const ended = tenure(['figures', '--only', 'fig8,fig9', '--runs', '2', '--json']);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout.trimEnd().split('\n').length).toBe(1);
    const { fig8, fig9, ...more } = JSON.parse(ended.stdout) as Record<'fig8' | 'fig9', object>;
    expect(more).toEqual({});
    const both = {
      points: expect.arrayContaining([{ n: 1, mean: expect.any(Number), ci95: expect.any(Number) }]),
      rule14: expect.any(Object),
    };
    expect(fig8).toMatchObject({
      ...both,
      fit: { a: expect.any(Number), b: expect.any(Number), r2: expect.any(Number) },
      runs: 2,
      seed: 1,
    });
    expect(fig9).toMatchObject({ fit: { a: expect.any(Number), b: expect.any(Number), c: expect.any(Number), r2: expect.any(Number) } });
  });

  test('prints a table with the fits and what the paper says; the same seed, the same text', () => {
    const ended = tenure(FIG8);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toMatch(/^fig8: delay until the first client has the lease, .*\(3 runs a point, seed 2,/);
    expect(ended.stdout).toMatch(/\n +128 +\d+\.\d+ ± \d+\.\d+ +\d+\.\d+ ± \d+\.\d+\n/);
    expect(ended.stdout).toMatch(/\nto the letter: \d+\.\d+ \+ \d+\.\d+·ln n, R² = \d\.\d+\n/);
    expect(ended.stdout).toContain('\nthe paper: O(ln n)\n');
    expect(tenure(FIG8)).toEqual(ended);
  });

  test('fig5 has the numbers of the paper, exactly', () => {
    const ended = tenure(['figures', '--only', 'fig5', '--json']);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    const { fig5 } = JSON.parse(ended.stdout) as { fig5: object };
    expect(fig5).toMatchObject({ lambda: [1, 10, 20, 50, 100], fastct: [500, 320, 310, 304, 302], ct96: [400, 400, 400, 400, 400] });
  });

  test('--out draws into a directory that it makes', () => {
    const out = join(directory, 'new', 'pictures');
    const ended = tenure([...FIG8, '--out', out]);
    expect(ended.stdout).toContain(`drawn: ${join(out, 'fig8.svg')}\n`);
    expect(elementsOf(readFileSync(join(out, 'fig8.svg'), 'utf8'))[0]?.name).toBe('svg');
    expect(existsSync(join(out, 'fig9.svg'))).toBe(false);
  });

  test('--help lists the figures', () => {
    const { code, stdout } = tenure(['figures', '--help']);
    expect(code).toBe(0);
    for (const word of ['fig5', 'fig8', 'fig9', '--only', '--runs', '--seed', '--out', '--json', 'Exit codes'])
      expect(stdout).toContain(word);
  });

  test.each([
    ['a figure that is not there', ['--only', 'fig10'], /there is no figure 'fig10'.*there are fig5, fig8, fig9/],
    ['a figure that is mistyped', ['--only', 'fig8,fgi9'], /did you mean fig9/],
    ['one run, which has no interval', ['--runs', '1'], /whole number from 2 on/],
    ['a seed that is no number', ['--seed', 'x'], /whole number from 0 on/],
    ['a word too many', ['fig8'], /too many arguments/],
    ['an option that is not there', ['--draw'], /unknown option/],
  ])('%s is a usage error', (_, args, message) => {
    const ended = tenure(['figures', ...args]);
    expect(ended.code).toBe(64);
    expect(ended.stdout).toBe('');
    expect(ended.stderr).toMatch(message);
    const json = tenure(['figures', ...args, '--json']);
    expect(json.code).toBe(64);
    expect(JSON.parse(json.stderr)).toMatchObject({ event: 'error', code: 'TENURE_BAD_ARGUMENT', message: expect.stringMatching(message) });
  });

  test('a directory that cannot be made is told before anything is measured', () => {
    const file = join(directory, 'file');
    writeFileSync(file, '');
    const ended = tenure(['figures', '--runs', '100000', '--out', join(file, 'in')]);
    expect(ended.code).toBe(64);
    expect(ended.stderr).toMatch(/cannot write .*TENURE_BAD_ARGUMENT/);
  });
});
