/** The log of a daemon whose reader does not read: it keeps no more than it must, and says what is missing. */
import { afterEach, expect, test, vi } from 'vitest';
import { openLog } from '../../src/cli/log.ts';

afterEach(() => vi.restoreAllMocks());

test('lines that nobody reads are left out and counted', () => {
  const written: string[] = [];
  let waiting = 0;
  vi.spyOn(process.stdout, 'writableLength', 'get').mockImplementation(() => waiting);
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    written.push(String(text));
    return true;
  });
  const log = openLog('json', 'info', () => {});
  log.info('read');
  waiting = 2 ** 30;
  for (let i = 0; i < 1000; i++) log.info('not read');
  waiting = 0;
  log.info('read again');
  expect(written.map((line) => (JSON.parse(line) as { msg: string; lines?: number }).msg)).toEqual([
    'read',
    'read again',
    'lines are missing here: nobody read the log fast enough',
  ]);
  expect(JSON.parse(written.at(-1) ?? '')).toMatchObject({ level: 'warn', lines: 1000 });
});
