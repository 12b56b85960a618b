// Raises a counter in a store by swaps until it is killed. Each try is told before it is made, and what came of it after, on
// lines of their own: `try N`, `won N`, `lost`, `unknown`. Started with the URL's path and who it is.
import { writeSync } from 'node:fs';
import { FileStore } from '../../../dist/store/index.js';

const [path = '', self = ''] = process.argv.slice(2);
const store = await FileStore.open({ path, create: 'never' });

/** @param {string} line */
const say = (line) => void writeSync(1, `${line}\n`);

for (let attempt = 1; ; attempt++) {
  const seen = await store.read('counter');
  /** @type {{ count: number, landed: Record<string, number> }} */
  const { count, landed } = seen === null ? { count: 0, landed: {} } : JSON.parse(Buffer.from(seen).toString());
  const next = Buffer.from(
    JSON.stringify({ count: count + 1, landed: { ...landed, [self]: (landed[self] ?? 0) + 1 }, by: `${self} ${attempt}` }),
  );
  say(`try ${attempt}`);
  say(`${await store.swap('counter', seen, next)} ${attempt}`);
}
