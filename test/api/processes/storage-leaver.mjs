// A process that takes a lease on a store, says the token and has nothing more to do: `node storage-leaver.mjs URL NAME`. It does
// not close anything.
import { openStorage } from 'tenure';

const [url = '', name = ''] = process.argv.slice(2);
const storage = await openStorage(url);
console.log((await storage.acquire(name)).token);
