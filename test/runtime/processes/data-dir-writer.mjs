// Writes to a data directory, one write after the other and then many of two services in one turn, and says on a file of its own when each is asked for and when it
// is said to be done, so that whoever traces this process sees what happened in between: `node data-dir-writer.mjs PATH`.
import { openSync, writeSync } from 'node:fs';
import { devNull } from 'node:os';
import { DataDir } from '../../../dist/runtime/index.js';

const WRITES = 3;
const TOGETHER = 100;
const marks = openSync(devNull, 'w');
const incarnation = /** @type {any} */ (process.pid);
const dir = await DataDir.open({ path: process.argv[2] ?? '', cell: 'test', member: 'a', incarnation, sections: ['notes'] });
for (let i = 0; i < WRITES; i++) {
  writeSync(marks, `ASKED ${i}`);
  await new Promise((done) => dir.write(`key ${i}`, Buffer.from('value'), done));
  writeSync(marks, `TOLD ${i}`);
}
writeSync(marks, 'ASKED MANY');
const disks = [dir, dir.section('notes').disk];
const keys = Array.from({ length: TOGETHER }, (_, i) => `key ${i}`);
await Promise.all(keys.flatMap((key) => disks.map((disk) => new Promise((done) => disk.write(key, Buffer.from('value'), done)))));
writeSync(marks, 'TOLD MANY');
await dir.close();
