/**
 * Whether a process still reads our output. A command that goes on for ever writes seldom, and would learn of a closed pipe with its next
 * line only: `tenure watch | head -1` would not end before something changes. Node cannot wait for a pipe to lose its reader; tail(1) of
 * GNU can, and does nothing else here. Where there is none, the next line tells.
 */
import { spawn } from 'node:child_process';
import { fstatSync } from 'node:fs';

const STDOUT = 1;

/** Calls `act` when a pipe that is our standard output has no reader left. Returns a function that ends the watch. */
export function whenReaderGone(act: () => void): () => void {
  if (process.platform !== 'linux' || !fstatSync(STDOUT).isFIFO()) return () => {};
  // With our own end it ends as well: it would keep the pipe open for our reader.
  const tail = spawn('tail', ['-f', `--pid=${process.pid}`, '/dev/null'], { stdio: ['ignore', STDOUT, 'ignore'] });
  tail.unref();
  tail.once('error', () => {});
  tail.once('exit', (_code, signal) => {
    if (signal === 'SIGPIPE') act();
  });
  return () => void tail.kill('SIGKILL');
}
