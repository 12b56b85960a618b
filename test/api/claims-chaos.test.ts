/** The programs of `npm run bench:claims-chaos` and `bench:claims-crowd`, shorter: real processes that claim while members are killed, and all at once. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { ROOT } from '../support/tree.ts';

async function told(script: string, ...args: string[]): Promise<{ code: unknown; said: Record<string, unknown> }> {
  const child = spawn(process.execPath, [join(ROOT, 'bench', script), '--json', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'exit') as Promise<unknown[]>]);
  return { code, said: JSON.parse(said) as Record<string, unknown> };
}

test('members are killed all the time, one with its directory deleted: nothing is granted twice or forgotten, and next comes back', async () => {
  const { code, said } = await told('claims-chaos.mjs', '--seconds', '8', '--claimers', '4');
  expect(said).toMatchObject({ robberies: 1, violations: [], forgotten: [], isFine: true });
  expect((said['last'] as unknown[]).length).toBe(4);
  expect(said['kills']).toBeGreaterThan(2);
  expect((said['claims'] as { granted: number }).granted).toBeGreaterThan(10);
  expect(code).toBe(0);
}, 180_000);

test('processes that call next at once are all served, each with a block of its own', async () => {
  const { code, said } = await told('claims-crowd.mjs', '--processes', '8', '--rounds', '1');
  const [row] = said['rows'] as { served: number; isOnce: boolean; attempts: number[] }[];
  expect(row).toMatchObject({ served: 8, isOnce: true });
  expect(row?.attempts.length).toBe(8);
  expect(code).toBe(0);
}, 180_000);
