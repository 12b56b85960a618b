/**
 * The keeper of a demo, a process of its own: when the demo goes away without a word (a crash, kill -9), it ends every process that the
 * demo had started, stopped processes too, removes its folder and gives the terminal back. It reads `+pid` and `-pid`, and `done` from a
 * demo that has tidied up itself.
 */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { MAIN_SCREEN } from '../screen.ts';

/** The terminal of the demo, if it draws on one. */
const TERMINAL_FD = 3;

export async function keep(folder: string, hasTerminal: boolean): Promise<void> {
  // The keyboard's signals reach it as well; it leaves after the others.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => {});
  const living = new Set<number>();
  let isDone = false;
  for await (const line of createInterface({ input: process.stdin })) {
    const pid = Number(line.slice(1));
    if (line === 'done') isDone = true;
    else if (line.startsWith('+')) living.add(pid);
    else living.delete(pid);
  }
  if (isDone) return;
  for (const pid of living) kill(pid);
  rmSync(folder, { recursive: true, force: true });
  if (hasTerminal) giveTerminalBack();
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone already.
  }
}

/** The shell may have the terminal by now: a process that then sets its modes is stopped unless it ignores that. */
function giveTerminalBack(): void {
  process.stdout.write(MAIN_SCREEN);
  spawnSync('sh', ['-c', 'trap "" TTOU; exec stty sane <&3'], { stdio: ['ignore', 'ignore', 'ignore', TERMINAL_FD] });
}
