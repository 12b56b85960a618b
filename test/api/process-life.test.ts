/** What a held lease means for the life of its process: nothing, unless its holder says so. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { runProcess } from './run-process.ts';

async function saidBy(options: object): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-idle-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { child, said } = runProcess('idle-holder.mjs', pathToFileURL(folder).href, JSON.stringify(options));
  const all = child.stdout ? text(child.stdout) : '';
  await said;
  return all;
}

test('a process that holds a lease and has nothing else to do ends', async () => {
  expect(await saidBy({})).toBe('acquired\n');
});

test('a lease with keepAlive keeps its process until it is released, and not longer', async () => {
  expect(await saidBy({ keepAlive: true })).toBe('acquired\nstill held\n');
});
