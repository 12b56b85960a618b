/**
 * The side of `tenure run` of its dead-man's switch: starts the second process, hands it orders, and sees to it that one is
 * always there. A switch that died is started anew, one that is stopped or stuck is replaced.
 */
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { TenureError } from '../../kernel/index.ts';
import { FIRED, type Order } from './orders.ts';

/** Little memory, few threads: it only waits. */
const FRUGAL = ['--max-old-space-size=32', '--max-semi-space-size=1', '--v8-pool-size=1'];
/** So many starts in a row that came to nothing are too many. */
const STARTS_MAX = 5;
const RESTART_MS = 50;

export interface SwitchEvents {
  /** There is one, or another. */
  onStarted(pid: number): void;
  /** It had to kill the command. */
  onFired(): void;
  /** There is none, and none can be started: the command must not go on unguarded. */
  onHopeless(error: TenureError): void;
}

export class DeadMansSwitch {
  readonly #events: SwitchEvents;
  #process: ChildProcess | null = null;
  #order: Order | null = null;
  #nextNumber = 1;
  #answered = 0;
  /** Starts since one last answered. */
  #starts = 0;
  #patience: NodeJS.Timeout | undefined;
  #isDismissed = false;
  #failure: TenureError | null = null;

  /** Starts it. While it loads, it can be told things already. */
  constructor(events: SwitchEvents) {
    this.#events = events;
    this.#start();
  }

  /** There is none, and none can be started. */
  get failure(): TenureError | null {
    return this.#failure;
  }

  /**
   * Replaces what it was told before. Resolves when the order has left this process: it will be obeyed even if this process
   * is killed the next moment and the switch is still being loaded.
   */
  async tell(order: Omit<Order, 'number'>, patienceMs: number): Promise<void> {
    const next = { ...order, number: this.#nextNumber++ };
    this.#order = next;
    // One that came to nothing is being started anew, and is told the newest order first.
    while (this.#order === next && !this.#failure && !this.#isDismissed && !(await this.#hand(next))) await sleep(RESTART_MS);
    this.#expectAnswer(patienceMs);
  }

  /**
   * Nothing is left to guard. It is killed, be it still loading, and seen to its grave: where nobody looks after orphans, as
   * in many containers, it would stay in the list of processes for ever.
   */
  async dismiss(): Promise<void> {
    this.#isDismissed = true;
    clearTimeout(this.#patience);
    const dismissed = this.#process;
    if (!dismissed || dismissed.exitCode !== null || dismissed.signalCode !== null) return;
    const gone = once(dismissed, 'exit');
    dismissed.ref();
    if (dismissed.kill('SIGKILL')) await gone;
  }

  #start(): void {
    this.#starts++;
    const program = fileURLToPath(new URL('./switch.js', import.meta.url));
    // A session of its own: what is meant for our group, or comes from the keyboard, is not meant for it. No settings of
    // the user's Node, and no folder that it would keep busy.
    const { NODE_OPTIONS: _, ...env } = process.env;
    const options = { detached: true, cwd: '/', env, stdio: ['pipe', 'pipe', 'ignore'] } satisfies SpawnOptions;
    let started: ChildProcess;
    try {
      // One that takes the place of another knows its order from birth: there is no instant in which nobody does.
      const order = this.#order ? [JSON.stringify(this.#order)] : [];
      started = spawn(process.execPath, [...FRUGAL, program, ...order], options);
    } catch {
      this.#failed();
      return;
    }
    this.#process = started;
    if (started.pid !== undefined) this.#events.onStarted(started.pid);
    started.unref();
    started.once('error', () => this.#gone(started, null));
    started.once('exit', (code) => this.#gone(started, code));
    // Where descriptors have run out, there are no streams.
    const { stdin, stdout } = started as unknown as { stdin?: Socket; stdout?: Socket };
    stdin?.on('error', () => {}).unref();
    stdout?.unref().on('data', (text: Buffer) => {
      if (this.#process !== started) return;
      this.#answered = Math.max(this.#answered, Number(text.toString().trim().split('\n').at(-1)));
      this.#starts = 0;
    });
  }

  #gone(which: ChildProcess, code: number | null): void {
    if (this.#isDismissed || this.#process !== which) return;
    this.#process = null;
    if (code === FIRED) {
      this.#events.onFired();
      return;
    }
    this.#failed();
  }

  /** Tried again, a few times. */
  #failed(): void {
    if (this.#starts >= STARTS_MAX) {
      const message = `the process that guards the command cannot be started (${process.execPath}, tried ${STARTS_MAX} times)`;
      this.#failure = new TenureError('TENURE_INTERNAL', message);
      this.#events.onHopeless(this.#failure);
      return;
    }
    setTimeout(() => this.#replace(), this.#starts > 1 ? RESTART_MS : 0);
  }

  #replace(): void {
    // Two may want to replace the same one. A second switch that nobody tells of renewals would kill at the old end.
    if (this.#isDismissed || this.#process) return;
    this.#start();
  }

  /** Whether the order has left this process, to one that is there to read it. */
  #hand(order: Order): Promise<boolean> {
    const told = this.#process;
    if (told?.pid === undefined || !told.stdin) return Promise.resolve(false);
    const { stdin } = told;
    return new Promise((resolve) => stdin.write(`${JSON.stringify(order)}\n`, (error) => resolve(!error)));
  }

  #expectAnswer(patienceMs: number): void {
    if (this.#patience) return;
    const wanted = this.#nextNumber - 1;
    const judge = (): void => {
      this.#patience = undefined;
      if (this.#isDismissed) return;
      if (this.#answered >= wanted) return;
      // Stopped, or stuck. What is stopped can be killed.
      const stuck = this.#process;
      this.#process = null;
      stuck?.kill('SIGKILL');
      this.#replace();
      this.#expectAnswer(patienceMs);
    };
    // If it was us who were stopped, the answer is here but not read yet.
    this.#patience = setTimeout(() => setImmediate(judge), patienceMs * Math.max(1, this.#starts));
    this.#patience.unref();
  }
}
