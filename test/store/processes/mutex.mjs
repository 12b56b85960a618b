// Creates a key, raises a number in a plain file, and erases the key, so many times. Only one process may be between the two.
import { readFileSync, writeFileSync } from 'node:fs';
import { FileStore } from '../../../dist/store/index.js';

const [path = '', plain = '', self = '', rounds = ''] = process.argv.slice(2);
const store = await FileStore.open({ path, create: 'never' });

for (let round = 0; round < Number(rounds); round++) {
  const mine = Buffer.from(`${self} ${round}`);
  /** Whether the key is ours now; what nobody knows is found out by reading. */
  const isOurs = async () => {
    const outcome = await store.swap('mutex', null, mine);
    return outcome === 'won' || (outcome === 'unknown' && mine.equals((await store.read('mutex')) ?? Buffer.alloc(0)));
  };
  while (!(await isOurs())) await new Promise((resolve) => setTimeout(resolve, 1));
  const before = Number(readFileSync(plain, 'utf8'));
  await new Promise((resolve) => setImmediate(resolve));
  writeFileSync(plain, String(before + 1));
  const erased = await store.swap('mutex', mine, null);
  if (erased === 'lost') throw new Error(`${self} had the key, and somebody else took it`);
}
