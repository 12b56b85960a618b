/** The processes that a demo starts, and that none of them outlives it: neither its end nor its crash. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

export interface Child {
  readonly pid: number;
  readonly isRunning: boolean;
  signal(signal: NodeJS.Signals): void;
  /** Closes its input: contenders then give back their leases, and leave. */
  dismiss(): void;
  readonly ended: Promise<void>;
}

export class Children {
  readonly #folder: string;
  readonly #keeper: ChildProcess;
  readonly #running = new Map<number, ChildProcess>();

  constructor(folder: string, hasTerminal: boolean) {
    this.#folder = folder;
    const args = [program(), 'demo', '--part', 'keeper', '--folder', folder, ...(hasTerminal ? ['--terminal'] : [])];
    this.#keeper = spawn(process.execPath, args, {
      env: cleanEnvironment(),
      stdio: hasTerminal ? ['pipe', 'inherit', 'ignore', 0] : ['pipe', 'ignore', 'ignore'],
    });
    this.#keeper.stdin?.on('error', () => {});
    // Whatever ends this process, unless nothing of it is asked any more.
    process.on('exit', this.#onExit);
  }

  /** Starts `tenure` with these arguments and hears every line that it prints. */
  start(args: readonly string[], onLine: (line: string) => void): Child {
    const child = spawn(process.execPath, [program(), ...args], { env: cleanEnvironment(), stdio: ['pipe', 'pipe', 'ignore'] });
    const pid = child.pid ?? 0;
    this.#running.set(pid, child);
    this.#keeper.stdin?.write(`+${pid}\n`);
    child.stdin.on('error', () => {});
    createInterface({ input: child.stdout }).on('line', onLine);
    const ended = new Promise<void>((resolve) => {
      child.once('close', () => {
        this.#running.delete(pid);
        this.#keeper.stdin?.write(`-${pid}\n`);
        resolve();
      });
    });
    return {
      pid,
      get isRunning() {
        return child.exitCode === null && child.signalCode === null;
      },
      signal: (signal) => void child.kill(signal),
      dismiss: () => void child.stdin.end(),
      ended,
    };
  }

  /** Ends all that still run, removes the folder and lets the keeper go. */
  async end(): Promise<void> {
    const over = [...this.#running.values()].map((child) => once(child, 'close'));
    for (const child of this.#running.values()) child.kill('SIGKILL');
    await Promise.all(over);
    rmSync(this.#folder, { recursive: true, force: true });
    process.off('exit', this.#onExit);
    const gone = once(this.#keeper, 'exit');
    this.#keeper.stdin?.end('done\n');
    if (this.#keeper.exitCode === null) await gone;
  }

  readonly #onExit = (): void => {
    for (const child of this.#running.values()) child.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  };
}

/** This very command line. */
export function program(): string {
  return process.argv[1] ?? '';
}

/** What the user has set for a cell of their own must not lead the demo there. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TENURE_')));
}
