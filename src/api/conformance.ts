/**
 * What every lease service has to keep, whatever engine is behind it, as tests for any test runner. The suite
 * is given a function that names and runs a test, and a function that opens a place: a service with room for any
 * number of clients. A place is tested only on its abilities.
 */
import assert from 'node:assert/strict';
import { claimClosing } from './conformance/closing.ts';
import {
  claimElections,
  claimLeaseLists,
  claimLostElections,
  claimPrefixWatches,
  claimProclaims,
  claimLeaseWatches,
} from './conformance/elections.ts';
import { BEYOND_A_TERM, type LeaseTestClaim, LeaseTestKit, PATIENCE_MS, ROUNDS_MAX, type LeasePlace } from './conformance/place.ts';
import { claimTries } from './conformance/tries.ts';

export type { LeasePlace } from './conformance/place.ts';
export type { LeaseClient } from './leases/client.ts';

export interface LeaseServiceConformanceOptions {
  /** Of any test runner: names a test and runs it. */
  readonly test: (name: string, body: () => Promise<void>) => unknown;
  /** Called for each test. */
  readonly open: () => Promise<LeasePlace>;
  /** The abilities of the places; they are tested on no others. */
  readonly can?: {
    /** `cutOff` and `mend`. */
    readonly cut?: boolean;
    /** `holder`. */
    readonly crash?: boolean;
    /** Waiters are served in order; yes unless told otherwise. */
    readonly ordered?: boolean;
    /** Leases are renewed, and say something else of themselves; yes unless told otherwise. */
    readonly renew?: boolean;
    /** `watch` of one name, and `observe` of elections. With `list`, also of a prefix. */
    readonly watch?: boolean;
    /** `list` of its clients. */
    readonly list?: boolean;
    /** Time passes only in `pass`: instants are exact. */
    readonly virtualTime?: boolean;
  };
}

/** A holder is told to stop this part of its term before the end. */
const MARGIN = 0.1;
/** The rest of a term is told in terms of any clock: stretched for the member's and for one's own, by the largest rate error there may be. */
const STRETCHED_MAX = (1.2 / 0.8) ** 2;

export function leaseServiceConformance({ test, open, can = {} }: LeaseServiceConformanceOptions): void {
  let count = 0;
  const claim: LeaseTestClaim = (name, body) => {
    test(name, async () => {
      const place = await open();
      try {
        await body(new LeaseTestKit(place, `conformance/${process.pid}/${count++}`));
      } finally {
        await place.close();
      }
    });
  };
  const { ordered = true, renew = true } = can;
  claimHolding(claim);
  if (renew) claimRenewal(claim);
  claimWaiting(claim);
  if (ordered) claimOrder(claim, can.virtualTime ?? false);
  claimUsing(claim);
  claimEnding(claim);
  claimClosing(claim);
  claimTries(claim);
  claimRefusals(claim);
  claimElections(claim);
  if (renew) claimProclaims(claim);
  if (can.watch) claimLeaseWatches(claim);
  if (can.watch && can.list) claimPrefixWatches(claim);
  if (can.list) claimLeaseLists(claim);
  if (can.cut && renew) claimLostElections(claim);
  if (can.cut) claimLoss(claim, renew);
  if (can.cut && can.virtualTime) claimInstants(claim);
  if (can.crash) claimTakeOver(claim);
}

function claimHolding(claim: LeaseTestClaim): void {
  claim('a lease is held by one at a time', async (kit) => {
    const clients = await Promise.all(Array.from({ length: 4 }, () => kit.place.client()));
    let [inside, most, rounds] = [0, 0, 0];
    const work = clients.map(async (client) => {
      for (let round = 0; round < 3; round++) {
        await client.using(kit.name, async () => {
          most = Math.max(most, ++inside);
          await kit.place.pass(1);
          inside--;
          rounds++;
        });
      }
    });
    await kit.outcome(Promise.all(work));
    assert.deepEqual([most, rounds], [1, 12]);
  });

  claim('tokens rise with every grant, whoever gets it', async (kit) => {
    const clients = await kit.clients();
    let last = 0;
    for (let round = 0; round < 5; round++) {
      for (const client of clients) {
        const lease = await kit.outcome(client.acquire(kit.name));
        assert.ok(Number.isSafeInteger(lease.token) && lease.token > last);
        last = lease.token;
        await kit.outcome(lease.release());
      }
    }
  });

  claim('a lease says how long it lasts, and is named as asked', async (kit) => {
    const client = await kit.place.client();
    const termMs = Math.floor(kit.place.maxTermMs / 2);
    const lease = await kit.outcome(client.acquire(kit.name, { term: termMs }));
    assert.equal(lease.name, kit.name);
    assert.ok(lease.valid && lease.remainingMs() > 0 && lease.remainingMs() <= termMs);
    assert.equal(lease.signal.aborted, false);
    assert.equal(lease.signal, lease.signal);
  });

  claim('an attempt that fails names the holder, and how long it can last at most', async (kit) => {
    const [one, two] = await kit.clients();
    const lease = await kit.outcome(one.acquire(kit.name));
    const refused = await kit.outcome(two.tryAcquire(kit.name));
    assert.ok(!refused.ok);
    assert.equal(refused.reason, 'held');
    assert.equal(refused.holder?.token, lease.token);
    assert.equal(refused.holder.incarnation, one.incarnation);
    assert.ok(refused.remainingMsMax > 0 && refused.remainingMsMax <= kit.place.maxTermMs * STRETCHED_MAX);
    assert.ok(lease.valid);
  });

  claim('whoever asks is told who holds it, and what it said of itself', async (kit) => {
    const [one, two] = await kit.clients();
    assert.equal((await kit.holder(two)).holder, null);
    const lease = await kit.outcome(one.acquire(kit.name, { meta: 'host-7 ä' }));
    const answer = await kit.holder(two);
    assert.equal(answer.holder?.token, lease.token);
    assert.equal(Buffer.from(answer.meta ?? []).toString(), 'host-7 ä');
    await kit.outcome(lease.release());
    assert.ok(await kit.isFreed(async () => (await kit.holder(two)).holder === null));
  });

  claim('leases on different names do not touch each other', async (kit) => {
    const [one, two] = await kit.clients();
    const [a, b] = await kit.outcome(Promise.all([one.acquire(`${kit.name}/a`), two.acquire(`${kit.name}/b`)]));
    assert.ok(a.valid && b.valid);
    await kit.outcome(a.release());
    assert.ok(b.valid);
  });
}

function claimRenewal(claim: LeaseTestClaim): void {
  claim('a lease is renewed by itself for as long as it is held, with the same token', async (kit) => {
    const [one, two] = await kit.clients();
    const termMs = kit.place.maxTermMs;
    const lease = await kit.outcome(one.acquire(kit.name, { term: termMs }));
    const { signal } = lease;
    await kit.place.pass(BEYOND_A_TERM * termMs);
    assert.ok(lease.valid);
    assert.equal(signal.aborted, false);
    const refused = await kit.outcome(two.tryAcquire(kit.name));
    assert.ok(!refused.ok && refused.holder?.token === lease.token);
  });
}

function claimWaiting(claim: LeaseTestClaim): void {
  claim('who waits gets the lease when it is given back', async (kit) => {
    const [one, two] = await kit.clients();
    const first = await kit.outcome(one.acquire(kit.name));
    const waiting = two.acquire(kit.name);
    assert.ok(await kit.isPending(waiting, 100));
    await kit.outcome(first.release());
    const second = await kit.outcome(waiting);
    assert.ok(second.token > first.token && second.valid && !first.valid);
  });

  claim('a second acquire of one client waits for the first, like any other', async (kit) => {
    const client = await kit.place.client();
    const first = await kit.outcome(client.acquire(kit.name));
    const again = await kit.outcome(client.tryAcquire(kit.name));
    assert.equal(again.ok, false);
    const waiting = client.acquire(kit.name);
    assert.ok(await kit.isPending(waiting, 100));
    assert.ok(first.valid);
    await kit.outcome(first.release());
    const second = await kit.outcome(waiting);
    assert.ok(second.token > first.token && second.valid);
  });

  claim('a wait ends when its signal aborts, with its reason, and nothing comes of it later', async (kit) => {
    const [one, two] = await kit.clients();
    const lease = await kit.outcome(one.acquire(kit.name));
    const controller = new AbortController();
    const waiting = two.acquire(kit.name, { signal: controller.signal });
    assert.ok(await kit.isPending(waiting, 50));
    const reason = new Error('changed my mind');
    controller.abort(reason);
    await assert.rejects(kit.outcome(waiting), reason);
    await kit.outcome(lease.release());
    await kit.place.pass(100);
    assert.ok(await kit.isFreed(async () => (await kit.holder(one)).holder === null));
    await assert.rejects(kit.outcome(two.acquire(kit.name, { signal: AbortSignal.abort() })), { name: 'AbortError' });
    await assert.rejects(kit.outcome(two.tryAcquire(kit.name, { signal: AbortSignal.abort(reason) })), reason);
  });

  claim('a signal that aborts after the grant changes nothing', async (kit) => {
    const client = await kit.place.client();
    const controller = new AbortController();
    const lease = await kit.outcome(client.acquire(kit.name, { signal: controller.signal }));
    controller.abort();
    await kit.place.pass(50);
    assert.ok(lease.valid);
    assert.equal(lease.signal.aborted, false);
  });

  claim('a wait ends after the time it was given', async (kit) => {
    const [one, two] = await kit.clients();
    const lease = await kit.outcome(one.acquire(kit.name));
    await kit.refusal(two.acquire(kit.name, { wait: 100 }), 'TENURE_WAIT_TIMEOUT');
    await kit.outcome(lease.release());
    assert.ok((await kit.outcome(two.acquire(kit.name, { wait: PATIENCE_MS }))).valid);
  });
}

function claimOrder(claim: LeaseTestClaim, isVirtual: boolean): void {
  // In real time a waiter that a busy machine keeps from answering is overtaken, and may be: now and then.
  claim('who waits is served in the order in which it began', async (kit) => {
    const [holder, ...clients] = await Promise.all(Array.from({ length: 5 }, () => kit.place.client()));
    assert.ok(holder);
    let inOrder = 0;
    for (let round = 1; inOrder < 2; round++) {
      const first = await kit.outcome(holder.acquire(kit.name));
      const served: number[] = [];
      const waits: Promise<number>[] = [];
      for (const [i, client] of clients.entries()) {
        waits.push(client.using(kit.name, () => served.push(i)));
        await kit.place.pass(60);
      }
      await kit.outcome(first.release());
      await kit.outcome(Promise.all(waits));
      assert.deepEqual(
        served.toSorted((a, b) => a - b),
        [0, 1, 2, 3],
      );
      if (served.every((client, i) => client === i)) inOrder++;
      else assert.ok(!isVirtual && round < ROUNDS_MAX, `served in the order ${served.join(', ')}`);
    }
  });
}

function claimUsing(claim: LeaseTestClaim): void {
  claim('using gives the result of the work, and the lease back', async (kit) => {
    const [one, two] = await kit.clients();
    const token = await kit.outcome(
      one.using(kit.name, (lease) => {
        assert.ok(lease.valid);
        return lease.token;
      }),
    );
    assert.ok(token > 0);
    assert.equal((await kit.outcome(two.tryAcquire(kit.name))).ok, true);
  });

  claim("using lets the work's own error out, thrown or rejected, and gives the lease back", async (kit) => {
    const [one, two] = await kit.clients();
    const mine = new Error('mine');
    await assert.rejects(kit.outcome(one.using(kit.name, () => Promise.reject(mine))), mine);
    const thrower = (): never => {
      throw mine;
    };
    await assert.rejects(kit.outcome(one.using(kit.name, {}, thrower)), mine);
    assert.equal((await kit.outcome(two.tryAcquire(kit.name))).ok, true);
  });

  claim('using does not run the work without the lease', async (kit) => {
    const [one, two] = await kit.clients();
    await kit.outcome(one.acquire(kit.name));
    let ran = false;
    const work = two.using(kit.name, { wait: 50 }, () => {
      ran = true;
    });
    await kit.refusal(work, 'TENURE_WAIT_TIMEOUT');
    assert.equal(ran, false);
  });

  claim('work that gives the lease back itself has not lost it', async (kit) => {
    const client = await kit.place.client();
    const result = await kit.outcome(
      client.using(kit.name, async (lease) => {
        await lease.release();
        return 'done';
      }),
    );
    assert.equal(result, 'done');
  });
}

function claimEnding(claim: LeaseTestClaim): void {
  claim('a lease can be given back any number of times', async (kit) => {
    const [one, two] = await kit.clients();
    const lease = await kit.outcome(one.acquire(kit.name));
    const { signal } = lease;
    const released = Promise.all([lease.release(), lease.release()]);
    assert.equal(lease.valid, false);
    assert.equal(lease.remainingMs(), 0);
    await kit.outcome(released);
    await kit.outcome(lease.release());
    assert.equal(signal.aborted, false);
    const next = await kit.outcome(two.acquire(kit.name));
    await kit.outcome(lease.release());
    await kit.place.pass(50);
    assert.ok(next.valid);
  });

  claim('what was lost can be given back, and what is held twice is two leases', async (kit) => {
    const [one, two] = await kit.clients();
    const first = await kit.outcome(one.acquire(kit.name));
    await kit.outcome(first[Symbol.asyncDispose]());
    const second = await kit.outcome(one.acquire(kit.name));
    await kit.outcome(first.release());
    assert.ok(second.valid);
    assert.equal((await kit.outcome(two.tryAcquire(kit.name))).ok, false);
    await kit.refusal(first.proclaim('not mine any more'), 'TENURE_LEASE_LOST');
  });
}

function claimRefusals(claim: LeaseTestClaim): void {
  claim('a question that is given up ends with the reason of its signal', async (kit) => {
    const client = await kit.place.client();
    const reason = new Error('changed my mind');
    await assert.rejects(kit.outcome(client.holder(kit.name, { signal: AbortSignal.abort(reason) })), reason);
    const controller = new AbortController();
    const asking = client.holder(kit.name, { signal: controller.signal });
    controller.abort(reason);
    await assert.rejects(kit.outcome(asking), reason);
    assert.equal((await kit.holder(client)).holder, null);
  });

  claim('names that are none are refused', async (kit) => {
    const client = await kit.place.client();
    for (const name of ['', 'n'.repeat(256), 'ä'.repeat(128), 'a\u0007b', 'a\nb', '\ud800', '_tenure/x']) {
      await kit.refusal(client.acquire(name), 'TENURE_BAD_NAME');
      await kit.refusal(client.tryAcquire(name), 'TENURE_BAD_NAME');
      await kit.refusal(client.holder(name), 'TENURE_BAD_NAME');
    }
    assert.equal((await kit.outcome(client.tryAcquire(`${kit.name}/${'ä'.repeat(50)}`))).ok, true);
  });

  claim('terms, waits and metadata that are none are refused, and cost nothing', async (kit) => {
    const client = await kit.place.client();
    for (const term of [0, kit.place.maxTermMs + 1]) await kit.refusal(client.acquire(kit.name, { term }), 'TENURE_BAD_ARGUMENT');
    for (const term of [-1, NaN, Infinity, '15', 'soon']) await kit.refusal(client.acquire(kit.name, { term }), 'TENURE_BAD_DURATION');
    await kit.refusal(client.acquire(kit.name, { wait: 'a while' }), 'TENURE_BAD_DURATION');
    await kit.refusal(client.acquire(kit.name, { meta: 'm'.repeat(2000) }), 'TENURE_BAD_ARGUMENT');
    assert.equal((await kit.outcome(client.tryAcquire(kit.name))).ok, true);
  });
}

function claimLoss(claim: LeaseTestClaim, renew: boolean): void {
  claim('a holder that is cut off is told to stop before its lease is over', async (kit) => {
    const client = await kit.place.client();
    const lease = await kit.outcome(client.acquire(kit.name, { term: Math.floor(kit.place.maxTermMs / 2) }));
    let validAtAbort: boolean | undefined;
    lease.signal.addEventListener('abort', () => {
      validAtAbort = lease.valid;
    });
    await kit.cutOff(client);
    await kit.over(lease);
    assert.equal(validAtAbort, true);
    assert.equal((lease.signal.reason as { code?: unknown }).code, 'TENURE_LEASE_LOST');
    await kit.refusal(client.tryAcquire(kit.name), kit.unreachableCode);
    await kit.outcome(lease.release());
    assert.equal(lease.valid, false);
    await kit.mend(client);
    const again = await kit.outcome(client.acquire(kit.name));
    assert.ok(again.token > lease.token && again.valid && !lease.valid);
  });

  const claimRenewed = renew ? claim : (): void => {};
  claimRenewed('a holder that is cut off for a moment keeps its lease', async (kit) => {
    const client = await kit.place.client();
    const lease = await kit.outcome(client.acquire(kit.name));
    await kit.cutOff(client);
    await kit.place.pass(kit.place.maxTermMs / 4);
    await kit.mend(client);
    await kit.place.pass(BEYOND_A_TERM * kit.place.maxTermMs);
    assert.ok(lease.valid);
  });

  claim('work that succeeds after its lease was lost is told so, with its result', async (kit) => {
    const client = await kit.place.client();
    const work = client.using(kit.name, { term: Math.floor(kit.place.maxTermMs / 3) }, async (lease) => {
      await kit.cutOff(client);
      await kit.over(lease);
      return 'done anyway';
    });
    await assert.rejects(kit.outcome(work), (error: unknown) => {
      const { code, result } = error as { code?: unknown; result?: unknown };
      assert.deepEqual({ code, result }, { code: 'TENURE_LEASE_LOST', result: 'done anyway' });
      return true;
    });
  });

  claim('who is cut off does not wait for the end of its lease to close, or to say that its work failed', async (kit) => {
    const client = await kit.place.client();
    const mine = new Error('mine');
    const work = client.using(kit.name, async () => {
      await kit.cutOff(client);
      throw mine;
    });
    await assert.rejects(kit.outcome(work, kit.place.maxTermMs / 4), mine);
    await kit.mend(client);
    const lease = await kit.outcome(client.acquire(`${kit.name}/more`));
    await kit.cutOff(client);
    const released = lease.release();
    await kit.outcome(client.close(), kit.place.maxTermMs / 4);
    await kit.outcome(released, 100);
    assert.equal(lease.valid, false);
  });

  claim('work that fails after its lease was lost fails with its own error', async (kit) => {
    const client = await kit.place.client();
    const mine = new Error('mine');
    const work = client.using(kit.name, { term: Math.floor(kit.place.maxTermMs / 3) }, async (lease) => {
      await kit.cutOff(client);
      await kit.over(lease);
      throw mine;
    });
    await assert.rejects(kit.outcome(work), mine);
  });
}

function claimInstants(claim: LeaseTestClaim): void {
  claim('a holder that is cut off loses its lease at the instant it was told, and nobody has it earlier', async (kit) => {
    const [one, two] = await kit.clients();
    const termMs = Math.floor(kit.place.maxTermMs / 2);
    const lease = await kit.outcome(one.acquire(kit.name, { term: termMs }));
    const { signal } = lease;
    await kit.cutOff(one);
    const waiting = two.acquire(kit.name);
    await kit.place.pass(1);
    const leftMs = lease.remainingMs();
    await kit.place.pass(leftMs - termMs * MARGIN - 1);
    assert.deepEqual([lease.valid, signal.aborted], [true, false]);
    await kit.place.pass(1);
    assert.deepEqual([lease.valid, signal.aborted], [true, true]);
    await kit.place.pass(termMs * MARGIN - 1);
    assert.deepEqual([lease.valid, await kit.isPending(waiting, 0)], [true, true]);
    await kit.place.pass(1);
    assert.equal(lease.valid, false);
    assert.ok((await kit.outcome(waiting)).token > lease.token);
  });
}

function claimTakeOver(claim: LeaseTestClaim): void {
  claim('the lease of a holder that crashed goes to who waits, when its term is over', async (kit) => {
    const termMs = Math.floor(kit.place.maxTermMs / 2);
    const client = await kit.place.client();
    const holder = await kit.place.holder?.(kit.name, termMs);
    assert.ok(holder);
    const waiting = client.acquire(kit.name);
    assert.ok(await kit.isPending(waiting, 50));
    await holder.crash();
    const lease = await kit.outcome(waiting, kit.place.takeOverMs ?? 3 * termMs);
    assert.ok(lease.valid && lease.token > holder.token);
  });
}
