// Holds a lease and has nothing else to do: a timer that does not keep the process tells whether the lease does.
// Arguments: the URL of a store, and the options of `acquire` as JSON.
import { openStorage } from '../../../dist/api/index.js';

const [url = '', options = '{}'] = process.argv.slice(2);
const storage = await openStorage(url, { maxTerm: '2s' });
const lease = await storage.acquire('idle', JSON.parse(options));
console.log('acquired');
setTimeout(() => {
  console.log(lease.valid ? 'still held' : 'over');
  void lease.release();
}, 500).unref();
