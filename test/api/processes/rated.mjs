// A member or a client in a process of its own, whose clocks may run at any rate: `node rated.mjs OPTIONS`, the options of
// `joinCell`, or of `connect` if there is no `self`, as JSON. A client takes the lease 'x' when it is ready. It tells as lines
// of JSON what becomes of it, and ends with its input.
import { connect, joinCell } from 'tenure';

/** @param {object} facts */
const say = (facts) => process.stdout.write(`${JSON.stringify(facts)}\n`);

process.stdin.resume().on('end', () => process.exit());
const options = JSON.parse(process.argv[2] ?? '{}');
const cell = 'self' in options ? await joinCell(options) : await connect(options);
cell.on('warning', ({ code, details }) => say({ kind: 'warning', code, ...details }));
cell.on('state', (state) => say({ kind: 'state', state }));
await cell.ready();
say({ kind: 'ready' });
if (!('self' in options)) {
  const { signal } = await cell.acquire('x');
  say({ kind: 'granted' });
  signal.addEventListener('abort', () => say({ kind: 'lost', message: signal.reason.message }));
}
