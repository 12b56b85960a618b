/** Leader election: candidates stand, one leads and says where it is, everybody is told who leads. */
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Cell } from 'tenure';
import { threeMembers } from './three-members.js';

const { options, close } = await threeMembers();
const [one, two, watcher] = await Promise.all([connect(options), connect(options), connect(options)]);

/** Anybody may observe, not only candidates. */
const done = new AbortController();
const observing = (async () => {
  let last = '';
  for await (const change of watcher.elect('billing').observe({ signal: done.signal })) {
    if (change.kind === 'gap') continue; // who leads is not known for a moment; it is told anew, changed or not
    const now = change.leader ? `leader: ${change.leader.text}` : 'no leader';
    if (now !== last) console.log(now);
    last = now;
  }
})().catch((reason: unknown) => reason);

/** In a service this stands in a loop: who lost the lead stands again. */
async function lead(cell: Cell, address: string): Promise<void> {
  await using leadership = await cell.elect('billing').campaign({ value: `${address} (warming up)` });
  // Leading ends when `leadership.signal` aborts. Whatever is written carries the token.
  await sleep(100, undefined, { signal: leadership.signal });
  await leadership.proclaim(`${address} (serving, token ${leadership.token > 0})`); // still the leader, with the same token
  await sleep(100, undefined, { signal: leadership.signal });
} // resigns

await lead(one, 'host-1');
await lead(two, 'host-2');
const leader = await watcher.elect('billing').leader(); // asked of a quorum: exact
console.log(`in the end: ${leader?.text ?? 'nobody'}`);
await sleep(100);
done.abort();
await observing;

await Promise.all([one.close(), two.close(), watcher.close()]);
await close();
