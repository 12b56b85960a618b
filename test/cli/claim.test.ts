/** `tenure claim`, and the bootstrap of claims, against three real members with data directories. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ServedCell } from './served-cell.ts';
import { tenure, type Ended } from './tenure.ts';

const cell = new ServedCell();
beforeAll(async () => void (await cell.start(true)), 60_000);
afterAll(() => cell.end());

const run = (...args: string[]): Ended => tenure(args, '', cell.env);

describe('tenure claim', () => {
  it('says that claims have not begun, and how to begin them; exit code 69', () => {
    const refused = run('claim', 'orders', '0', '9');
    expect(refused).toMatchObject({ code: 69, stdout: '' });
    expect(refused.stderr).toMatch(
      /^tenure: claims have not begun in this cell: .*tenure bootstrap --claims --yes.*\(TENURE_NOT_BEGUN\)\n$/,
    );
    expect(run('status').stdout).toMatch(/CLAIMS(.*\n.* blank ){3}/);
    const careful = run('bootstrap', '--claims');
    expect(careful).toMatchObject({ code: 64, stdout: '' });
    expect(careful.stderr).toContain('integers could be claimed twice');
    expect(run('bootstrap', '--claims', '--yes', '--json')).toEqual({
      code: 0,
      stdout: '{"bootstrapped":true,"claims":true,"broadcast":false}\n',
      stderr: '',
    });
    expect(run('bootstrap', '--claims', '--yes')).toMatchObject({ code: 77, stdout: '' });
  });

  it('claims a range once, and then exits with 75 and what overlaps', () => {
    expect(run('claim', 'orders', '100', '199')).toEqual({ code: 0, stdout: 'orders 100-199 claimed\n', stderr: '' });
    expect(run('claim', 'orders', '190', '210')).toEqual({
      code: 75,
      stdout: '',
      stderr: "tenure: 190-199 of 'orders' is another's, or is being claimed; as many may be free from 200 on (TENURE_HELD)\n",
    });
    const told = run('claim', 'orders', '190', '210', '--json');
    expect(told).toMatchObject({ code: 75, stderr: '' });
    expect(JSON.parse(told.stdout)).toEqual({
      space: 'orders',
      granted: false,
      from: 190,
      to: 210,
      overlap: { from: 190, to: 199 },
      nextFree: 200,
    });
    // It was withdrawn before the command ended.
    expect(run('claim', 'orders', '200', '210')).toMatchObject({ code: 0 });
  });

  it('says what is wrong with a range before it looks for a cell', () => {
    const refused = tenure(['claim', 'orders', '5', '2'], '', {});
    expect(refused).toMatchObject({ code: 64, stdout: '' });
    expect(refused.stderr).toContain('TENURE_BAD_INTERVAL');
  });

  it('claims the next block that is free', () => {
    const blocks = [1, 2].map(() => JSON.parse(run('claim', 'bills', '--next', '50', '--json').stdout) as { from: number; to: number });
    expect(blocks[0]).toEqual({ space: 'bills', granted: true, from: 0, to: 49 });
    expect(blocks[1]?.from).toBeGreaterThanOrEqual(50);
    expect((blocks[1]?.to ?? 0) - (blocks[1]?.from ?? 0)).toBe(49);
  });

  it.each([
    [['claim', 'orders'], /either FROM and TO, or --next/],
    [['claim', 'orders', '5'], /either FROM and TO, or --next/],
    [['claim', 'orders', '1', '2', '--next', '3'], /either FROM and TO, or --next/],
    [['claim', 'orders', '9', '5'], /TENURE_BAD_INTERVAL/],
    [['claim', 'orders', 'x', '5'], /a whole number from 0 on/],
    [['claim', 'orders', '--next', '0'], /a whole number from 1 on/],
    [['claim', '', '1', '5'], /TENURE_BAD_NAME/],
  ])('exits with 64 where %j makes no sense', (args, said) => {
    const { code, stdout, stderr } = run(...args);
    expect([code, stdout]).toEqual([64, '']);
    expect(stderr).toMatch(said);
  });

  it('goes on while a member is down, and tells how far one is that has lost its directory', async () => {
    const c = cell.members.get('c');
    c?.child.kill('SIGKILL');
    await c?.ended;
    expect(run('claim', 'orders', '300', '300')).toMatchObject({ code: 0 });
    const dir = join(cell.folder, 'data-c');
    rmSync(dir, { recursive: true, force: true });
    const again = cell.serve('c', ['--data-dir', dir]);
    expect(await again.says(/disk for claims is in use/)).toMatchObject({ phase: 'ready', generation: 2 });
    expect(again.lines.some(({ msg }) => /disk for claims is blank/.test(String(msg)))).toBe(true);
    expect(run('claim', 'orders', '300', '300')).toMatchObject({ code: 75 });
  });
});
