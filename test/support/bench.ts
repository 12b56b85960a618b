/** Runs a program of `bench` that prints JSON. Whoever waits for it lets other tests go on. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ROOT } from './tree.ts';

export interface Benched {
  readonly said: unknown;
  readonly stderr: string;
  readonly code: number | null;
}

export async function bench(script: string, ...args: readonly string[]): Promise<Benched> {
  const child = spawn(process.execPath, [join(ROOT, 'bench', script), '--json', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [said, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  if (said === '') throw new Error(`${script} said nothing: ${stderr}`);
  return { said: JSON.parse(said), stderr, code };
}
