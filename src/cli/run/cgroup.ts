/**
 * A cgroup (version 2) of a command's own. The kernel puts everyone whom the command starts into it, also who leaves the process
 * group, and kills all of them at one word. The switch loads this file too: it imports nothing but Node's own.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export class Cgroup {
  readonly path: string;

  /** One that is there already. */
  constructor(path: string) {
    this.path = path;
  }

  /** A new one, below another or else below that of this process. Throws where that is not allowed, or the kernel is too old to kill it. */
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

  /** A new one with a process in it; whoever that starts from now on is in it too. Throws as `below` does. */
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

  /** Kills everyone in it, and whoever is being born. */
  kill(): void {
    try {
      writeFileSync(this.#file('cgroup.kill'), '1');
    } catch {
      // It was removed, which is done only when nobody is left.
    }
  }

  /** Whether anybody in it, or in one that was made below it, is alive. The dead whom nobody has reaped are not. */
  get isPopulated(): boolean {
    return /^populated 1$/m.test(this.#read('cgroup.events'));
  }

  pids(): number[] {
    const own = this.#read('cgroup.procs').split('\n').filter(Boolean).map(Number);
    return [...own, ...this.#below().flatMap((inner) => inner.pids())];
  }

  /** Only when nobody is left; those that were made below it first. */
  remove(): void {
    for (const inner of this.#below()) inner.remove();
    try {
      rmdirSync(this.path);
    } catch {
      // Somebody is left after all, or another guard was faster.
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
