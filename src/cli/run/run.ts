/**
 * `tenure run`, from the flags to the exit code: finds the cell or the store, waits for the lease, runs the command
 * under it and gives the lease back. Signals go to the command once there is one; before, they end the waiting.
 */
import { writeSync } from 'node:fs';
import { constants } from 'node:os';
import type { Lease } from '../../api/index.ts';
import { TenureError, type LeaseMode } from '../../kernel/index.ts';
import type { CellFlags } from '../config.ts';
import { connectLimit } from '../connection.ts';
import { EXIT, exitCodeOf } from '../exit-codes.ts';
import { handOver } from '../hand-over.ts';
import { openLeases } from '../leases.ts';
import type { OpenedLeases } from '../opened-leases.ts';
import { checkTerm } from '../term.ts';
import { whoAmI } from '../who-am-i.ts';
import type { CgroupWish } from './enclosure.ts';
import { GuardedCommand, type CommandOutcome } from './guarded-command.ts';
import { planFor, type Plan } from './plan.ts';
import { namingHolder, whoHas } from '../who-has.ts';
import { WaitingNote } from './waiting.ts';

/** What the command line said, read and found sound. */
export interface RunOptions {
  readonly flags: CellFlags;
  readonly name: string;
  readonly command: readonly string[];
  /** Not to wait at all, if it is 0; without it, as long as it takes. */
  readonly waitMs: number | undefined;
  readonly termMs: number | undefined;
  /** Exclusive unless told otherwise. */
  readonly mode?: LeaseMode;
  readonly slots?: number | undefined;
  readonly graceMs: number | undefined;
  readonly onLost: NodeJS.Signals;
  readonly cgroup: CgroupWish;
  readonly conflictCode: number;
  readonly json: boolean;
  /** It goes to the next in line, where the engine can. */
  readonly handsOver?: boolean;
  /** What the holder says of itself; user, host and process id unless told otherwise. */
  readonly value?: string | undefined;
  /** How it ended, for a caller that goes on after a loss: an exit code of 73 may be the command's own. */
  readonly onOutcome?: (outcome: CommandOutcome) => void;
}

const STDERR = 2;
const BY_SIGNAL = 128;
/** Passed on as they are. The keyboard's stop and what undoes it have a treatment of their own. */
const PASSED_ON = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const;
/** These end the waiting; the others mean nothing to a waiting process. */
const ENDS_WAITING: ReadonlySet<string> = new Set(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT']);

/** Answers with the exit code. Throws `TenureError` for all that went wrong before there was a command. */
export async function runUnderLease(options: RunOptions): Promise<number> {
  const signals = new Signals();
  let leases: OpenedLeases | undefined;
  try {
    const startedMs = performance.now();
    const holder = options.value ?? whoAmI();
    leases = await openLeases(connectFlags(options), { signal: signals.endsWaiting, name: holder });
    const plan = planOf(leases, options);
    const lease = await take(leases, options, holder, signals.endsWaiting, performance.now() - startedMs);
    if (!lease) return options.conflictCode;
    const command = new GuardedCommand(lease, {
      command: options.command,
      environment: environmentFor(lease, holder),
      plan,
      onLost: options.onLost,
      cgroup: options.cgroup,
    });
    signals.command = command;
    const outcome = await command.run();
    signals.command = null;
    await Promise.all([giveUp(lease, options), command.dismissed()]);
    options.onOutcome?.(outcome);
    return exitCodeAfter(outcome, options);
  } catch (error) {
    if (signals.endsWaiting.aborted && error === signals.endsWaiting.reason) return signals.exitCode;
    throw error;
  } finally {
    await leases?.client.close();
    signals.ignore();
  }
}

async function giveUp(lease: Lease, { handsOver }: RunOptions): Promise<void> {
  if (!handsOver || !lease.valid || !(await handOver(lease))) await lease.release();
}

/** A user that waits only a little does not look for the place any longer. */
function connectFlags({ flags, waitMs }: RunOptions): CellFlags {
  if (waitMs === undefined || waitMs === 0) return flags;
  return { ...flags, connectTimeout: `${Math.max(1, Math.min(connectLimit(flags).ms, waitMs))}ms` };
}

function planOf(leases: OpenedLeases, { termMs, graceMs }: RunOptions): Plan {
  checkTerm(termMs, leases);
  return planFor(termMs ?? leases.maxTermMs, graceMs);
}

/** The lease, or undefined if another has it and we do not wait. */
async function take(
  { client, cutOff }: OpenedLeases,
  options: RunOptions,
  holder: string,
  signal: AbortSignal,
  passedMs: number,
): Promise<Lease | undefined> {
  const { name, waitMs, termMs, mode = 'exclusive', slots } = options;
  const how = { ...(termMs === undefined ? {} : { term: termMs }), ...(slots === undefined ? {} : { slots }) };
  const terms = { meta: holder, signal, mode, ...how };
  if (waitMs === 0) {
    const taken = await client.tryAcquire(name, terms);
    if (taken.ok) return taken.lease;
    const why =
      taken.reason === 'held' ? await whoHas(client, name) : `others ${taken.reason === 'queued' ? 'wait for it' : 'want it too'}`;
    say(options, { event: 'conflict', code: 'TENURE_HELD' }, `'${name}' is taken: ${why}`);
    return undefined;
  }
  const note = new WaitingNote(client, name);
  try {
    return await client.acquire(name, waitMs === undefined ? terms : { ...terms, wait: Math.max(1, waitMs - passedMs) });
  } catch (error) {
    // That no member or store answers is another matter than that another process has it.
    if (error instanceof TenureError && error.code === 'TENURE_WAIT_TIMEOUT')
      throw (await cutOff(name)) ?? (await namingHolder(error, client, name));
    throw error;
  } finally {
    note.clear();
  }
}

/** What the command may want to know. The deadline is the first grant's: renewals move it on. */
function environmentFor(lease: Lease, holder: string): Record<string, string | undefined> {
  return {
    ...process.env,
    TENURE_NAME: lease.name,
    TENURE_TOKEN: String(lease.token),
    TENURE_HOLDER: holder,
    ...(lease.slot === undefined ? {} : { TENURE_SLOT: String(lease.slot) }),
    TENURE_DEADLINE: String(Math.floor(Date.now() + lease.remainingMs())),
  };
}

function exitCodeAfter(outcome: CommandOutcome, options: RunOptions): number {
  if (outcome.kind === 'ended') return outcome.code;
  if (outcome.kind === 'lost') {
    say(options, { event: 'lost', code: 'TENURE_LEASE_LOST' }, `${outcome.why}; ${whatIsLeft(outcome)} (TENURE_LEASE_LOST)`);
    return EXIT.leaseLost;
  }
  if (outcome.kind === 'not-started') {
    say(options, { event: 'not-started' }, outcome.why);
    return outcome.code;
  }
  say(options, { event: 'unguarded', code: outcome.error.code }, outcome.error.message);
  return exitCodeOf(outcome.error);
}

/** Where there is no cgroup, it cannot be told which processes have left the process group. */
function whatIsLeft({ enclosure }: Extract<CommandOutcome, { kind: 'lost' }>): string {
  if (enclosure?.kind !== 'none') return 'nothing of the command is left';
  return `nobody of its process group is left, and whoever left the group is out of reach without a cgroup (${enclosure.why})`;
}

/** Straight to the descriptor: a stream of Node's would make it non-blocking for the command too. */
function say({ json, name }: RunOptions, facts: Record<string, string>, message: string): void {
  try {
    writeSync(STDERR, json ? `${JSON.stringify({ ...facts, name, message })}\n` : `tenure: ${message}\n`);
  } catch {
    // Standard error has no reader; the exit code says it too.
  }
}

/** Every signal that comes, and where it goes. */
class Signals {
  command: GuardedCommand | null = null;
  readonly #controller = new AbortController();
  #first: NodeJS.Signals | null = null;
  readonly #handlers = new Map<NodeJS.Signals, () => void>([
    ...PASSED_ON.map((signal) => [signal, () => this.#take(signal)] as const),
    ['SIGTSTP', () => this.#stop()],
    ['SIGCONT', () => this.command?.continueWithUs()],
  ]);

  constructor() {
    for (const [signal, handler] of this.#handlers) process.on(signal, handler);
  }

  get endsWaiting(): AbortSignal {
    return this.#controller.signal;
  }

  get exitCode(): number {
    return BY_SIGNAL + (this.#first ? constants.signals[this.#first] : 0);
  }

  ignore(): void {
    for (const [signal, handler] of this.#handlers) process.off(signal, handler);
  }

  #take(signal: NodeJS.Signals): void {
    if (this.command) this.command.forward(signal);
    else if (ENDS_WAITING.has(signal)) {
      this.#first ??= signal;
      this.#controller.abort(new Error(`ended by ${signal}`));
    }
  }

  #stop(): void {
    if (this.command) this.command.stopWithUs();
    else process.kill(process.pid, 'SIGSTOP');
  }
}
