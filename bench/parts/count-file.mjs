/** The plain file that is counted in: the count, and the last increments. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/** The size of the file. It is written whole, by one call that a kill does not tear. */
const FILE_BYTES = 1024;
/** How many of the last increments the file names: whoever is killed has counted if it is named. */
const NAMED = 32;

/** @param {string} file @returns {{ count: number, ids: string[] }} */
export function readCount(file) {
  const [count = '0', ...ids] = readFileSync(file, 'utf8').trim().split(' ');
  return { count: Number(count), ids };
}

/** @param {string} file @param {number} count @param {readonly string[]} ids */
export function writeCount(file, count, ids) {
  const text = [count, ...ids.slice(0, NAMED)].join(' ').padEnd(FILE_BYTES - 1);
  const descriptor = openSync(file, count === 0 ? 'w' : 'r+');
  writeSync(descriptor, `${text}\n`, 0);
  closeSync(descriptor);
}
