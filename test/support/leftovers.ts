/**
 * Ends the processes that tests left behind, and names them. An orphan keeps the output of a test run open, and whoever
 * reads it to its end waits for ever. Linux only: processes are known by a variable in their environment.
 */
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const MARK = 'TENURE_TEST_RUN';
/** Processes that have been told to end may take a moment. */
const GRACE_MS = 2000;
const LOOKS = 20;

export default function mark(): () => Promise<void> {
  const run = randomUUID();
  process.env[MARK] = run;
  return async () => {
    for (let look = 0; look < LOOKS && marked(run).length > 0; look++) await sleep(GRACE_MS / LOOKS);
    for (const { pid, words } of marked(run)) {
      process.stdout.write(`tests left a process behind, which is ended now: ${pid} ${words}\n`);
      process.kill(pid, 'SIGKILL');
    }
  };
}

function marked(run: string): { pid: number; words: string }[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').flatMap((entry) => {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${MARK}=${run}`)) return [];
      // The workers of the test runner are its children, and its own business.
      if (readFileSync(`/proc/${pid}/status`, 'latin1').includes(`\nPPid:\t${process.pid}\n`)) return [];
      return [{ pid, words: readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').trim() }];
    } catch {
      // It has ended, or is another user's.
      return [];
    }
  });
}
