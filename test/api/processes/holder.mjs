// A client that takes a lease and keeps it: `node holder.mjs OPTIONS NAME TERM_MS`, the options of `connect` as JSON. It
// says the token, and ends with its input.
import { connect } from 'tenure';

process.stdin.resume().on('end', () => process.exit());
const [options = '{}', name = '', term = ''] = process.argv.slice(2);
const cell = await connect(JSON.parse(options));
const lease = await cell.acquire(name, { term: Number(term) });
console.log(lease.token);
