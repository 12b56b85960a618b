/**
 * A process of the command whose overlap is measured: it writes down its number and the instant, on the monotonic clock of the
 * machine, every millisecond, and listens to no signal that can be ignored. It ends when its file is gone: whatever a try has left
 * behind is over when the measurement is. `node actor.mjs FILE`.
 */
import { existsSync, openSync, writeSync } from 'node:fs';

const EVERY_MS = 1;
const LOOK_EVERY_MS = 1000;
/** Each act overwrites the one before: a reader finds a whole one. */
const WIDTH = 24;

for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1'])) process.on(signal, () => {});
const path = process.argv[2] ?? '';
const file = openSync(path, 'w');
writeSync(file, `${process.pid}`.padEnd(WIDTH), WIDTH);
const act = () => {
  writeSync(file, `${process.hrtime.bigint()}`.padEnd(WIDTH), 0);
};
act();
setInterval(act, EVERY_MS);
setInterval(() => {
  if (!existsSync(path)) process.exit();
}, LOOK_EVERY_MS);
