/** Completion by the shells themselves, where they are installed, and the manual page: made of the commands, so every command and option is there. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, test } from 'vitest';
import { tenure } from './tenure.ts';

const folder = mkdtempSync(join(tmpdir(), 'tenure-completion-'));
afterAll(() => rmSync(folder, { recursive: true }));

const COMMANDS = [...tenure(['--help']).stdout.matchAll(/^ {2}([a-z]+)(?: \[| {2,})/gm)]
  .map(([, name]) => String(name))
  .filter((name) => name !== 'help');

function scriptOf(shell: string): string {
  const file = join(folder, `tenure.${shell}`);
  writeFileSync(file, tenure(['completion', shell]).stdout);
  return file;
}

const isInstalled = (shell: string): boolean => spawnSync('which', [shell]).status === 0;

describe('bash', () => {
  const script = scriptOf('bash');
  const completed = (...words: string[]): string[] => {
    const line = words.map((word) => `'${word}'`).join(' ');
    const program = `source '${script}'; COMP_WORDS=(tenure ${line}); COMP_CWORD=${words.length}; _tenure; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['-c', program], { encoding: 'utf8', cwd: folder }).split('\n').filter(Boolean);
  };

  it.each([
    ['commands', [''], ['run', 'serve', 'status', 'store']],
    ['commands that begin so', ['st'], ['status', 'store']],
    ['options of a command', ['run', '--w'], ['--wait']],
    ['options after a name', ['run', 'nightly', '--te'], ['--term']],
    ['commands within a command', ['store', 'in'], ['init']],
    ['options of a command within a command', ['store', 'init', '--pl'], ['--plain']],
    ['values that can be chosen', ['serve', '--log-format', ''], ['text', 'json']],
    ['files where a file is wanted', ['serve', '--config', 'tenure.b'], ['tenure.bash']],
    ['files after --', ['run', 'x', '--', 'tenure.b'], ['tenure.bash']],
  ])('completes %s', (_what, words, expected) => expect(completed(...words)).toEqual(expect.arrayContaining(expected)));

  it('knows every command', () => expect(completed('')).toEqual(expect.arrayContaining(COMMANDS)));
});

test.skipIf(!isInstalled('zsh'))('zsh reads its script, and has every command in it', () => {
  const script = scriptOf('zsh');
  const program = `autoload -U compinit && compinit -u -D; source '${script}'; whence -w _tenure; print -r -- $functions[_tenure]`;
  const said = execFileSync('zsh', ['-f', '-c', program], { encoding: 'utf8' });
  expect(said).toContain('_tenure: function');
  for (const command of COMMANDS) expect(said).toMatch(new RegExp(`['\\s]${command}:`));
});

test.skipIf(!isInstalled('fish'))('fish completes commands, options and values', () => {
  const script = scriptOf('fish');
  const completed = (line: string): string[] =>
    execFileSync('fish', ['--no-config', '-c', `source '${script}'; complete -C '${line}'`], {
      encoding: 'utf8',
      env: { ...process.env, HOME: folder },
    })
      .split('\n')
      .flatMap((one) => one.split('\t').slice(0, 1))
      .filter(Boolean);
  expect(completed('tenure ')).toEqual(expect.arrayContaining(COMMANDS));
  expect(completed('tenure run --w')).toContain('--wait');
  expect(completed('tenure serve --log-format ')).toEqual(expect.arrayContaining(['text', 'json']));
});

test('help shows durations as people write them, not as microseconds', () => {
  for (const command of COMMANDS) expect(tenure([command, '--help']).stdout).not.toMatch(/<(?:duration|span)>[^<()]*\(default: \d{4,}\)/);
});

describe('the manual page', () => {
  const page = tenure(['completion', 'man']).stdout;

  it('has every command, and every option that its help shows', () => {
    const plain = page.replaceAll('\\-', '-');
    for (const command of COMMANDS) {
      expect(plain).toContain(`.SS tenure ${command}\n`);
      const { stdout } = tenure([command, '--help']);
      for (const [flag] of stdout.matchAll(/(?<=^ {2}(?:-\w, )?)--[a-z-]+/gm)) expect(plain).toContain(flag);
    }
  });

  test.skipIf(!isInstalled('man'))('is read by man without a complaint', () => {
    const { status, stderr, stdout } = spawnSync('man', ['--warnings', '-l', '-'], {
      input: page,
      encoding: 'utf8',
      env: { ...process.env, MANWIDTH: '100', LC_ALL: 'C.UTF-8' },
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/TENURE\(1\)/);
  });
});
