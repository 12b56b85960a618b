/**
 * The last resort of `tenure run`: a shell that kills the command when `tenure run` and its switch are both gone without a
 * word, as after `killall -9 node`. It is no Node and knows no time: while either of the two lives, it does nothing.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { ProcessGroup } from './process-group.ts';

/**
 * Its input ends with `tenure run`; until then it is told the number of each new switch. A dead process that nobody has reaped
 * has a number still, but no program. The group is killed only if it is the one that was meant.
 */
const SCRIPT = `trap "" HUP INT QUIT TERM
group=$1 born=$2
while read -r pid; do switch=$pid; done
while [ -e "/proc/$switch/exe" ]; do sleep 1; done
if read -r line < "/proc/$group/stat"; then
  set -- \${line##*) }
  [ "\${20}" = "$born" ] || exit
fi
kill -9 -"$group"`;

export class LastResort {
  readonly #process: ChildProcess;

  /** Where the kernel does not show processes there is none: null. */
  static for(group: ProcessGroup, switchPid: number): LastResort | null {
    return group.born === null ? null : new LastResort(group.id, group.born, switchPid);
  }

  private constructor(group: number, born: string, switchPid: number) {
    const { PATH } = process.env;
    this.#process = spawn('/bin/sh', ['-c', SCRIPT, 'sh', String(group), born], {
      detached: true,
      cwd: '/',
      env: { PATH },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#process.on('error', () => {});
    this.#process.unref();
    // Where descriptors have run out, there is no stream.
    this.#stdin?.on('error', () => {}).unref();
    this.tell(switchPid);
  }

  /** Another switch has taken the place of the one before. */
  tell(switchPid: number): void {
    this.#stdin?.write(`${switchPid}\n`);
  }

  /** Nothing is left to kill. It is seen to its grave, as the switch is. */
  async dismiss(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#process;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const gone = once(this.#process, 'exit');
    this.#process.ref();
    if (this.#process.kill('SIGKILL')) await gone;
  }

  get #stdin(): Socket | undefined {
    return (this.#process as unknown as { stdin?: Socket }).stdin;
  }
}
