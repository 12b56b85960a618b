/** The part of the suite for stores with a server that can be killed and stopped. */
import assert from 'node:assert/strict';
import { TenureError } from '../kernel/index.ts';
import { alongside, bytes, text, turn, type StoreTestClaim, type StoreTestKit } from './conformance-kit.ts';

/** Long for an answer of a server that works, short for a test. */
const SHORT_MS = 300;

export function claimRestarts(claim: StoreTestClaim): void {
  claim('what was acknowledged is there after a restart, or the epoch is another', async (kit) => {
    const store = await kit.store();
    const [identity, epoch] = [await store.identity(), await store.epoch()];
    for (let round = 0; round < 10; round++) assert.equal(await store.write(kit.key(String(round)), bytes('kept')), 'done');
    await restarted(kit);
    const later = await reached(async () => await store.epoch());
    if (later === epoch) {
      assert.equal(await store.identity(), identity);
      for (let round = 0; round < 10; round++) assert.equal(text(await store.read(kit.key(String(round)))), 'kept');
    }
    assert.equal(await (await kit.store()).epoch(), later);
  });

  claim('under a new epoch nothing is read or changed before it was asked for', async (kit) => {
    const store = await kit.store();
    const epoch = await store.epoch();
    await store.write(kit.key(), bytes('a'));
    await restarted(kit);
    const isOver = await reached(async () => await isRefused(store.read(kit.key()), 'TENURE_STORE_EPOCH'));
    const later = await (await kit.store()).epoch();
    assert.equal(isOver, later !== epoch);
    if (!isOver) return;
    await assert.rejects(store.write(kit.key(), bytes('b')), { code: 'TENURE_STORE_EPOCH' });
    if (store.can.swap) await assert.rejects(store.swap(kit.key(), null, bytes('b')), { code: 'TENURE_STORE_EPOCH' });
    assert.equal(await store.epoch(), later);
    // A store that has lost even its identity says so; it is no longer held back by its epoch.
    assert.notEqual(await codeOf(store.read(kit.key())), 'TENURE_STORE_EPOCH');
  });

  claim('a change that a restart cuts off has happened once, or not at all', async (kit) => {
    const [one, two] = await kit.two();
    let [acknowledged, highest] = [0, 0];
    let isGone = false;
    const epoch = await two.epoch();
    await alongside(
      async () => {
        while (acknowledged < 20) await turn();
        await restarted(kit);
        const before = acknowledged;
        while (acknowledged <= before && !isGone) await turn();
      },
      async (round) => {
        highest = round;
        const outcome = await codeOf(one.write(kit.key(), bytes(String(round))));
        if (outcome === 'done') acknowledged = round;
        else if (outcome === 'TENURE_STORE_REPLACED') isGone = true;
        else await one.epoch().catch(() => undefined);
      },
    );
    const later = await reached(async () => await two.epoch());
    if (isGone) {
      assert.notEqual(later, epoch, 'a store that has forgotten who it is calls its epoch the same');
      return;
    }
    const value = Number(text(await two.read(kit.key())) ?? 0);
    if ((await two.epoch()) === epoch)
      assert.ok(value >= acknowledged && value <= highest, `${value} is not from ${acknowledged} to ${highest}`);
    for (let look = 0; look < 20; look++, await turn()) assert.equal(Number(text(await two.read(kit.key())) ?? 0), value);
  });
}

export function claimStalls(claim: StoreTestClaim, canSwap: boolean): void {
  claim('a server that does not answer is told in time: reads fail, changes are unknown or did not happen', async (kit) => {
    const [one, two] = await kit.two();
    await one.write(kit.key(), bytes('before'));
    await stalled(kit, async () => {
      await assert.rejects(one.read(kit.key(), { timeoutMs: SHORT_MS }), { code: 'TENURE_STORE_UNREACHABLE' });
      const outcome = await codeOf(one.write(kit.key(), bytes('after'), { timeoutMs: SHORT_MS }));
      assert.ok(outcome === 'unknown' || outcome === 'TENURE_STORE_UNREACHABLE', outcome);
    });
    // It may land now, but once: after the next write it is gone for good.
    await reached(async () => await two.read(kit.key()));
    assert.equal(await reached(async () => await two.write(kit.key(), bytes('last'))), 'done');
    const seen = new Set<string | null>();
    for (let look = 0; look < 40; look++, await turn()) seen.add(text(await two.read(kit.key())));
    // A change that was cut off has its instant after the next write, perhaps: but it does not alternate with it.
    assert.ok(seen.size <= 2 && [...seen].every((value) => value === 'last' || value === 'after'), [...seen].join(', '));
    assert.ok([...seen].at(-1) === text(await two.read(kit.key())));
  });

  if (!canSwap) return;
  claim('a swap whose answer was lost is found out by reading, and never lands twice', async (kit) => {
    const [one, two] = await kit.two();
    await one.swap(kit.key(), null, bytes('0'));
    let outcome = '';
    await stalled(kit, async () => {
      outcome = await codeOf(one.swap(kit.key(), bytes('0'), bytes('1'), { timeoutMs: SHORT_MS }));
    });
    assert.ok(outcome === 'unknown' || outcome === 'TENURE_STORE_UNREACHABLE', outcome);
    // A swap that wins on the present value makes sure: the lost swap lands no more.
    let won = '';
    while (won === '') {
      const seen = await reached(async () => await two.read(kit.key()));
      assert.ok(text(seen) === '0' || (text(seen) === '1' && outcome === 'unknown'));
      const next = `${text(seen)}2`;
      if ((await reached(async () => await two.swap(kit.key(), seen, bytes(next)))) === 'won') won = next;
    }
    for (let look = 0; look < 40; look++, await turn()) assert.equal(text(await two.read(kit.key())), won);
  });
}

export function claimCuts(claim: StoreTestClaim, canSwap: boolean): void {
  claim('a write whose answer was lost with the connection is unknown, and is not sent again', async (kit) => {
    const [one, two] = await kit.two();
    await one.write(kit.key(), bytes('before'));
    answerLost(kit);
    assert.equal(await one.write(kit.key(), bytes('early')), 'unknown');
    assert.ok(one.lastUnknown instanceof TenureError);
    assert.equal(text(await two.read(kit.key())), 'early');
    await two.write(kit.key(), bytes('late'));
    await reached(async () => await one.read(kit.key()));
    for (let look = 0; look < 40; look++, await turn()) assert.equal(text(await two.read(kit.key())), 'late');
  });

  if (!canSwap) return;
  claim('a swap whose answer was lost with the connection is unknown: sent again, it would have lost against itself', async (kit) => {
    const [one, two] = await kit.two();
    for (const [seen, next] of [
      [null, bytes('a')],
      [bytes('a'), bytes('b')],
      [bytes('b'), null],
    ] as const) {
      await reached(async () => await one.read(kit.key()));
      answerLost(kit);
      assert.equal(await one.swap(kit.key(), seen, next), 'unknown');
      assert.equal(text(await two.read(kit.key())), text(next));
    }
  });
}

function answerLost(kit: StoreTestKit): void {
  assert.ok(kit.place.loseAnswer, 'a place that can cut has loseAnswer()');
  kit.place.loseAnswer();
}

async function restarted(kit: StoreTestKit): Promise<void> {
  assert.ok(kit.place.restart, 'a place that can restart has restart()');
  await kit.place.restart();
}

async function stalled(kit: StoreTestKit, work: () => Promise<void>): Promise<void> {
  assert.ok(kit.place.stall && kit.place.resume, 'a place that can stall has stall() and resume()');
  await kit.place.stall();
  try {
    await work();
  } finally {
    await kit.place.resume();
  }
}

async function isRefused(access: Promise<unknown>, code: string): Promise<boolean> {
  try {
    await access;
    return false;
  } catch (error) {
    if (error instanceof TenureError && error.code === code) return true;
    throw error;
  }
}

/** The outcome, or the code of the error. */
async function codeOf(access: Promise<unknown>): Promise<string> {
  try {
    return String(await access);
  } catch (error) {
    return error instanceof TenureError ? error.code : String(error);
  }
}

/** Again and again while the store cannot be reached; the runner's own time limit is the limit. */
async function reached<Answer>(access: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await access();
    } catch (error) {
      if (!(error instanceof TenureError && error.code === 'TENURE_STORE_UNREACHABLE')) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}
