/** What closing a client of every lease service has to keep: part of the suite in `conformance.ts`. */
import assert from 'node:assert/strict';
import type { LeaseTestClaim } from './place.ts';
import type { Lease } from '../leases/lease.ts';

export function claimClosing(claim: LeaseTestClaim): void {
  claim('a client that closes gives back what it held, and ends what waits', async (kit) => {
    const [one, two] = await kit.clients();
    const [held, other] = [await kit.outcome(two.acquire(`${kit.name}/held`)), await kit.outcome(one.acquire(kit.name))];
    const waiting = two.acquire(kit.name).catch((error: unknown) => error);
    await kit.place.pass(20);
    await kit.outcome(Promise.all([two.close(), two.close()]));
    assert.equal(((await waiting) as { code?: unknown }).code, 'TENURE_CLOSED');
    assert.equal(held.valid, false);
    assert.ok(other.valid);
    assert.equal((await kit.outcome(one.tryAcquire(`${kit.name}/held`))).ok, true);
    await kit.outcome(held.release());
  });

  claim('a client that closes tells work under using to stop, and gives its lease back when it has', async (kit) => {
    const [one, two] = await kit.clients();
    const work = new Work();
    const working = one.using(kit.name, (lease) => work.go(lease));
    const lease = await kit.outcome(work.begun);
    const closing = one.close();
    assert.equal((lease.signal.reason as { code?: unknown }).code, 'TENURE_CLOSED');
    assert.ok(await kit.isPending(closing, kit.place.maxTermMs / 40));
    assert.equal((await kit.holder(two)).holder?.token, lease.token);
    assert.ok(lease.valid);
    work.end();
    assert.equal(await kit.outcome(working), 'done');
    await kit.outcome(closing);
    assert.equal(lease.valid, false);
    assert.equal((await kit.outcome(two.tryAcquire(kit.name))).ok, true);
  });

  claim('a client that closes gives back nothing under work that does not stop: its lease runs out', async (kit) => {
    const [one, two] = await kit.clients();
    const work = new Work();
    const working = one.using(kit.name, { term: Math.floor(kit.place.maxTermMs / 4) }, (lease) => work.go(lease));
    const lease = await kit.outcome(work.begun);
    let wasValid = true;
    const closing = one.close().then(() => (wasValid = lease.valid));
    const waiting = two.acquire(kit.name);
    assert.ok(await kit.isPending(waiting, lease.remainingMs() / 2));
    const next = await kit.outcome(waiting);
    assert.equal(lease.valid, false);
    assert.ok(next.token > lease.token);
    await kit.outcome(closing);
    assert.equal(wasValid, false);
    work.end();
    await kit.refusal(working, 'TENURE_LEASE_LOST');
    assert.ok(next.valid);
  });

  claim('a client that closes waits for work only as long as it was told, and then gives nothing back', async (kit) => {
    const [one, two] = await kit.clients();
    const work = new Work();
    const working = one.using(kit.name, (lease) => work.go(lease));
    const lease = await kit.outcome(work.begun);
    const leftMs = lease.remainingMs();
    await kit.outcome(one.close({ timeout: Math.floor(leftMs / 20) }), leftMs / 4);
    assert.equal(lease.valid, false);
    work.end();
    await kit.refusal(working, 'TENURE_LEASE_LOST');
    assert.equal((await kit.holder(two)).holder?.token, lease.token);
    assert.ok((await kit.outcome(two.acquire(kit.name))).token > lease.token);
  });

  claim('a client that is closed refuses everything', async (kit) => {
    const client = await kit.place.client();
    await kit.outcome(client.close());
    await kit.refusal(client.acquire(kit.name), 'TENURE_CLOSED');
    await kit.refusal(client.tryAcquire(kit.name), 'TENURE_CLOSED');
    await kit.refusal(client.holder(kit.name), 'TENURE_CLOSED');
    await kit.refusal(
      client.using(kit.name, () => 'never'),
      'TENURE_CLOSED',
    );
    await kit.outcome(client.close());
  });
}

/** Work that goes on until it is told to end, whatever its signal says. */
class Work {
  end = (): void => {};
  #begin: (lease: Lease) => void = () => {};
  readonly begun = new Promise<Lease>((resolve) => (this.#begin = resolve));
  readonly #ended = new Promise<void>((resolve) => (this.end = resolve));

  async go(lease: Lease): Promise<string> {
    this.#begin(lease);
    await this.#ended;
    return 'done';
  }
}
