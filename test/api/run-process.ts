/** Runs one of the programs in `processes`, for tests that need other processes. */
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from '../support/tree.ts';

export interface RunningProcess {
  readonly child: ChildProcess;
  /** The first line it says. */
  readonly said: Promise<string>;
}

export function runProcess(script: string, ...args: string[]): RunningProcess {
  const child = spawn(process.execPath, [join(ROOT, 'test/api/processes', script), ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const said = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('exit', (code) => reject(new Error(`${script} ended with ${code}`)));
  });
  return { child, said };
}
