/**
 * A process of the command whose overlap is measured: it writes down its number and the instant, on the monotonic clock of the
 * machine, every millisecond, and listens to no signal that can be ignored. `node actor.mjs FILE`.
 */
import { openSync, writeSync } from 'node:fs';

const EVERY_MS = 1;
/** Each act overwrites the one before: a reader finds a whole one. */
const WIDTH = 24;

for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1'])) process.on(signal, () => {});
const file = openSync(process.argv[2] ?? '', 'w');
writeSync(file, `${process.pid}`.padEnd(WIDTH), WIDTH);
const act = () => {
  writeSync(file, `${process.hrtime.bigint()}`.padEnd(WIDTH), 0);
};
act();
setInterval(act, EVERY_MS);
