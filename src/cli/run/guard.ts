/**
 * The side of `tenure run` of one of its guards: starts the process, hands it orders, and sees to it that a guard is always there.
 * A guard that died is started anew, a guard that is stopped or stuck is replaced. Which program it is, its kind says.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { TenureError } from '../../kernel/index.ts';
import { ACTS, FIRED, type Order } from './orders.ts';

/** So many starts in a row that came to nothing are too many. */
const STARTS_MAX = 5;
const RESTART_MS = 50;
/** A guard that is told to go and does not is stopped or stuck. */
const FAREWELL_MS = 500;

/** A program that can guard a command. On standard output it answers each order with its number, and says when it acts. */
export interface GuardKind {
  readonly name: string;
  /** It knows its order from birth: there is no instant without a guard that knows. `start` counts from 1, anew whenever one has answered. */
  start(order: Order, start: number): ChildProcess;
  /** A later order as it reads it, on standard input. */
  line(order: Order): string;
  /** What sends it away, with the end of its input; null if it is killed instead. */
  readonly farewell: string | null;
}

export interface GuardEvents {
  /** Another guard has taken the place of a guard that died or was stuck. */
  onReplaced(): void;
  /** It tells the command to stop, or kills it. */
  onActs(): void;
  /** There is none, and none can be started. */
  onHopeless(error: TenureError): void;
}

export class Guard {
  readonly #kind: GuardKind;
  readonly #events: GuardEvents;
  #process: ChildProcess | null = null;
  #order: Order;
  #answered = 0;
  /** Starts since one last answered. */
  #starts = 0;
  #patience: NodeJS.Timeout | undefined;
  #isDismissed = false;
  #failure: TenureError | null = null;

  constructor(kind: GuardKind, order: Order, patienceMs: number, events: GuardEvents) {
    this.#kind = kind;
    this.#order = order;
    this.#events = events;
    this.#start();
    this.#expectAnswer(patienceMs);
  }

  /** Its standard input; null while there is no process to read it. */
  get input(): Socket | null {
    return (this.#process as unknown as { stdin?: Socket } | null)?.stdin ?? null;
  }

  /** Resolves when there is one, though it may still be loading, or when none can be started. */
  async present(): Promise<void> {
    while (!this.#failure && !this.#isDismissed && this.#process?.pid === undefined) await sleep(RESTART_MS);
  }

  /** Replaces its order. If the guard is gone just now, the next guard gets this order at birth. */
  giveOrder(order: Order, patienceMs: number): void {
    this.#order = order;
    this.input?.write(`${this.#kind.line(order)}\n`);
    this.#expectAnswer(patienceMs);
  }

  /** Starts another in the place of this guard, which goes only then: we may be stopped in between, and no guard would be there. */
  replace(): void {
    if (this.#isDismissed || this.#failure) return;
    const replaced = this.#process;
    this.#process = null;
    this.#startIfNone();
    replaced?.kill('SIGKILL');
  }

  /**
   * Nothing is left to guard. It goes, be it still loading, and is seen to its grave: where no process reaps orphans, as
   * in many containers, it would stay in the list of processes for ever.
   */
  async dismiss(): Promise<void> {
    this.#isDismissed = true;
    clearTimeout(this.#patience);
    const dismissed = this.#process;
    if (dismissed?.pid === undefined || dismissed.exitCode !== null || dismissed.signalCode !== null) return;
    const gone = once(dismissed, 'exit');
    dismissed.ref();
    if (this.#kind.farewell === null) dismissed.kill('SIGKILL');
    else this.input?.end(this.#kind.farewell);
    const stuck = setTimeout(() => dismissed.kill('SIGKILL'), FAREWELL_MS);
    await gone;
    clearTimeout(stuck);
  }

  #start(): void {
    this.#starts++;
    let started: ChildProcess;
    try {
      started = this.#kind.start(this.#order, this.#starts);
    } catch {
      this.#failed();
      return;
    }
    this.#process = started;
    started.unref();
    started.once('error', () => this.#gone(started, null));
    started.once('exit', (code) => this.#gone(started, code));
    // Where descriptors have run out, there are no streams.
    const { stdin, stdout } = started as unknown as { stdin?: Socket; stdout?: Socket };
    stdin?.on('error', () => {}).unref();
    let unread = '';
    stdout?.unref().on('data', (text: Buffer) => {
      const lines = (unread + text.toString()).split('\n');
      unread = lines.pop() ?? '';
      for (const line of lines) this.#hear(line, started);
    });
  }

  #hear(line: string, from: ChildProcess): void {
    // Also of a guard that was replaced just now: it may have been slow, not stuck.
    if (line === ACTS) this.#events.onActs();
    else if (this.#process === from) {
      this.#answered = Math.max(this.#answered, Number(line));
      this.#starts = 0;
    }
  }

  #gone(which: ChildProcess, code: number | null): void {
    if (this.#isDismissed || this.#process !== which) return;
    this.#process = null;
    // It has said so, and its work is done.
    if (code !== FIRED) this.#failed();
  }

  /** Tried again, a few times. */
  #failed(): void {
    if (this.#starts >= STARTS_MAX) {
      const message = `the ${this.#kind.name} that guards the command cannot be started (tried ${STARTS_MAX} times)`;
      this.#failure = new TenureError('TENURE_INTERNAL', message);
      this.#events.onHopeless(this.#failure);
      return;
    }
    setTimeout(() => this.#startIfNone(), this.#starts > 1 ? RESTART_MS : 0);
  }

  #startIfNone(): void {
    // Two callers may want to replace the same guard. A second guard that is not told of renewals would kill at the old end.
    if (this.#isDismissed || this.#process) return;
    this.#start();
    this.#events.onReplaced();
  }

  #expectAnswer(patienceMs: number): void {
    if (this.#patience) return;
    const wanted = this.#order.number;
    const judge = (): void => {
      this.#patience = undefined;
      if (this.#isDismissed || this.#answered >= wanted) return;
      // Stopped, or stuck. A stopped guard can be killed.
      this.replace();
      this.#expectAnswer(patienceMs);
    };
    // If this process itself was stopped, the answer is here but not read yet.
    this.#patience = setTimeout(() => setImmediate(judge), patienceMs * Math.max(1, this.#starts));
    this.#patience.unref();
  }
}
