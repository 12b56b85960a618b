/**
 * All processes of a command that can be reached: its process group, and where there is a cgroup every process that has left the
 * group. Everything that ends a command goes through here, in `tenure run` and in its switch.
 */
import type { Cgroup } from './cgroup.ts';
import { groupsOf, type ProcessGroup } from './process-group.ts';

export class CommandProcesses {
  readonly group: ProcessGroup;
  readonly cgroup: Cgroup | null;

  constructor(group: ProcessGroup, cgroup: Cgroup | null) {
    this.group = group;
    this.cgroup = cgroup;
  }

  /** Passes a signal on to the command: its group hears it, as from a terminal. */
  forward(signal: NodeJS.Signals): void {
    this.group.signal(signal);
  }

  /** Every process is to end. A stopped process hears nothing until it is continued. */
  tellToStop(signal: NodeJS.Signals): void {
    for (const one of [signal, 'SIGCONT'] as const) {
      this.group.signal(one);
      for (const pid of this.#strays()) signalOne(pid, one);
    }
  }

  kill(): void {
    this.cgroup?.kill();
    this.group.signal('SIGKILL');
  }

  /** Whether a process is there, be it a dead leader that was not reaped. This is cheaper to know than which are alive. */
  get isThere(): boolean {
    return this.group.signal(0) || this.cgroup?.isPopulated === true;
  }

  /** Whether a process still runs or could. */
  get isAlive(): boolean {
    return this.group.isAlive || this.cgroup?.isPopulated === true;
  }

  /** Processes of the cgroup that are in another process group. */
  #strays(): number[] {
    return this.cgroup?.pids().filter((pid) => groupsOf(pid)?.[0] !== this.group.id) ?? [];
  }
}

function signalOne(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile, or belongs to another user: the cgroup is killed as one.
  }
}
