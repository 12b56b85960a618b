/**
 * The dead-man's switch of `tenure run`, a program of its own: it kills the command when the lease ends,
 * unless it was told of a later end, and when `tenure run` goes away without a word. It imports next to nothing, because
 * every `tenure run` starts one.
 */
import { writeSync } from 'node:fs';
import { Cgroup } from './cgroup.ts';
import { CommandProcesses } from './command-processes.ts';
import { ACTS, FIRED, machineMonoMs, tellsBeforeMs, type Order } from './orders.ts';
import { ProcessGroup } from './process-group.ts';

/** Clocks are looked at so often: after a sleep of the machine only the wall clock tells. */
const LOOK_MS = 250;
/** While something ends, it is looked at more often. */
const CLOSE_LOOK_MS = 20;
/** A process not dead after so long cannot be killed: it hangs in the kernel, or belongs to another user. */
const GIVE_UP_MS = 10_000;

// What `ps` shows.
process.title = 'tenure switch';

/** It is born with an order. */
const [, , born = ''] = process.argv;
let order = JSON.parse(born) as Order;
const command = new CommandProcesses(new ProcessGroup(order.group, order.born), order.cgroup === null ? null : new Cgroup(order.cgroup));
/** `tenure run` is gone. */
let isAbandoned = false;
/** When the command, told to stop by the switch, has had its grace. */
let graceEndsMonoMs = Infinity;
let firedMonoMs: number | null = null;
let timer: NodeJS.Timeout | undefined;
let unread = '';

// A polite signal to a whole tree of processes means the command. When nothing is left to guard, the switch is killed.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR1', 'SIGUSR2', 'SIGTSTP', 'SIGTTIN', 'SIGTTOU'] as const)
  process.on(signal, () => {});

process.stdin.setEncoding('utf8');
process.stdin.on('data', (text: string) => {
  const lines = (unread + text).split('\n');
  unread = lines.pop() ?? '';
  for (const line of lines) obey(JSON.parse(line) as Order);
  look();
});
process.stdin.on('end', abandon);
process.stdin.on('error', abandon);
obey(order);
lookIn(0);

function obey(told: Order): void {
  order = told;
  say(String(told.number));
}

function say(word: string): void {
  try {
    writeSync(1, `${word}\n`);
  } catch {
    // `tenure run` does not listen: the end of the input tells its end.
  }
}

function abandon(): void {
  isAbandoned = true;
  look();
}

/** Loading takes its time, and so does being stopped. Lines that came meanwhile are read first: later orders, above all. */
function lookIn(ms: number): void {
  clearTimeout(timer);
  timer = setTimeout(() => setImmediate(look), Math.max(1, ms));
}

function look(): void {
  const nowMs = machineMonoMs();
  const leftMs = Math.min(order.killAtMonoMs - nowMs, order.killAtWallMs - Date.now(), graceEndsMonoMs - nowMs);
  if (firedMonoMs !== null || leftMs <= 0) {
    fire(nowMs);
    return;
  }
  if (isAbandoned && !command.isThere) leave(0);
  const tellInMs = isAbandoned ? 0 : leftMs - tellsBeforeMs(order.graceMs);
  const isTold = order.isTold || graceEndsMonoMs !== Infinity;
  if (!isTold && tellInMs <= 0) {
    graceEndsMonoMs = nowMs + order.graceMs;
    say(ACTS);
    command.tellToStop(order.signal);
  }
  const nextMs = Math.min(leftMs, isTold || tellInMs <= 0 ? CLOSE_LOOK_MS : Math.min(tellInMs, LOOK_MS));
  lookIn(nextMs);
}

/** Kills until no process is left: a process that was being born may have missed the first. */
function fire(nowMs: number): void {
  if (firedMonoMs === null) say(ACTS);
  firedMonoMs ??= nowMs;
  command.kill();
  if (!command.isAlive || nowMs - firedMonoMs > GIVE_UP_MS) leave(FIRED);
  lookIn(CLOSE_LOOK_MS);
}

function leave(code: number): never {
  command.cgroup?.remove();
  process.exit(code);
}
