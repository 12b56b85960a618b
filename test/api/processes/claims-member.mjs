// A cell of one member that keeps claims, and kills itself at one point of one write: argv is its options, the point and which write it is.
import { joinCell } from '../../../dist/api/index.js';
import { CLAIMS } from '../../../dist/api/claims/kind.js';

const [options, point, which] = [JSON.parse(process.argv[2] ?? '{}'), process.argv[3], Number(process.argv[4])];
const die = () => process.kill(process.pid, 'SIGKILL');
let writes = 0;

/** @param {import('../../../dist/runtime/index.js').Disk} disk @returns {import('../../../dist/runtime/index.js').Disk} */
const deadly = (disk) => ({
  read: (key, done) => disk.read(key, done),
  erase: (key, done) => disk.erase(key, done),
  write(key, value, done) {
    const isIt = ++writes === which;
    if (isIt && point === 'before the write') die();
    disk.write(key, value, (ok, found) => {
      if (isIt && point === 'when it is flushed') die();
      done(ok, found);
      // What the core has said leaves with the end of this turn.
      if (isIt && point === 'when the answer is handed over') die();
      if (isIt && point === 'when the answer has left') setImmediate(die);
    });
    if (isIt && point === 'when it is asked for') die();
    if (isIt && point === 'while it is flushed') setImmediate(die);
  },
});
const run = CLAIMS.run.bind(CLAIMS);
Object.assign(CLAIMS, { run: (/** @type {any} */ ground) => run({ ...ground, disk: deadly(ground.disk) }) });
const cell = await joinCell(options);
setInterval(() => {}, 1_000_000);
if (process.argv[5] === 'bootstrap') await cell.bootstrap({ only: 'claims' });
process.stdout.write('up\n');
