import { expect, test } from 'vitest';
import { inCommandWords } from '../../src/cli/command-words.ts';
import { TenureError } from '../../src/kernel/index.ts';

test('where nobody could be asked who has a lease, the command that asks is told, ready to be copied into a shell', () => {
  const late = new TenureError('TENURE_WAIT_TIMEOUT', `'it's taken' was not free in time`, { name: "it's taken" });
  expect(inCommandWords(late).message).toContain(String.raw`ask who has it with tenure holder 'it'\''s taken'`);
});
