/** A job that exactly one of several replicas runs: the first to get the lease does it, the others see that it was done. */
import { connect, type Cell } from 'tenure';
import { threeMembers } from './three-members.js';

const { options, close } = await threeMembers();
const replicas = await Promise.all(['one', 'two', 'three'].map((name) => connect({ ...options, name })));

/** What the job leaves behind: in real life a row in a database, a file in a bucket. */
const reports = new Map<string, string>();

async function nightly(replica: Cell, who: string, day: string): Promise<void> {
  // Waits for its turn; the lease renews itself while the work goes on.
  await replica.using(`reports/${day}`, async (lease) => {
    if (reports.has(day)) return;
    const report = await makeReport(day, lease.signal); // the signal aborts before the lease could become another's
    lease.signal.throwIfAborted();
    reports.set(day, report);
    console.log(`${who} made the report of ${day}`);
  });
}

async function makeReport(day: string, signal: AbortSignal): Promise<string> {
  await new Promise((resolve) => setTimeout(resolve, 50));
  signal.throwIfAborted();
  return `all is well on ${day}`;
}

await Promise.all(replicas.map((replica, i) => nightly(replica, `replica ${i + 1}`, '2030-01-01')));
console.log(`${reports.size} report`);

await Promise.all(replicas.map((replica) => replica.close()));
await close();
