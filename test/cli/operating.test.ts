/** What operators meet: files that are not ours, modes, versions, exit codes that say whether a restart helps, readers that leave. Stores stand in for cells where any lease will do. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ServedCell } from './served-cell.ts';
import { tenure, tenurePiped } from './tenure.ts';

const folder = mkdtempSync(join(tmpdir(), 'tenure-operating-'));
const store = pathToFileURL(mkdtempSync(join(folder, 'store-'))).href;
afterAll(() => rmSync(folder, { recursive: true }));

const SERVE = ['serve', '--cell', 'x', '--self', 'a', '--members', 'a=127.0.0.1:4600'] as const;

describe('--ready-file', () => {
  it('touches no file that it did not make', () => {
    const file = join(folder, 'precious');
    writeFileSync(file, 'years of work\n');
    expect(tenure([...SERVE, '--ready-file', file])).toMatchObject({
      code: 78,
      stderr: expect.stringMatching(/is there already, and no tenure serve made it/) as unknown,
    });
    expect(readFileSync(file, 'utf8')).toBe('years of work\n');
  });

  it('follows no link', () => {
    const [file, link] = [join(folder, 'behind'), join(folder, 'link')];
    writeFileSync(file, '');
    symlinkSync(file, link);
    expect(tenure([...SERVE, '--ready-file', link]).code).toBe(78);
    expect([existsSync(file), existsSync(link)]).toEqual([true, true]);
  });
});

describe('settings that are no settings', () => {
  it.each(['__proto__', 'constructor'])('a member called %s', (id) => {
    const ended = tenure(['status'], '', { TENURE_CELL: 'x', TENURE_MEMBERS: `a=127.0.0.1:1,${id}=127.0.0.1:2` });
    expect(ended).toMatchObject({
      code: 78,
      stderr: expect.stringContaining(`TENURE_MEMBERS: ${id} cannot be the id of a member`) as unknown,
    });
  });

  it('200,000 members, in the environment and in a file', () => {
    const many = Array.from({ length: 5000 }, (_, i) => `m${i}=127.0.0.1:${i + 1}`);
    expect(tenure(['status'], '', { TENURE_CELL: 'x', TENURE_MEMBERS: many.join(',') })).toMatchObject({
      code: 78,
      stderr: expect.stringContaining('a cell has 1 to 64 members, not 5000') as unknown,
    });
    const file = join(folder, 'many.yaml');
    writeFileSync(
      file,
      `cell: x\nmembers:\n${Array.from({ length: 200_000 }, (_, i) => `  m${i}: 127.0.0.1:${(i % 60000) + 1}`).join('\n')}\n`,
    );
    expect(tenure(['status', '--config', file])).toMatchObject({
      code: 78,
      stderr: expect.stringMatching(/bytes are no config file/) as unknown,
    });
    writeFileSync(file, `cell: x\nmembers:\n${many.map((one) => `  ${one.replace('=', ': ')}`).join('\n')}\n`);
    expect(tenure(['status', '--config', file])).toMatchObject({
      code: 78,
      stderr: expect.stringMatching(/many.yaml:2: members: a cell has 1 to 64 members/) as unknown,
    });
  });
});

describe('a daemon that cannot start yet', () => {
  it('ends with 71 where its name does not resolve, so that it is started again', () => {
    const ended = tenure([...SERVE, '--listen', 'no-such-host.invalid:4600', '--secret-file', secretFile()]);
    expect(ended).toMatchObject({ code: 71, stdout: expect.stringMatching(/TENURE_CANNOT_LISTEN/) as unknown });
  });

  it('is not kept from starting again by its unit file', () => {
    const unit = readFileSync(new URL('../../deploy/systemd/tenure@.service', import.meta.url), 'utf8');
    expect(/^RestartPreventExitStatus=(.*)$/m.exec(unit)?.[1]).toBe('78');
  });
});

function secretFile(mode = 0o600): string {
  const file = join(folder, `secret-${mode}`);
  writeFileSync(file, 'a secret that is long enough\n');
  chmodSync(file, mode);
  return file;
}

describe('commands on a store', () => {
  it('-w takes seconds like flock(1), and -w 0 does not wait', () => {
    expect(tenure(['run', '--store', store, '-w', '1', 'free', '--', 'true'])).toMatchObject({ code: 0, stderr: '' });
    expect(tenure(['run', '--store', store, '-w', '0', 'free', '--', 'true'])).toMatchObject({ code: 0, stderr: '' });
    expect(tenure(['acquire', '--store', store, '-w', '1.5', 'free'])).toMatchObject({ code: 0 });
    const inner = [
      process.execPath,
      join(import.meta.dirname, '../../bin/tenure.js'),
      'run',
      '--store',
      store,
      '-w',
      '0',
      'held',
      '--',
      'true',
    ];
    expect(tenure(['run', '--store', store, 'held', '--', ...inner])).toMatchObject({
      code: 75,
      stderr: expect.stringMatching(/'held' is taken: held by .* pid \d+/) as unknown,
    });
  });

  it.each(['run', 'acquire', 'elect'])('%s refuses a term in which nothing can be renewed', (command) => {
    const words = command === 'acquire' ? [] : ['--', 'true'];
    expect(tenure([command, '--store', store, '--term', '20ms', 'short', ...words])).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('--term 20ms is too short to be renewed in time: give at least 100ms') as unknown,
    });
  });

  it('elect tells its value also while a command leads', () => {
    const inner = [process.execPath, join(import.meta.dirname, '../../bin/tenure.js'), 'holder', '--store', store, 'led'];
    const ended = tenure(['elect', '--store', store, '--value', 'find me here', 'led', '--', ...inner]);
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('led held by find me here, token') as unknown });
  });

  it('watch and elect --observe end with their reader, though nothing changes', () => {
    expect(tenurePiped(['watch', '--store', store], 'head -1')).toMatchObject({ stdout: expect.stringMatching(/current/) as unknown });
    expect(tenurePiped(['elect', '--observe', '--store', store, 'nobody'], 'head -1')).toMatchObject({
      stdout: expect.stringMatching(/nobody leads/) as unknown,
    });
  });
});

describe('a member that has just started', () => {
  const cell = new ServedCell();
  beforeAll(async () => void (await cell.prepare('1h')));
  afterAll(async () => cell.end());

  it('says its version, warns of open secrets, and is no reason to say that all is well', async () => {
    for (const secret of ['member.secret', 'client.secret'])
      chmodSync(join(cell.folder, secret), secret === 'member.secret' ? 0o644 : 0o600);
    const data = join(cell.folder, 'data');
    const a = cell.serve('a', ['--data-dir', data]);
    cell.serve('b');
    expect(await a.says(/^starting/)).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/) as unknown,
      runtime: `node ${process.version}`,
    });
    expect(await a.says(/open to other users/)).toMatchObject({ level: 'warn', msg: expect.stringContaining('chmod 600') as unknown });
    expect(a.lines.filter(({ msg }) => /open to other users/.test(String(msg)))).toHaveLength(1);
    expect([data, join(data, 'data.mdb'), join(data, 'lock.mdb')].map((path) => statSync(path).mode & 0o777)).toEqual([
      0o700, 0o600, 0o600,
    ]);
    const status = tenure(['status'], '', cell.env);
    expect(status).toMatchObject({ code: 69, stdout: expect.stringMatching(/nothing can be granted yet: 0 of them vote/) as unknown });
    const waited = tenure(['run', '-w', '1', 'x', '--', 'true'], '', cell.env);
    expect(waited).toMatchObject({
      code: 76,
      stderr: expect.stringMatching(/members have just started and keep silent, for another 1h .*tenure bootstrap/) as unknown,
    });
  });
});
