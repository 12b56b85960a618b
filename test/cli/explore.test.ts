/** `tenure explore` as a user meets it: exit codes, the object it prints, and the mutants that docs/research/explorer.md says it kills. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runScript } from '../../src/sim/index.ts';
import { readPage, rowsOf, sectionOf } from '../docs/pages.ts';
import { tenure } from './tenure.ts';

const SLOW = 120_000;
const TINY = ['--crashes', '0', '--renewals', '0', '--no-release', '--instants', '1'];

interface Report {
  states: number;
  exhausted: boolean;
  violation: { property: string; steps: number; script: string[] } | null;
}

function report(args: readonly string[]): Report {
  return JSON.parse(tenure(['explore', ...args, '--json']).stdout) as Report;
}

describe('tenure explore', () => {
  test(
    'exits 0 when it has seen everything and found nothing',
    () => {
      const { code, stdout, stderr } = tenure(['explore', 'quorum', ...TINY]);
      expect(stdout).toContain('no violation: this world is exhausted');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    },
    SLOW,
  );

  test(
    'exits 2 with a script when something breaks',
    () => {
      const { code, stdout } = tenure(['explore', 'toy']);
      expect(code).toBe(2);
      // Nodes and tokens are called as in the script.
      expect(stdout).toMatch(/\nVIOLATION of exclusion: [abc]#\d+ was granted "the-lease" with token @0 at /);
      const script = stdout.slice(stdout.indexOf('stage toy breaks=exclusion\nstart\n'));
      // It says what comes of each block, and is content with that when it is run.
      expect(script).toMatch(/\nacquire a\n[^]*\n----\n[^]* HOLDS the-lease [^]* VIOLATION of exclusion/);
      expect(runScript(script)).toMatchObject({ failures: [], changes: [], text: script });
    },
    SLOW,
  );

  test('keeps the script where it is told to, and says before it begins that it cannot', () => {
    const directory = mkdtempSync(join(tmpdir(), 'tenure-explore-'));
    const file = join(directory, 'found.txt');
    const world = ['explore', 'quorum', '--mutant', 'replace-live-lease', ...TINY];
    expect(tenure([...world, '-o', file])).toMatchObject({
      code: 2,
      stdout: expect.stringContaining(`run it again with: tenure script ${file}`),
    });
    expect(tenure(['script', file])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/: exclusion breaks, and does not with all rules\n/),
    });
    const nowhere = tenure([...world, '-o', join(directory, 'no', 'where.txt')]);
    expect(nowhere).toMatchObject({ code: 64, stdout: '', stderr: expect.stringMatching(/^tenure: cannot write '/) });
    expect(tenure(['explore', 'quorum', '--max-states', '10', '-o', join(directory, 'none.txt')]).stdout).toContain(
      'nothing was written to ',
    );
    rmSync(directory, { recursive: true });
  });

  test.each([
    ['--max-states', '5000'],
    ['--time-budget', '1ms'],
  ])(
    'exits 3 and says so when %s ends it early',
    (...limit) => {
      const { code, stdout } = tenure(['explore', 'quorum', ...limit]);
      expect(stdout).toContain('NOT exhausted');
      expect(code).toBe(3);
    },
    SLOW,
  );

  test.each([
    { what: 'an unknown protocol', args: ['paxos'] },
    { what: 'a protocol without a small world', args: ['flease-literal'] },
    { what: 'an unknown mutant', args: ['quorum', '--mutant', 'none-such'] },
    { what: 'a number out of range', args: ['quorum', '--acceptors', '0'] },
    { what: 'a share that is none', args: ['quorum', '--drift', ''] },
    { what: 'a duration that is none', args: ['quorum', '--time-budget', 'soon'] },
  ])('exits 64 on $what', ({ args }) => {
    expect(tenure(['explore', ...args]).code).toBe(64);
  });

  test.each([
    { what: 'a bound that the world does not have', args: ['quorum', '--skew', '1'], says: 'the world of quorum knows nothing of --skew' },
    {
      what: 'several of them, by the names of their options',
      args: ['rounds-register', '--drift', '0.1', '--term', '2'],
      says: 'knows nothing of --drift, --term',
    },
    {
      what: 'clocks as far apart as a lease is long',
      args: ['flease', '--skew', '2'],
      says: 'do not go together: the skew of clocks must be',
    },
    { what: 'clocks beyond no bound', args: ['flease', '--beyond', '1'], says: '--beyond goes with --skew' },
  ])('exits 64 and says why on $what', ({ args, says }) => {
    const { code, stdout, stderr } = tenure(['explore', ...args]);
    expect(stderr).toContain(says);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
  });

  test('prints one object with the documented fields and no others', () => {
    const { stdout } = tenure(['explore', 'quorum', '--proposers', '1', ...TINY, '--json']);
    const fields = Object.keys(JSON.parse(stdout) as object);
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(fields.toSorted()).toEqual(
      rowsOf(sectionOf(readPage('docs/research/explorer.md'), 'JSON'))
        .flatMap(([names = '']) => names.split(', '))
        .toSorted(),
    );
  });
});

describe('docs/research/explorer.md', () => {
  const rows = rowsOf(sectionOf(readPage('docs/research/explorer.md'), 'Which mutants the small worlds kill'));

  test.each(rows)(
    'without %s and with %s, %s breaks in %s lines',
    (mutant = '', options = '', property = '', steps = '') => {
      const { violation } = report(['quorum', '--mutant', mutant, ...options.split(' ')]);
      expect({ property: violation?.property, steps: violation?.steps }).toEqual({ property, steps: Number(steps) });
    },
    SLOW,
  );

  const others = ['Flease and PaxosLease', 'The round-based register'].flatMap((section) =>
    rowsOf(sectionOf(readPage('docs/research/explorer.md'), section)).filter((row) => row.length === 5),
  );

  test.each(others)(
    'without %s, %s with %s breaks %s in %s lines',
    (mutant = '', protocol = '', options = '', property = '', steps = '') => {
      const { violation } = report([protocol, '--mutant', mutant, ...options.split(' ')]);
      expect({ property: violation?.property, steps: violation?.steps }).toEqual({ property, steps: Number(steps) });
    },
    SLOW,
  );
});
