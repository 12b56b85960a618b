/** Two locks at once: money moves between accounts, each under a lease, and no two transfers wait for each other in a circle. */
import { connect, type Cell } from 'tenure';
import { threeMembers } from './three-members.js';

const { options, close } = await threeMembers();
const balances = new Map([
  ['alice', 100],
  ['bob', 100],
]);

async function transfer(cell: Cell, from: string, to: string, amount: number): Promise<void> {
  // All or none. They are taken in one order everywhere, whichever way the money goes.
  const leases = await cell.acquireAll([`account/${from}`, `account/${to}`], { wait: '10s' });
  try {
    const [source, target] = [balances.get(from) ?? 0, balances.get(to) ?? 0];
    await new Promise((resolve) => setTimeout(resolve, 1)); // read, think, write: without the leases others would come between
    for (const lease of leases) lease.signal.throwIfAborted();
    balances.set(from, source - amount);
    balances.set(to, target + amount);
  } finally {
    await Promise.all(leases.map((lease) => lease.release()));
  }
}

const [one, two] = await Promise.all([connect(options), connect(options)]);
const transfers: Promise<void>[] = [];
for (let i = 0; i < 10; i++) transfers.push(transfer(one, 'alice', 'bob', 7), transfer(two, 'bob', 'alice', 5));
await Promise.all(transfers);
console.log([...balances].map(([who, balance]) => `${who} ${balance}`).join(', '));

await Promise.all([one.close(), two.close()]);
await close();
