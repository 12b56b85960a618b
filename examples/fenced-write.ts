/**
 * Fencing: a process that stood still for too long wakes up and writes, though its lease has long been another's.
 * No lease can prevent that; the store can, if every write carries the lease's token and the store refuses lower ones.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'tenure';
import { threeMembers } from './three-members.js';

/** Stands for a database. In SQL: UPDATE account SET balance = $1, fence = $2 WHERE id = $3 AND fence <= $2 */
class Accounts {
  readonly #rows = new Map<string, { balance: number; fence: number }>();

  write(id: string, balance: number, fence: number): boolean {
    const row = this.#rows.get(id);
    if (row && row.fence > fence) return false;
    this.#rows.set(id, { balance, fence });
    return true;
  }

  balance(id: string): number | undefined {
    return this.#rows.get(id)?.balance;
  }
}

const { options, close } = await threeMembers();
const accounts = new Accounts();

const slow = await connect(options);
const stale = await slow.acquire('account/7', { term: '500ms' });
await slow.close(); // stands for a process that does not run for a while: its lease is over, but it does not know

const quick = await connect(options);
await quick.using('account/7', async (lease) => {
  console.log(`the new holder writes: ${accounts.write('account/7', 100, lease.token)}`);
  await sleep(10);
});

// The old holder wakes up in the middle of its work, and writes what it had computed before.
console.log(`the old holder writes: ${accounts.write('account/7', 50, stale.token)}`);
console.log(`balance ${accounts.balance('account/7')}`);

await quick.close();
await close();
