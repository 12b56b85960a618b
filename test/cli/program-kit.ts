/** What tests of the programs that guard a command share: a command to guard, and a guard under way. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, onTestFinished } from 'vitest';
import { ACTS, machineMonoMs, type Order } from '../../src/cli/run/orders.ts';
import { ProcessGroup } from '../../src/cli/run/process-group.ts';
import { isThere } from './run-kit.ts';

export const LATER_MS = 60_000;
export const folder = mkdtempSync(join(tmpdir(), 'tenure-programs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

/** A command that writes down when it is told to stop, and goes on. */
export class Subject {
  readonly group: ProcessGroup;
  readonly #process: ChildProcess;
  readonly #file = join(folder, String(files++));

  private constructor() {
    const script = `trap 'echo told >> "$0"' TERM; echo ready >> "$0"; while :; do sleep 0.02; done`;
    writeFileSync(this.#file, '');
    this.#process = spawn('sh', ['-c', script, this.#file], { detached: true, stdio: 'ignore' });
    // Group 0 would be our own.
    if (this.#process.pid === undefined) throw new Error('sh cannot be started');
    this.group = new ProcessGroup(this.#process.pid);
    onTestFinished(() => void this.group.signal('SIGKILL'));
  }

  static async start(): Promise<Subject> {
    const subject = new Subject();
    while (subject.told.length === 0) await sleep(5);
    return subject;
  }

  get told(): string[] {
    return readFileSync(this.#file, 'utf8').split('\n').slice(0, -1);
  }

  get isThere(): boolean {
    return isThere(this.group.id);
  }

  order(changes: Partial<Order> = {}): Order {
    return {
      number: 1,
      group: this.group.id,
      born: this.group.born,
      cgroup: null,
      killAtMonoMs: machineMonoMs() + LATER_MS,
      killAtWallMs: Date.now() + LATER_MS,
      graceMs: 100,
      signal: 'SIGTERM',
      isTold: false,
      ...changes,
    };
  }
}

/** A guard under way, and what it has answered. */
export class Program {
  readonly process: ChildProcess;
  readonly ended: Promise<number | null>;
  #answers = '';

  constructor(started: ChildProcess) {
    this.process = started;
    started.stdout?.on('data', (text: Buffer) => (this.#answers += text.toString()));
    this.ended = once(started, 'exit').then(([code]) => code as number | null);
    onTestFinished(() => void started.kill('SIGKILL'));
  }

  async answers(number: number): Promise<void> {
    while (!this.#answers.split('\n').includes(String(number))) {
      if (this.process.exitCode !== null) throw new Error(`it ended with ${this.process.exitCode} and has not answered ${number}`);
      await sleep(5);
    }
  }

  /** Whether it has said that it acts. */
  get acts(): boolean {
    return this.#answers.split('\n').includes(ACTS);
  }
}
