/** What elections, lists and watches of every lease service have to keep: part of the suite in `conformance.ts`. */
import assert from 'node:assert/strict';
import type { Leader, LeaderChange } from '../elections/leader-changes.ts';
import type { LeaseClient } from '../leases/client.ts';
import { BEYOND_A_TERM, type LeaseTestClaim, type LeaseTestKit, ROUNDS_MAX } from './place.ts';
import type { Listing } from '../leases/questions.ts';
import type { Change } from '../watches/feed.ts';

export function claimElections(claim: LeaseTestClaim): void {
  claim('one candidate leads, and when it resigns the next one does', async (kit) => {
    const [one, two] = await kit.clients();
    const first = await kit.outcome(one.elect(kit.name).campaign({ value: 'one' }));
    const standing = two.elect(kit.name).campaign({ value: 'two' });
    assert.ok(await kit.isPending(standing, 100));
    assert.ok(first.valid && first.remainingMs() > 0);
    await kit.outcome(first.resign());
    const second = await kit.outcome(standing);
    assert.ok(second.valid && !first.valid && second.token > first.token);
    assert.equal(second.name, kit.name);
  });

  claim('whoever asks is told who leads and what it says, or that nobody does', async (kit) => {
    const [one, two] = await kit.clients();
    assert.equal(await leaderOf(kit, two), null);
    const leadership = await kit.outcome(one.elect(kit.name).campaign({ value: 'http://host-ä:80' }));
    const leader = await leaderOf(kit, two);
    assert.deepEqual([leader?.token, leader?.incarnation, leader?.text], [leadership.token, one.incarnation, 'http://host-ä:80']);
    await kit.outcome(leadership.resign());
    assert.ok(await kit.isFreed(async () => (await leaderOf(kit, two)) === null));
  });

  claim('who has resigned proclaims nothing, and may resign again', async (kit) => {
    const [one, two] = await kit.clients();
    const first = await kit.outcome(one.elect(kit.name).campaign());
    await kit.outcome(Promise.all([first.resign(), first.resign()]));
    await kit.refusal(first.proclaim('too late'), 'TENURE_LEASE_LOST');
    const second = await kit.outcome(two.elect(kit.name).campaign({ value: 'second' }));
    await kit.outcome(first[Symbol.asyncDispose]());
    assert.ok(second.valid);
    assert.equal((await leaderOf(kit, one))?.text, 'second');
  });

  claim('a candidate that gives up is elected no more', async (kit) => {
    const [one, two] = await kit.clients();
    const leadership = await kit.outcome(one.elect(kit.name).campaign());
    const controller = new AbortController();
    const standing = two.elect(kit.name).campaign({ signal: controller.signal });
    assert.ok(await kit.isPending(standing, 50));
    const reason = new Error('changed my mind');
    controller.abort(reason);
    await assert.rejects(kit.outcome(standing), reason);
    await kit.refusal(two.elect(kit.name).campaign({ wait: 50 }), 'TENURE_WAIT_TIMEOUT');
    await kit.outcome(leadership.resign());
    await kit.place.pass(100);
    assert.ok(await kit.isFreed(async () => (await leaderOf(kit, one)) === null));
  });

  claim('an election needs a name, and a client that is open', async (kit) => {
    const client = await kit.place.client();
    assert.throws(() => client.elect('a\nb'), { code: 'TENURE_BAD_NAME' });
    const election = client.elect(kit.name);
    await kit.outcome(client.close());
    await kit.refusal(election.campaign(), 'TENURE_CLOSED');
    await kit.refusal(election.leader(), 'TENURE_CLOSED');
  });
}

export function claimProclaims(claim: LeaseTestClaim): void {
  claim('a leader proclaims something else and stays the leader', async (kit) => {
    const [one, two] = await kit.clients();
    const leadership = await kit.outcome(one.elect(kit.name).campaign());
    assert.equal((await leaderOf(kit, two))?.text, '');
    for (const value of ['first', Uint8Array.of(0, 255, 7), '']) {
      await kit.outcome(leadership.proclaim(value));
      const leader = await leaderOf(kit, two);
      assert.deepEqual(Buffer.from(leader?.value ?? []), Buffer.from(value));
      assert.equal(leader?.token, leadership.token);
    }
    assert.ok(leadership.valid);
    assert.equal(leadership.signal.aborted, false);
  });

  claim('of many proclaims at once the last one stands', async (kit) => {
    const [one, two] = await kit.clients();
    const leadership = await kit.outcome(one.elect(kit.name).campaign({ value: 'before' }));
    await kit.outcome(Promise.all(Array.from({ length: 20 }, (_, i) => leadership.proclaim(`value ${i}`))));
    assert.equal((await leaderOf(kit, two))?.text, 'value 19');
  });

  claim('what is proclaimed outlasts renewals', async (kit) => {
    const [one, two] = await kit.clients();
    const termMs = kit.place.maxTermMs;
    const leadership = await kit.outcome(one.elect(kit.name, { term: termMs }).campaign({ value: 'before' }));
    await kit.outcome(leadership.proclaim('after'));
    await kit.place.pass(BEYOND_A_TERM * termMs);
    assert.equal((await leaderOf(kit, two))?.text, 'after');
    assert.ok(leadership.valid && leadership.remainingMs() <= termMs);
  });

  claim('a proclaim that cannot be is refused, and the leader stays', async (kit) => {
    const client = await kit.place.client();
    const leadership = await kit.outcome(client.elect(kit.name).campaign({ value: 'before' }));
    await kit.refusal(leadership.proclaim('x'.repeat(2000)), 'TENURE_BAD_ARGUMENT');
    const reason = new Error('changed my mind');
    await assert.rejects(kit.outcome(leadership.proclaim('never', { signal: AbortSignal.abort(reason) })), reason);
    assert.equal((await leaderOf(kit, client))?.text, 'before');
    assert.ok(leadership.valid);
  });
}

export function claimLostElections(claim: LeaseTestClaim): void {
  claim('a leader that is cut off is told to stop, and proclaims nothing', async (kit) => {
    const client = await kit.place.client();
    const leadership = await kit.outcome(client.elect(kit.name).campaign({ term: Math.floor(kit.place.maxTermMs / 3) }));
    const { signal } = leadership;
    await kit.cutOff(client);
    await kit.refusal(leadership.proclaim('nobody hears it'), 'TENURE_LEASE_LOST');
    assert.deepEqual([leadership.valid, signal.aborted], [false, true]);
    await kit.refusal(client.elect(kit.name).leader(), kit.unreachableCode);
    await kit.outcome(leadership.resign());
  });
}

export function claimLeaseWatches(claim: LeaseTestClaim): void {
  claim('who observes an election sees each leader, what it says, and when there is none', async (kit) => {
    const [one, two] = await kit.clients();
    const changes = new Heard<LeaderChange>(kit, two.elect(kit.name).observe());
    await changes.until((change) => change.kind === 'leader' && change.leader === null);
    const seen = (token: number, text: string): Promise<unknown> => changes.until((change) => isLeader(change, token, text));
    const first = await kit.outcome(one.elect(kit.name).campaign({ value: 'one' }));
    await seen(first.token, 'one');
    await kit.outcome(first.proclaim('still one'));
    await seen(first.token, 'still one');
    // An election whose name only begins like it is another one.
    await kit.outcome(one.elect(`${kit.name}/x`).campaign({ value: 'another' }));
    await kit.outcome(first.resign());
    await changes.until((change) => change.kind === 'leader' && change.leader === null);
    const second = await kit.outcome(two.elect(kit.name).campaign({ value: 'two' }));
    await seen(second.token, 'two');
    assert.ok(changes.all.every((change) => change.kind === 'gap' || change.leader?.text !== 'another'));
  });

  claim('who begins to observe later sees the leader at once', async (kit) => {
    const [one, two] = await kit.clients();
    const leadership = await kit.outcome(one.elect(kit.name).campaign({ value: 'one' }));
    const changes = new Heard<LeaderChange>(kit, two.elect(kit.name).observe());
    const [first] = (await changes.until(({ kind }) => kind === 'leader')).filter(({ kind }) => kind === 'leader');
    assert.ok(first && isLeader(first, leadership.token, 'one'));
  });

  claim('observing and watching end when their signal aborts, with its reason', async (kit) => {
    const client = await kit.place.client();
    const reason = new Error('seen enough');
    for (const begin of [
      (signal: AbortSignal) => client.watch(kit.name, { exact: true, signal }),
      (signal: AbortSignal) => client.elect(kit.name).observe({ signal }),
    ]) {
      const controller = new AbortController();
      const loop = (async () => {
        for await (const _ of begin(controller.signal));
      })();
      assert.ok(await kit.isPending(loop, 50));
      controller.abort(reason);
      await assert.rejects(kit.outcome(loop), reason);
    }
  });

  claim('observing and watching end when the client closes', async (kit) => {
    const client = await kit.place.client();
    const loops = [client.watch(kit.name, { exact: true }), client.elect(kit.name).observe()].map(async (things) => {
      for await (const _ of things);
    });
    await kit.place.pass(50);
    await kit.outcome(client.close());
    await kit.outcome(Promise.all(loops));
    assert.throws(() => client.watch(kit.name), { code: 'TENURE_CLOSED' });
  });
}

export function claimPrefixWatches(claim: LeaseTestClaim): void {
  claim('a watch begins with what is held, and goes on with what changes', async (kit) => {
    const [one, two] = await kit.clients();
    const held = await kit.outcome(one.acquire(`${kit.name}/held`, { meta: 'me' }));
    await kit.outcome(one.acquire(`other/${kit.name}`));
    const changes = new Heard<Change>(kit, two.watch(`${kit.name}/`));
    const present = await changes.until(({ kind }) => kind === 'current');
    assert.deepEqual(present.filter(isChange).map(changeText), [`${kit.name}/held ${held.token} me`]);
    const later = await kit.outcome(one.acquire(`${kit.name}/later`));
    await changes.until((change) => isChange(change) && change.holder?.token === later.token);
    await kit.outcome(held.proclaim('still me'));
    await changes.until((change) => isChange(change) && changeText(change) === `${kit.name}/held ${held.token} still me`);
    await kit.outcome(held.release());
    await changes.until((change) => isChange(change) && change.name === `${kit.name}/held` && change.holder === null);
  });
}

export function claimLeaseLists(claim: LeaseTestClaim): void {
  claim('a list has who holds what under a prefix, in the order of names', async (kit) => {
    const [one, two] = await kit.clients();
    const b = await kit.outcome(one.acquire(`${kit.name}/b`, { meta: 'about b' }));
    const a = await kit.outcome(two.acquire(`${kit.name}/a`));
    await kit.outcome(one.acquire(`${kit.name}-other`));
    const { leases } = await listed(kit, two, `${kit.name}/`);
    const rows = leases.map(({ name, holder, meta }) => [name, holder.token, holder.incarnation, Buffer.from(meta ?? []).toString()]);
    assert.deepEqual(rows, [
      [`${kit.name}/a`, a.token, two.incarnation, ''],
      [`${kit.name}/b`, b.token, one.incarnation, 'about b'],
    ]);
    assert.ok(leases.every(({ certain, holder }) => (certain || kit.isUnsureOfOthers) && holder.remainingMsMax > 0));
    await kit.outcome(Promise.all([a.release(), b.release()]));
    assert.ok(await kit.isFreed(async () => (await listed(kit, one, `${kit.name}/`)).leases.length === 0));
  });

  claim('a list can be long', async (kit) => {
    const [one, two] = await kit.clients();
    const names = Array.from({ length: kit.place.listLength ?? 700 }, (_, i) => `${kit.name}/${String(i).padStart(4, '0')}`);
    await kit.outcome(Promise.all(names.map((name) => one.acquire(name))));
    const { leases } = await listed(kit, two, `${kit.name}/`);
    assert.deepEqual(
      leases.map(({ name }) => name),
      names,
    );
  });

  claim('a list that nobody waits for any more, or of nonsense, or of a client that is closed, is refused', async (kit) => {
    const client = await kit.place.client();
    const reason = new Error('changed my mind');
    const controller = new AbortController();
    const asking = client.list(kit.name, { signal: controller.signal });
    controller.abort(reason);
    await assert.rejects(kit.outcome(asking), reason);
    await kit.refusal(client.list('n'.repeat(256)), 'TENURE_BAD_NAME');
    await kit.outcome(client.close());
    await kit.refusal(client.list(), 'TENURE_CLOSED');
  });
}

/** A list that is sure of itself. */
async function listed(kit: LeaseTestKit, client: LeaseClient, prefix: string): Promise<Listing> {
  for (let tries = 1; ; tries++) {
    const listing = await kit.outcome(client.list(prefix));
    if (listing.certain && listing.leases.every(({ certain }) => certain || kit.isUnsureOfOthers)) return listing;
    assert.ok(tries < ROUNDS_MAX, 'too few answered to be sure');
  }
}

async function leaderOf(kit: LeaseTestKit, client: LeaseClient): Promise<Leader | null> {
  for (let tries = 1; ; tries++) {
    try {
      return await kit.outcome(client.elect(kit.name).leader());
    } catch (error) {
      assert.ok((error as { code?: unknown }).code === kit.unreachableCode && tries < ROUNDS_MAX, String(error));
    }
  }
}

function isChange(change: Change): change is Extract<Change, { kind: 'change' }> {
  return change.kind === 'change';
}

function changeText({ name, holder, meta }: Extract<Change, { kind: 'change' }>): string {
  return `${name} ${holder?.token} ${Buffer.from(meta ?? []).toString()}`;
}

function isLeader(change: LeaderChange, token: number, text: string): boolean {
  return change.kind === 'leader' && change.leader?.token === token && change.leader.text === text;
}

/** What an iterator told so far. */
class Heard<T> {
  readonly all: T[] = [];
  readonly #kit: LeaseTestKit;
  readonly #things: AsyncIterator<T, undefined>;

  constructor(kit: LeaseTestKit, things: AsyncIterator<T, undefined>) {
    this.#kit = kit;
    this.#things = things;
  }

  /** Reads on until a thing fits, and returns the things read on the way. */
  async until(isIt: (thing: T) => boolean): Promise<T[]> {
    const read: T[] = [];
    for (;;) {
      const { value, done } = await this.#kit.outcome(this.#things.next());
      assert.ok(!done, 'it ended');
      this.all.push(value);
      read.push(value);
      if (isIt(value)) return read;
    }
  }
}
