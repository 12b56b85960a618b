// A member whose wall clock is off by so many milliseconds: `node skewed.mjs OPTIONS OFFSET_MS`, the options of `joinCell` as
// JSON. It takes commands on its input, a line each, and answers with JSON. Times are those of the machine's own
// monotonic clock, which all processes share.
import { createInterface } from 'node:readline';

const offsetMs = Number(process.argv[3]);
const { now } = Date;
Date.now = () => now() + offsetMs;
const { joinCell } = await import('tenure');

const machineMs = () => Number(process.hrtime.bigint()) / 1e6;
const say = (thing) => console.log(JSON.stringify(thing));

const cell = await joinCell(JSON.parse(process.argv[2] ?? '{}'));
cell.on('warning', ({ code, message }) => say({ kind: 'warning', code, message }));
await cell.ready();
say({ kind: 'ready' });

/** What a killed holder believed last: it says so again and again. */
function tellDeadline(lease) {
  say({ kind: 'deadline', untilMs: machineMs() + lease.remainingMs() });
  setTimeout(tellDeadline, 10, lease);
}

const ACTS = {
  async acquire() {
    const lease = await cell.acquire('x');
    say({ kind: 'granted', atMs: machineMs(), token: lease.token });
    tellDeadline(lease);
  },
  async try() {
    const refused = (error) => say({ kind: 'refused', code: error.code, message: error.message, details: error.details });
    await cell.tryAcquire('x').then((answer) => say({ kind: 'tried', ok: answer.ok }), refused);
  },
};

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => void ACTS[line]());
lines.on('close', () => process.exit());
