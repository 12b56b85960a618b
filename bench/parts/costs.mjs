/** What a process has cost so far: CPU time of all its threads and of its main thread, and what its garbage collector did. Collections are counted from the first question on: counting them costs something, too. */
import { readFileSync } from 'node:fs';
import { constants, PerformanceObserver } from 'node:perf_hooks';

const CLOCK_TICK_US = 10_000;
/** Fields of `/proc/self/task/…/stat` after the name in brackets: user and system time, in ticks. */
const USER_FIELD = 11;
const SYSTEM_FIELD = 12;

let [fullCollections, youngCollections, pausedUs, isCounting] = [0, 0, 0, false];
const observer = new PerformanceObserver((list) => {
  for (const { duration, detail } of list.getEntries()) {
    const { kind } = /** @type {{ kind: number }} */ (detail);
    if (kind === constants.NODE_PERFORMANCE_GC_MAJOR) fullCollections++;
    if (kind === constants.NODE_PERFORMANCE_GC_MINOR) youngCollections++;
    pausedUs += duration * 1000;
  }
});

/** @typedef {{ cpuUs: number, mainUs: number, fullCollections: number, youngCollections: number, pausedUs: number }} Costs */
/** `mainUs` is 0 where the system does not tell of threads. @returns {Costs} */
export function costs() {
  if (!isCounting) observer.observe({ entryTypes: ['gc'] });
  isCounting = true;
  const { user, system } = process.cpuUsage();
  return { cpuUs: user + system, mainUs: mainThreadUs(), fullCollections, youngCollections, pausedUs };
}

function mainThreadUs() {
  let text;
  try {
    text = readFileSync(`/proc/self/task/${process.pid}/stat`, 'utf8');
  } catch {
    return 0;
  }
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[USER_FIELD]) + Number(fields[SYSTEM_FIELD])) * CLOCK_TICK_US;
}
