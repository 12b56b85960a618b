/**
 * A command that runs under a lease, and all it has started with it: told to stop when the lease cannot be renewed, killed
 * before it ends, by this process or, failing that, by one of its guards. It is over when no process of its group or cgroup is left.
 */
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { accessSync, constants as files } from 'node:fs';
import { constants } from 'node:os';
import type { Writable } from 'node:stream';
import { isatty } from 'node:tty';
import type { TenureError } from '../../kernel/index.ts';
import { EXIT } from '../exit-codes.ts';
import { CommandProcesses } from './command-processes.ts';
import { enclose, type CgroupWish, type Enclosure } from './enclosure.ts';
import { whyNotFound } from './find-command.ts';
import { Guards } from './guards.ts';
import { machineMonoMs, tellsBeforeMs, type Order } from './orders.ts';
import type { Plan } from './plan.ts';
import { groupsOf, ProcessGroup } from './process-group.ts';

/** The part of a lease that a command needs. */
export interface Tenancy {
  /** By both clocks, computed when asked; 0 when it is over. */
  remainingMs(): number;
}

export type CommandOutcome =
  | { readonly kind: 'ended'; readonly code: number }
  /** The lease was lost: the command was stopped, or cannot be sure to have ended in time. */
  | { readonly kind: 'lost'; readonly why: string; readonly enclosure: Enclosure | null }
  | { readonly kind: 'not-started'; readonly code: number; readonly why: string }
  | { readonly kind: 'unguarded'; readonly error: TenureError };

export interface CommandOptions {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly plan: Plan;
  /** What tells the command to stop when the lease is lost. */
  readonly onLost: NodeJS.Signals;
  readonly cgroup: CgroupWish;
}

const STDIN = 0;
const SHELL = '/bin/sh';
/**
 * Waits for a word before it becomes the command, so that the command does nothing before its guards know of it: if we are
 * killed in between, the word never comes. A shell also says 126 and 127 as shells do.
 */
const GATE = 'read -r go <&3 || exit; exec 3<&-; exec "$@"';
const CLOSE_LOOK_MS = 20;
/** Whatever a signal number is added to, as shells count. */
const BY_SIGNAL = 128;
/** A command that is asked to stop by the keyboard, and has not, is stopped after so long: in a session of its own it may not be able to. */
const STOP_AFTER_MS = 100;

/** A command not dead so long after the lease and the grace cannot be killed by us. */
const GIVE_UP_MS = 10_000;

export class GuardedCommand {
  readonly #lease: Tenancy;
  readonly #options: CommandOptions;
  #guards: Guards | null = null;
  #dismissed: Promise<unknown> | undefined;
  #processes: CommandProcesses | null = null;
  #enclosure: Enclosure | null = null;
  /** Why it is being ended. */
  #lost: string | null = null;
  #hopeless: TenureError | null = null;
  #killAtMonoMs = Infinity;
  #toldDeadlineMs = -Infinity;
  #toldIsTold = false;
  #nextOrder = 1;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(lease: Tenancy, options: CommandOptions) {
    this.#lease = lease;
    this.#options = options;
  }

  /** Runs it to its end. When this resolves, no process of it is left, and the lease may be given back. */
  async run(): Promise<CommandOutcome> {
    const { command, environment } = this.#options;
    const obstacle = whyNotFound(command[0] ?? '', environment['PATH']);
    if (obstacle) return { kind: 'not-started', ...obstacle };
    // Node opens its stream of standard error with the first socket that is destroyed, and makes it non-blocking for all processes that
    // share it. That is done before there is a command: its start undoes it.
    void process.stderr;
    try {
      const isGated = passesShell(environment);
      const stdio: StdioOptions = [isInBackground() ? 'ignore' : 'inherit', 'inherit', 'inherit', ...(isGated ? (['pipe'] as const) : [])];
      const [file = '', ...args] = isGated ? [SHELL, '-c', GATE, 'tenure', ...command] : command;
      // A session of its own: a group that can be killed as one, and no terminal that could stop it for reading.
      const child = started(() => spawn(file, args, { detached: true, stdio, env: { ...environment } }));
      if (child instanceof Error) return notStarted(child, command);
      const ended = endOf(child);
      if (child.pid !== undefined) {
        const enclosure = enclose(child.pid, this.#options.cgroup);
        this.#enclosure = enclosure;
        this.#processes = new CommandProcesses(new ProcessGroup(child.pid), enclosure.kind === 'cgroup' ? enclosure.cgroup : null);
        if (enclosure.kind === 'refused') this.#cannotGuard(enclosure.error);
        this.#look();
        await this.#guards?.present();
      }
      // Where descriptors have run out, there are no streams at all.
      const gate = (child.stdio as ChildProcess['stdio'] | undefined)?.[3] as Writable | undefined;
      gate?.on('error', () => {});
      gate?.end(this.#hopeless ? '' : 'go\n');
      const end = await ended;
      // What a guard said before it ended the command is here, but not read yet.
      await new Promise((resolve) => setImmediate(resolve));
      if (typeof end === 'object') return notStarted(end, command);
      const wasOver = this.#lease.remainingMs() <= 0;
      // If we were stopped, a guard may have told it to stop, and we are late to see why it ended.
      this.#look();
      await this.#endRest();
      return this.#outcome(end, wasOver);
    } finally {
      // Signals may still come; no process is left for them, and nothing to look after.
      this.#isOver = true;
      this.#processes?.cgroup?.remove();
      this.#processes = null;
      clearTimeout(this.#timer);
      this.#dismissed = this.#guards?.dismiss();
    }
  }

  /** Resolves when the guards are gone too; the lease need not wait for that. */
  async dismissed(): Promise<void> {
    await this.#dismissed;
  }

  #outcome(code: number, wasOver: boolean): CommandOutcome {
    if (this.#hopeless) return { kind: 'unguarded', error: this.#hopeless };
    const why = this.#lost ?? (wasOver ? 'the lease was over when the command ended' : null);
    return why === null ? { kind: 'ended', code } : { kind: 'lost', why, enclosure: this.#enclosure };
  }

  /** Passes a signal on to the whole group. */
  forward(signal: NodeJS.Signals): void {
    this.#processes?.forward(signal);
  }

  /** The keyboard's stop: the group is stopped, then this process, until the shell continues both. */
  stopWithUs(): void {
    this.forward('SIGTSTP');
    setTimeout(() => {
      if (this.#isOver) return;
      this.forward('SIGSTOP');
      process.kill(process.pid, 'SIGSTOP');
    }, STOP_AFTER_MS);
  }

  /** We were stopped, and go on: so does the command, if its time is not up. */
  continueWithUs(): void {
    this.#look();
    this.forward('SIGCONT');
  }

  /** A guard tells the command to stop in our place, or kills it. We need not tell it again. */
  #guardActs(): void {
    if (this.#killAtMonoMs === Infinity) this.#killAtMonoMs = machineMonoMs() + this.#options.plan.graceMs;
    this.#lose('the lease ran out while tenure run was stopped or stuck');
    this.#look();
  }

  /** The command is not guarded as it must be: it does not begin, or is ended at once, while we still can. */
  #cannotGuard(error: TenureError): void {
    this.#hopeless = error;
    this.#lose(error.message);
    this.#look();
  }

  /** Everything follows from what the clocks say at this moment, however late it is. */
  #look(): void {
    if (this.#isOver) return;
    clearTimeout(this.#timer);
    const { killBeforeMs, graceMs, lookMs } = this.#options.plan;
    const leftMs = this.#lease.remainingMs() - killBeforeMs;
    if (leftMs <= graceMs || this.#switchHasTold()) this.#lose('the lease could not be renewed in time');
    const killInMs = Math.min(leftMs, this.#killAtMonoMs - machineMonoMs());
    if (killInMs <= 0) this.#processes?.kill();
    else this.#tellGuards();
    const nextMs = killInMs <= 0 ? CLOSE_LOOK_MS : this.#lost === null ? Math.min(lookMs, leftMs - graceMs) : Math.min(lookMs, killInMs);
    this.#timer = setTimeout(() => this.#look(), Math.max(1, nextMs));
  }

  /**
   * Whether the switch has told the command to stop, because we were stopped ourselves. It has if the time came by the deadline it was told
   * last, though the lease was renewed when we went on.
   */
  #switchHasTold(): boolean {
    return this.#toldDeadlineMs > 0 && machineMonoMs() >= this.#toldDeadlineMs - tellsBeforeMs(this.#options.plan.graceMs);
  }

  /** From here on the command has its grace and no more, even if the lease is renewed after all. */
  #lose(why: string): void {
    if (this.#lost !== null) return;
    this.#lost = why;
    this.#tellToStop();
  }

  #tellToStop(): void {
    if (this.#killAtMonoMs !== Infinity) return;
    const { plan, onLost } = this.#options;
    this.#killAtMonoMs = machineMonoMs() + plan.graceMs;
    this.#processes?.tellToStop(onLost);
  }

  /** The command itself has ended. Processes that it left behind have its grace: none works on without the lease. */
  async #endRest(): Promise<void> {
    while (this.#processes?.isAlive === true) {
      this.#tellToStop();
      this.#look();
      if (this.#lease.remainingMs() <= 0 && this.#killAtMonoMs + GIVE_UP_MS < machineMonoMs()) return;
      await new Promise((resolve) => setTimeout(resolve, CLOSE_LOOK_MS));
    }
  }

  /** The end by both clocks, read before the lease is asked: nothing between the two makes it later than it is. */
  #tellGuards(): void {
    const { plan, onLost } = this.#options;
    if (!this.#processes) return;
    const monoMs = machineMonoMs();
    const wallMs = Date.now();
    const isTold = this.#killAtMonoMs !== Infinity;
    const untilKillMs = Math.min(this.#lease.remainingMs() - plan.guardsBeforeMs, this.#killAtMonoMs - monoMs + plan.killBeforeMs);
    // A renewal is worth a word; that the clocks are read a little later is not.
    if (monoMs + untilKillMs < this.#toldDeadlineMs + plan.lookMs && isTold === this.#toldIsTold) return;
    this.#toldDeadlineMs = monoMs + untilKillMs;
    this.#toldIsTold = isTold;
    const { group, cgroup } = this.#processes;
    const order: Order = {
      number: this.#nextOrder++,
      group: group.id,
      born: group.born,
      cgroup: cgroup?.path ?? null,
      killAtMonoMs: monoMs + untilKillMs,
      killAtWallMs: wallMs + untilKillMs,
      graceMs: plan.graceMs,
      signal: onLost,
      isTold,
    };
    if (this.#guards) this.#guards.giveOrder(order, plan.guardPatienceMs);
    else
      this.#guards = new Guards(order, plan.guardPatienceMs, {
        onActs: () => this.#guardActs(),
        onHopeless: (error) => this.#cannotGuard(error),
      });
  }
}

/** Some failures to start are thrown, others are told later. */
function started(start: () => ChildProcess): ChildProcess | Error {
  try {
    return start();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** The exit code of the command, or why there is none. */
function endOf(child: ChildProcess): Promise<number | Error> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? BY_SIGNAL + (signal ? constants.signals[signal] : 0)));
    child.once('error', resolve);
  });
}

function notStarted(error: NodeJS.ErrnoException, [word = '']: readonly string[]): CommandOutcome {
  const isMissing = error.code === 'ENOENT' || error.code === 'ENOTDIR';
  const why = `${word}: ${isMissing ? 'no such command' : error.message}`;
  return { kind: 'not-started', code: isMissing ? EXIT.notFound : EXIT.cannotRun, why };
}

/**
 * Whether the terminal belongs to others. In a session of its own the command would not be stopped for reading it, as jobs in the
 * background are: it would take input meant for the shell.
 */
function isInBackground(): boolean {
  if (!isatty(STDIN)) return false;
  const [group, foreground] = groupsOf(process.pid) ?? [];
  return foreground !== undefined && foreground > 0 && group !== foreground;
}

/** A shell drops variables whose names are no identifiers, and some images have none: then the command is started without one. */
function passesShell(environment: Readonly<Record<string, string | undefined>>): boolean {
  if (!Object.keys(environment).every((name) => /^[A-Za-z_]\w*$/.test(name))) return false;
  try {
    accessSync(SHELL, files.X_OK);
    return true;
  } catch {
    return false;
  }
}
