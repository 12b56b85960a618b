/** One of many processes that propose a value for the same keys: prints what was decided, key by key, until it is killed or done. */
import { openStorage } from '../../dist/api/index.js';

const [url = '', own = '', ...keys] = process.argv.slice(2);
const storage = await openStorage(url);
for (const key of keys) process.stdout.write(`${key} ${Buffer.from(await storage.decide(key, `${own}/${key}`)).toString()}\n`);
await storage.close();
