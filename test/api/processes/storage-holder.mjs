// A process that takes a lease on a store and keeps it: `node storage-holder.mjs URL NAME TERM_MS`. It says the token, and ends
// with its input.
import { openStorage } from 'tenure';

process.stdin.resume().on('end', () => process.exit());
const [url = '', name = '', term = ''] = process.argv.slice(2);
const storage = await openStorage(url);
const lease = await storage.acquire(name, { term: Number(term) });
console.log(lease.token);
