/**
 * A cgroup (version 2) of a command's own. The kernel puts every process that the command starts into it, also processes that leave the
 * process group, and kills all of them at one word. The switch loads this file too: it imports nothing but Node's own.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export class Cgroup {
  readonly path: string;

  /** A cgroup that exists already. */
  constructor(path: string) {
    this.path = path;
  }

  /** A new cgroup, below another or else below this process's own. Throws where that is not allowed, or the kernel is too old to kill it. */
  static below(parent: string = ownCgroup()): Cgroup {
    const made = new Cgroup(join(parent, `tenure-run-${process.pid}-${process.hrtime.bigint().toString(36)}`));
    try {
      mkdirSync(made.path);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new Error(code === 'ENOENT' ? `there is no ${parent}` : `this user may make no cgroup in ${parent} (${code})`, {
        cause: error,
      });
    }
    // Linux has it since 5.14. In a folder that is no cgroup there is none either.
    if (existsSync(made.#file('cgroup.kill'))) return made;
    made.remove();
    throw new Error(`${parent} is no cgroup of version 2 that can be killed as one`);
  }

  /** A new cgroup with a process in it; processes that this one starts from now on are in it too. Throws as `below` does. */
  static around(pid: number, parent?: string): Cgroup {
    const made = Cgroup.below(parent);
    try {
      writeFileSync(made.#file('cgroup.procs'), String(pid));
      return made;
    } catch (error) {
      made.remove();
      throw error;
    }
  }

  /** Kills every process in it, and processes that are being born. */
  kill(): void {
    try {
      writeFileSync(this.#file('cgroup.kill'), '1');
    } catch {
      // It was removed, which is done only when no process is left.
    }
  }

  /** Whether a process in it, or in a cgroup below it, is alive. Dead processes that were not reaped do not count. */
  get isPopulated(): boolean {
    return /^populated 1$/m.test(this.#read('cgroup.events'));
  }

  pids(): number[] {
    const own = this.#read('cgroup.procs').split('\n').filter(Boolean).map(Number);
    return [...own, ...this.#below().flatMap((inner) => inner.pids())];
  }

  /** Only when no process is left; cgroups below it go first. */
  remove(): void {
    for (const inner of this.#below()) inner.remove();
    try {
      rmdirSync(this.path);
    } catch {
      // A process is left after all, or another guard was faster.
    }
  }

  #below(): Cgroup[] {
    try {
      const entries = readdirSync(this.path, { withFileTypes: true });
      return entries.flatMap((entry) => (entry.isDirectory() ? [new Cgroup(join(this.path, entry.name))] : []));
    } catch {
      return [];
    }
  }

  #read(name: string): string {
    try {
      return readFileSync(this.#file(name), 'latin1');
    } catch {
      return '';
    }
  }

  #file(name: string): string {
    return join(this.path, name);
  }
}

/** The folder of the cgroup that this process is in. Throws where none can be seen. */
function ownCgroup(): string {
  const own = /^0::(\/.*)$/m.exec(readFileSync('/proc/self/cgroup', 'latin1'))?.[1];
  const mounts = readFileSync('/proc/self/mountinfo', 'latin1').split('\n');
  for (const mount of mounts) {
    const [, root = '', folder = ''] = /^\d+ \d+ \S+ (\S+) (\S+) .* - cgroup2 /.exec(mount) ?? [];
    if (own === undefined || folder === '' || own.startsWith('/..')) continue;
    if (root === '/') return join(folder, own);
    if (own === root || own.startsWith(`${root}/`)) return join(folder, own.slice(root.length));
  }
  throw new Error('no cgroup of version 2 is mounted');
}
