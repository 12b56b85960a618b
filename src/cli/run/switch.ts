/**
 * The dead-man's switch of `tenure run`, a program of its own: it kills the command's process group when the lease ends,
 * unless it was told of a later end, and when `tenure run` goes away without a word. It imports next to nothing, because
 * every `tenure run` starts one.
 */
import { writeSync } from 'node:fs';
import { FIRED, machineMonoMs, tellsBeforeMs, type Order } from './orders.ts';
import { ProcessGroup } from './process-group.ts';

/** Clocks are looked at so often: after a sleep of the machine only the wall clock tells. */
const LOOK_MS = 250;
/** While something ends, it is looked at more often. */
const CLOSE_LOOK_MS = 20;
/** What is not dead after so long cannot be killed: it hangs in the kernel, or belongs to another user. */
const GIVE_UP_MS = 10_000;

// What `ps` shows.
process.title = 'tenure switch';

let order: Order | null = null;
let group: ProcessGroup | null = null;
/** `tenure run` is gone. */
let isAbandoned = false;
/** When the command, told to stop by the switch, has had its grace. */
let graceEndsMonoMs = Infinity;
let firedMonoMs: number | null = null;
let timer: NodeJS.Timeout | undefined;
let unread = '';

// Whoever ends a whole tree of processes politely means the command. When nothing is left to guard, the switch is killed.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR1', 'SIGUSR2', 'SIGTSTP', 'SIGTTIN', 'SIGTTOU'] as const)
  process.on(signal, () => {});

const [, , known] = process.argv;
if (known !== undefined) obey(known);

process.stdin.setEncoding('utf8');
process.stdin.on('data', (text: string) => {
  const lines = (unread + text).split('\n');
  unread = lines.pop() ?? '';
  for (const line of lines) obey(line);
});
process.stdin.on('end', abandon);
process.stdin.on('error', abandon);

function obey(line: string): void {
  order = JSON.parse(line) as Order;
  if (group?.id !== order.group) group = new ProcessGroup(order.group, order.born);
  answer(order.number);
  look();
}

function answer(number: number): void {
  try {
    writeSync(1, `${number}\n`);
  } catch {
    // Nobody listens: its end is told by the input.
  }
}

function abandon(): void {
  isAbandoned = true;
  look();
}

function look(): void {
  clearTimeout(timer);
  if (!order || !group) {
    if (isAbandoned) process.exit(0);
    return;
  }
  const nowMs = machineMonoMs();
  const leftMs = Math.min(order.killAtMonoMs - nowMs, order.killAtWallMs - Date.now(), graceEndsMonoMs - nowMs);
  if (firedMonoMs !== null || leftMs <= 0) {
    fire(group, nowMs);
    return;
  }
  if (isAbandoned && !group.signal(0)) process.exit(0);
  const tellInMs = isAbandoned ? 0 : leftMs - tellsBeforeMs(order.graceMs);
  const isTold = order.isTold || graceEndsMonoMs !== Infinity;
  if (!isTold && tellInMs <= 0) {
    graceEndsMonoMs = nowMs + order.graceMs;
    group.signal(order.signal);
    // Who is stopped hears nothing until it is continued.
    group.signal('SIGCONT');
  }
  const nextMs = Math.min(leftMs, isTold || tellInMs <= 0 ? CLOSE_LOOK_MS : Math.min(tellInMs, LOOK_MS));
  timer = setTimeout(look, Math.max(1, nextMs));
}

/** Kills until nobody is left: a process that was being born may have missed the first. */
function fire(doomed: ProcessGroup, nowMs: number): void {
  firedMonoMs ??= nowMs;
  doomed.signal('SIGKILL');
  if (!doomed.isAlive || nowMs - firedMonoMs > GIVE_UP_MS) process.exit(FIRED);
  timer = setTimeout(look, CLOSE_LOOK_MS);
}
