// Writes to a data directory, one write after the other, and says on a file of its own when each is asked for and when it
// is said to be done, so that whoever traces this process sees what happened in between: `node data-dir-writer.mjs PATH`.
import { openSync, writeSync } from 'node:fs';
import { devNull } from 'node:os';
import { DataDir } from '../../../dist/runtime/index.js';

const WRITES = 3;
const marks = openSync(devNull, 'w');
const dir = await DataDir.open({ path: process.argv[2] ?? '', cell: 'test', member: 'a', incarnation: /** @type {any} */ (process.pid) });
for (let i = 0; i < WRITES; i++) {
  writeSync(marks, `ASKED ${i}`);
  await new Promise((done) => dir.write(`key ${i}`, Buffer.from('value'), done));
  writeSync(marks, `TOLD ${i}`);
}
await dir.close();
