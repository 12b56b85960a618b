/** What every lease service has to keep of requests that do not wait, of what holders say of themselves, and of work under several leases: part of the suite in `conformance.ts`. */
import assert from 'node:assert/strict';
import type { LeaseTestClaim } from './place.ts';

const ROUNDS = 5;

export function claimTries(claim: LeaseTestClaim): void {
  claim('a request with no time to wait gets what is free, every time', async (kit) => {
    const [one] = await kit.clients();
    for (let round = 0; round < ROUNDS; round++) {
      const lease = await kit.outcome(one.acquire(`${kit.name}/${round}`, { wait: 0 }));
      assert.ok(lease.valid);
    }
    const all = await kit.outcome(one.acquireAll([`${kit.name}/x`, `${kit.name}/y`], { wait: 0 }));
    assert.ok(all.every(({ valid }) => valid));
  });

  claim('a request with no time to wait is refused what another holds, as held', async (kit) => {
    const [one, two] = await kit.clients();
    const lease = await kit.outcome(one.acquire(kit.name));
    await kit.refusal(two.acquire(kit.name, { wait: 0 }), 'TENURE_HELD');
    await kit.refusal(two.acquireAll([`${kit.name}/free`, kit.name], { wait: 0 }), 'TENURE_HELD');
    assert.equal((await kit.outcome(one.tryAcquire(`${kit.name}/free`))).ok, true);
    assert.ok(lease.valid);
  });

  claim('whoever is refused a try hears what the holder says of itself, as bytes and as text', async (kit) => {
    const [one, two] = await kit.clients();
    await kit.outcome(one.acquire(kit.name, { meta: 'here it is' }));
    const refused = await kit.outcome(two.tryAcquire(kit.name));
    assert.ok(!refused.ok);
    assert.equal(refused.text, 'here it is');
    assert.equal(Buffer.from(refused.meta ?? []).toString(), 'here it is');
    const asked = await kit.outcome(two.holder(kit.name));
    assert.equal(asked.text, 'here it is');
  });

  claim('work under several leases has all of them, and they are given back', async (kit) => {
    const [one, two] = await kit.clients();
    const names = [`${kit.name}/b`, `${kit.name}/a`];
    const done = await kit.outcome(
      one.usingAll(names, async (leases, signal) => {
        assert.deepEqual(leases.map(({ name }) => name).sort(), [...names].sort());
        assert.ok(leases.every(({ valid }) => valid) && !signal.aborted);
        const taken = await two.tryAcquire(`${kit.name}/a`);
        return taken.ok ? 'taken by another' : 'done';
      }),
    );
    assert.equal(done, 'done');
    for (const name of names) assert.equal((await kit.outcome(two.tryAcquire(name))).ok, true);
  });

  claim('an error of work under several leases comes out as it is, and the leases are given back', async (kit) => {
    const [one, two] = await kit.clients();
    const own = new Error('of the work');
    const working = one.usingAll([kit.name, `${kit.name}/b`], { term: kit.place.maxTermMs }, () => {
      throw own;
    });
    assert.equal(await kit.outcome(working.catch((error: unknown) => error)), own);
    assert.equal((await kit.outcome(two.tryAcquire(kit.name))).ok, true);
  });
}
