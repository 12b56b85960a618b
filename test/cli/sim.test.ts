import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { tenure, tenurePiped } from './tenure.ts';

const directory = mkdtempSync(join(tmpdir(), 'tenure-cli-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

interface Report {
  protocol: string;
  mutant: string | null;
  runs: number;
  seed: number;
  events: number;
  grants: number;
  violations: { seed: number; property: string; at: number; replay: string }[];
  sometimes: Record<string, number>;
  liveness: { checked: number; failed: number };
}

const SLOW = 60_000;
/** Of the toy: two holders. */
const TOY_SEED = '6975280443439790';

describe('sim toy --runs 2000 --seed 1 --json', () => {
  const ended = tenure(['sim', 'toy', '--runs', '2000', '--seed', '1', '--json']);
  const report = JSON.parse(ended.stdout) as Report;

  test('exits 2, for the toy is broken', () => {
    expect(ended.code).toBe(2);
    expect(ended.stderr).toBe('');
  });

  test('prints one object with the documented fields and no others', () => {
    expect(ended.stdout.trimEnd().split('\n').length).toBe(1);
    expect(Object.keys(report)).toEqual(['protocol', 'mutant', 'runs', 'seed', 'events', 'grants', 'violations', 'sometimes', 'liveness']);
    expect(report).toMatchObject({ protocol: 'toy', mutant: null, runs: 2000, seed: 1 });
    expect(report.events).toBeGreaterThan(100_000);
    expect(report.grants).toBeGreaterThan(1_000);
    expect(Object.keys(report.liveness)).toEqual(['checked', 'failed']);
    for (const violation of report.violations) expect(Object.keys(violation)).toEqual(['seed', 'property', 'at', 'replay']);
    expect(Object.values(report.sometimes).every((count) => Number.isInteger(count) && count > 0)).toBe(true);
  });

  test('its replay command gives the same violation, byte for byte, twice', () => {
    const [violation] = report.violations;
    const [program, ...args] = violation?.replay.split(' ') ?? [];
    expect(program).toBe('tenure');
    const first = tenure(args);
    expect(first.code).toBe(2);
    expect(tenure(args)).toEqual(first);
    const json = JSON.parse(tenure([...args, '--json']).stdout) as { violations: { property: string; at: number; message: string }[] };
    expect(json.violations[0]).toMatchObject({ property: violation?.property, at: violation?.at });
    expect(first.stdout).toContain(`VIOLATION of ${violation?.property}: ${json.violations[0]?.message}`);
  });

  test('is the same on one thread', () => {
    expect(tenure(['sim', 'toy', '--runs', '2000', '--seed', '1', '--json', '--threads', '1'])).toEqual(ended);
  });
});

describe('sim', () => {
  test('--list --json names every protocol and mutant, and nothing else', () => {
    const { code, stdout } = tenure(['sim', '--list', '--json']);
    expect(code).toBe(0);
    const listed = JSON.parse(stdout) as { protocols: { name: string; mutants: { name: string; rule: string }[] }[] };
    expect(Object.keys(listed)).toEqual(['protocols']);
    for (const protocol of listed.protocols) {
      expect(Object.keys(protocol)).toEqual(['name', 'mutants']);
      for (const mutant of protocol.mutants) expect(Object.keys(mutant)).toEqual(['name', 'rule']);
    }
    expect(listed.protocols.map(({ name }) => name)).toEqual(expect.arrayContaining(['quorum', 'register', 'toy']));
  });

  test('--list says in words what there is', () => {
    expect(tenure(['sim', '--list']).stdout).toMatch(/register: .*\n {2}--mutant cached-read/);
  });

  test(
    'a clean campaign exits 0 and says so',
    () => {
      const { code, stdout } = tenure(['sim', 'register', '--runs', '150', '--seed', '1']);
      expect({ code, last: stdout.trimEnd().split('\n').at(-1) }).toEqual({ code: 0, last: 'no violations' });
    },
    SLOW,
  );

  test('a mutant is found out: exit 2, and a replay that names it', () => {
    const { code, stdout } = tenure(['sim', 'register', '--runs', '50', '--seed', '1', '--mutant', 'cached-read', '--json']);
    expect(code).toBe(2);
    const report = JSON.parse(stdout) as Report;
    expect(report.mutant).toBe('cached-read');
    expect(report.violations[0]?.property).toBe('regularity');
    expect(report.violations[0]?.replay).toMatch(/^tenure sim register --replay \d+ --mutant cached-read$/);
  });

  test('a campaign too small to reach everything exits 3 and names what is missing', () => {
    const { code, stdout } = tenure(['sim', 'register', '--runs', '1', '--seed', '1']);
    expect(code).toBe(3);
    expect(stdout).toMatch(/never reached: .*\w/);
  });

  test('a replay is not judged by what it did not reach', () => {
    expect(tenure(['sim', 'register', '--replay', '1']).code).toBe(0);
  });

  test('--first stops at the first violation', () => {
    const report = JSON.parse(tenure(['sim', 'toy', '--runs', '2000', '--seed', '1', '--first', '--json']).stdout) as Report;
    expect(report.violations.length).toBe(1);
    expect(report.runs).toBeLessThan(2000);
  });

  test('a seed that was not given is printed', () => {
    expect(tenure(['sim', 'toy', '--runs', '10']).stdout).toMatch(/10 runs of seed \d+/);
  });

  test('--watch without a terminal tells the story and ends', () => {
    const { code, stdout } = tenure(['sim', 'register', '--watch', '--seed', '3']);
    expect(code).toBe(0);
    expect(stdout).toContain('client0 starts');
    expect(stdout).toContain('the world heals');
    expect(stdout).toContain('The referees found nothing to object to');
    expect(stdout.match(/^ {2}node bin\/tenure\.js sim /gm)?.length).toBe(3);
    expect(stdout).not.toContain('\u001b');
  });

  test('--watch of a broken protocol ends with what the referees say, and exits 2', () => {
    const { code, stdout } = tenure(['sim', 'toy', '--watch']);
    expect(code).toBe(2);
    expect(stdout).toMatch(/The referees object: \w+: node \d#\d+/);
  });

  test('a reader that has seen enough is no error', () => {
    const { stdout, stderr, code } = tenurePiped(['sim', 'register', '--replay', '1'], 'head -1');
    expect({ lines: stdout.trimEnd().split('\n').length, stderr, code }).toEqual({ lines: 1, stderr: '', code: 0 });
  });
});

describe('without a reader the exit code says what came of', () => {
  const history = join(directory, 'two-holders.jsonl');
  const script = join(directory, 'wrong.txt');
  tenure(['sim', 'toy', '--replay', TOY_SEED, '--trace', history]);
  writeFileSync(script, 'stage toy breaks=exclusion\nstart\n');

  test.each([
    ['a campaign', ['sim', 'toy', '--runs', '50', '--seed', '1']],
    ['a campaign, as JSON', ['sim', 'toy', '--runs', '50', '--seed', '1', '--json']],
    ['a replay', ['sim', 'toy', '--replay', TOY_SEED]],
    ['a world to watch', ['sim', 'toy', '--watch', '--seed', TOY_SEED]],
    ['a shrinking', ['shrink', 'toy', '--seed', TOY_SEED, '--budget', '1s']],
    ['a search', ['explore', 'toy']],
    ['a script', ['script', script]],
    ['a history', ['check', history]],
  ])('%s', (_what, args) => {
    expect(tenurePiped(args, 'true')).toEqual({ code: 2, stdout: '', stderr: '' });
  });

  test('what has nothing to object to', () => {
    expect(tenurePiped(['sim', 'register', '--replay', '1'], 'true').code).toBe(0);
    expect(tenurePiped(['sim', '--list'], 'true').code).toBe(0);
  });

  test('a replay of which one line was read', () => {
    const { code, stdout } = tenurePiped(['sim', 'toy', '--replay', TOY_SEED], 'head -1');
    expect({ code, lines: stdout.split('\n').length - 1 }).toEqual({ code: 2, lines: 1 });
  });
});

describe('wrong usage exits 64 and says what is wrong', () => {
  test.each([
    ['an unknown protocol', ['sim', 'nonesuch'], /nonesuch.*Allowed choices are .*toy/],
    ['no protocol', ['sim'], /which protocol\?.*toy/],
    ['an unknown mutant', ['sim', 'register', '--mutant', 'x'], /no mutant 'x'.*cached-read/],
    ['a mutant of a protocol that has none', ['sim', 'toy', '--mutant', 'x'], /It has none/],
    ['runs that are no number', ['sim', 'toy', '--runs', 'many'], /whole number from 1 on/],
    ['no runs', ['sim', 'toy', '--runs', '0'], /whole number from 1 on/],
    ['a broken number', ['sim', 'toy', '--seed', '1.5'], /whole number from 0 on/],
    ['a negative seed', ['sim', 'toy', '--seed=-1'], /whole number from 0 on/],
    ['a number that is not safe', ['sim', 'toy', '--seed', '99999999999999999999'], /whole number from 0 on/],
    ['no threads', ['sim', 'toy', '--threads', '0'], /whole number from 1 on/],
    ['a speed of nothing', ['sim', 'toy', '--watch', '--speed', '0'], /above 0/],
    ['a misspelt flag', ['sim', 'toy', '--run', '5'], /unknown option '--run'[^]*Did you mean --runs/],
    ['a misspelt command', ['simm'], /unknown command 'simm'[^]*Did you mean sim/],
    ['too many arguments', ['sim', 'toy', 'more'], /too many arguments/],
    ['a file that cannot be written', ['sim', 'toy', '--runs', '1', '--trace', '/nonesuch/x'], /cannot write/],
    ['a file that cannot be read', ['check', '/nonesuch/x'], /cannot read/],
  ] as const)('%s', (_what, args, says) => {
    const { code, stderr, stdout } = tenure(args);
    expect(stderr).toMatch(says);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
  });
});

describe('help', () => {
  test.each([
    [['--help'], /Usage: tenure .*[^]*\bsim\b[^]*\bcheck\b[^]*Exit codes:/],
    [['sim', '--help'], /Usage: tenure sim .*[^]*--runs[^]*Examples:[^]*Exit codes:/],
    [['check', '--help'], /Usage: tenure check .*[^]*<?file>?[^]*Exit codes:/],
  ])('%j is on standard output and exits 0', (args, says) => {
    const { code, stdout } = tenure(args);
    expect(stdout).toMatch(says);
    expect(code).toBe(0);
  });

  test('--version is the version of the package', () => {
    const described = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };
    expect(tenure(['--version']).stdout).toBe(`${described.version}\n`);
  });
});

describe('check', () => {
  test('finds in a trace the violation that the simulator found', () => {
    const file = join(directory, 'toy.jsonl');
    const { stdout } = tenure(['sim', 'toy', '--runs', '100', '--seed', '1', '--json', '--trace', file]);
    const [first] = (JSON.parse(stdout) as Report).violations;
    const { code, stdout: judged } = tenure(['check', file, '--json']);
    expect(code).toBe(2);
    const found = JSON.parse(judged) as { violations: { property: string; at: number }[]; notJudged: string[] };
    expect(found.violations).toContainEqual(expect.objectContaining({ property: first?.property, at: first?.at }));
    expect(found.notJudged).toEqual([]);
    expect(tenure(['check', file]).stdout).toMatch(/\d+ records, \d+ violations\n {2}\w+: node/);
  });

  test('a trace of a clean run is clean, also from standard input', () => {
    const file = join(directory, 'register.jsonl');
    tenure(['sim', 'register', '--replay', '1', '--trace', file]);
    expect(tenure(['check', '-'], readFileSync(file, 'utf8'))).toMatchObject({ code: 0 });
  });

  test.each([
    ['garbage', 'garbage\n', /line 1/],
    ['nothing', '', /./],
    ['a bad record', '{"tenure-history":1,"clock":"true"}\n{"at":1}\n', /line 2/],
    [
      'a record out of order',
      '{"tenure-history":1,"clock":"true"}\n{"at":5,"node":0,"incarnation":1,"kind":"crashed"}\n{"at":4,"node":0,"incarnation":1,"kind":"crashed"}\n',
      /line 3/,
    ],
  ])('refuses %s, naming the line', (_what, text, says) => {
    const file = join(directory, 'bad.jsonl');
    writeFileSync(file, text);
    const { code, stderr } = tenure(['check', file]);
    expect(stderr).toMatch(says);
    expect(code).toBe(64);
  });

  test('says what it cannot judge without a common clock', () => {
    const { code, stdout } = tenure(['check', '-'], '{"tenure-history":1,"clock":"wall"}\n');
    expect(code).toBe(0);
    expect(stdout).toMatch(/not judged, for want of a common clock: exclusion/);
  });
});
