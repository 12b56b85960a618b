/**
 * What a message of a log costs, and whom: CPU time of each member process and of the client process for each message, how much of it the main thread takes (the rest is the engine's helpers, most
 * of it garbage collection, and LMDB's), and how often each process collects garbage. `--members N` other than 3, `--bytes N` other than 1024, `--disk` with data directories, `--seconds S` and
 * `--reps N` (the last counts: the first ones are the compiler's), `--at-once N` publishers, `--node-args='--FLAG …'` for all processes, `--json`.
 */
import { parseArgs } from 'node:util';
import { connect } from '../dist/api/index.js';
import { DurableCell } from './parts/durable-cell.mjs';
import { load, Part } from './parts/processes.mjs';

const { values } = parseArgs({
  options: {
    members: { type: 'string', default: '3' },
    bytes: { type: 'string', default: '1024' },
    disk: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '3' },
    reps: { type: 'string', default: '4' },
    'at-once': { type: 'string', default: '1024' },
    'node-args': { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
  },
});
const [count, bytes, seconds, reps, atOnce] = [values.members, values.bytes, values.seconds, values.reps, values['at-once']].map(Number);
if (![count, bytes, reps, atOnce].every((number) => Number.isInteger(number) && number > 0) || !(seconds > 0) || count > 5) {
  process.stderr.write(
    'bench:broadcast-costs: --members (at most 5), --bytes, --reps and --at-once take positive whole numbers, --seconds a positive number\n',
  );
  process.exit(64);
}
const nodeArgs = values['node-args'].split(' ').filter((word) => word !== '');

const loadBefore = load();
const cell = await DurableCell.start({ maxTerm: 2000, count, inMemory: !values.disk, nodeArgs });
const begun = await connect({ ...cell.reach, secret: cell.secret });
await begun.bootstrap({ only: 'broadcast' });
await begun.close();
const publisher = new Part('publisher.mjs', { nodeArgs });
await publisher.ask('connect', cell.reach);
const processes = [...cell.parts, /** @type {const} */ (['client', publisher])];

/** @typedef {import('./parts/costs.mjs').Costs} Costs */
/** @returns {Promise<Costs[]>} */
const ask = () => Promise.all(processes.map(([, part]) => part.ask('costs')));

let [perSecond, rows] = [
  0,
  /** @type {{ name: string, cpuUs: number, mainUs: number, pausedUs: number, full: number, young: number }[]} */ ([]),
];
for (let rep = 0; rep < reps; rep++) {
  const before = await ask();
  const began = performance.now();
  ({ perSecond } = await publisher.ask('run', { atOnce, bytes, seconds }));
  const took = (performance.now() - began) / 1000;
  const messages = perSecond * took;
  rows = (await ask()).map((after, i) => {
    const { cpuUs, mainUs, pausedUs, fullCollections, youngCollections } = /** @type {Costs} */ (before[i]);
    return {
      name: processes[i]?.[0] ?? '',
      cpuUs: (after.cpuUs - cpuUs) / messages,
      mainUs: (after.mainUs - mainUs) / messages,
      pausedUs: (after.pausedUs - pausedUs) / messages,
      full: (after.fullCollections - fullCollections) / took,
      young: (after.youngCollections - youngCollections) / took,
    };
  });
}
await publisher.stop();
await cell.stop();

const totalUs = rows.reduce((sum, { cpuUs }) => sum + cpuUs, 0);
if (values.json) {
  process.stdout.write(`${JSON.stringify({ loadBefore, count, bytes, disk: values.disk, nodeArgs, perSecond, totalUs, rows }, null, 2)}\n`);
} else {
  process.stdout.write(
    `${count} members ${values.disk ? 'on disk' : 'in memory'}, ${bytes} bytes, ${atOnce} at once: ${Math.round(perSecond)} messages a second, ${totalUs.toFixed(1)} us of CPU for each (load before ${loadBefore}, Node ${process.version})\n` +
      '             a message: CPU   main thread   paused for garbage      a second: full collections   young ones\n',
  );
  for (const { name, cpuUs, mainUs, pausedUs, full, young } of rows) {
    const cells = [`${cpuUs.toFixed(1)} us`.padStart(16), `${mainUs.toFixed(1)} us`.padStart(13), `${pausedUs.toFixed(1)} us`.padStart(20)];
    process.stdout.write(`${name.padEnd(10)} ${cells.join(' ')} ${full.toFixed(1).padStart(34)} ${young.toFixed(1).padStart(12)}\n`);
  }
}
