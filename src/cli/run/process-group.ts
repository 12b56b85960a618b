/**
 * A process group that we started and may signal. Numbers of processes are used again, so a group is known by its leader's
 * number and the instant its leader was started; a group whose number went to another process is left alone. The switch loads
 * this file too: it imports nothing but Node's own.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** Fields of /proc/PID/stat, counted after the name of the program, which may contain anything. */
const STATE = 0;
const GROUP = 2;
const FOREGROUND = 5;
const STARTED = 19;

export class ProcessGroup {
  readonly id: number;
  /** When its leader was started, in ticks of the kernel since boot; null where that cannot be had. */
  readonly born: string | null;

  constructor(id: number, born: string | null = statOf(id)?.[STARTED] ?? null) {
    this.id = id;
    this.born = born;
  }

  /** Sends a signal to every process in it. False if there is none any more. */
  signal(signal: NodeJS.Signals | 0): boolean {
    // While the leader is not reaped, or a process is left in its group, its number is given to no other process. If the number now has
    // another birthday, no process of ours is left.
    const bornNow = this.born === null ? null : (statOf(this.id)?.[STARTED] ?? null);
    if (bornNow !== null && bornNow !== this.born) return false;
    try {
      process.kill(-this.id, signal);
      return true;
    } catch (error) {
      // Not permitted: a process of another user is there.
      return (error as NodeJS.ErrnoException).code !== 'ESRCH';
    }
  }

  /** Whether a process in it still runs or could. Dead processes that were not reaped count as gone, where that can be told. */
  get isAlive(): boolean {
    if (!this.signal(0)) return false;
    const states = statesIn(this.id);
    return states === null || states.some((state) => state !== 'Z' && state !== 'X');
  }
}

/** The group of a process and the foreground group of its terminal, which is negative without one; null where the kernel does not show them. */
export function groupsOf(pid: number): readonly [own: number, foreground: number] | null {
  const stat = statOf(pid);
  return stat && [Number(stat[GROUP]), Number(stat[FOREGROUND])];
}

/** The states of all processes of a group; null where the kernel does not show them. */
function statesIn(group: number): string[] | null {
  let entries: string[];
  try {
    entries = readdirSync('/proc');
  } catch {
    return null;
  }
  const stats = entries.filter((entry) => /^\d+$/.test(entry)).map((pid) => statOf(Number(pid)));
  if (stats.every((stat) => stat === null)) return null;
  return stats.flatMap((stat) => (stat?.[GROUP] === String(group) ? [stat[STATE] ?? ''] : []));
}

function statOf(pid: number): string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}
