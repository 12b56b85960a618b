/** A process that claims: everything through the public API. */
import { performance } from 'node:perf_hooks';
import { setTimeout as rest } from 'node:timers/promises';
import { connect, observe } from '../../dist/api/index.js';
import { paceOf, serve } from './processes.mjs';

/** @type {import('../../dist/api/index.js').Cell} */
let cell;
/** Requests that the grants so far took. @type {number[]} */
const attempts = [];
/** From here on this process has claimed no range of its own. */
let unclaimed = 1;
observe('tenure:claim:granted', (granted) => attempts.push(granted.attempts));

/** A range that no other claims. @param {import('../../dist/api/index.js').Claims} claims @param {number} size */
async function claimOwn(claims, size) {
  const from = unclaimed;
  unclaimed += size;
  const { ok } = await claims.claim(from, from + size - 1);
  if (!ok) throw new Error('a range of its own was refused');
}

/** What this process takes of one core meanwhile. @template T @param {() => Promise<T>} act @returns {Promise<T & { cpuShare: number }>} */
async function withCpuShare(act) {
  const [began, before] = [performance.now(), process.cpuUsage()];
  const answer = await act();
  const { user, system } = process.cpuUsage(before);
  return { ...answer, cpuShare: (user + system) / 1000 / (performance.now() - began) };
}

serve({
  async connect(options) {
    cell = await connect(options);
  },

  /**
   * Claims blocks, ids and ranges, until told to stop. Ranges overlap those of other processes.
   * @param {{ space: string, seconds: number, seed: number }} details
   */
  async claimForLong({ space, seconds, seed }) {
    const claims = cell.claims(space);
    const until = performance.now() + seconds * 1000;
    let [random, granted, refused, calledOff, ids] = [seed, 0, 0, 0, 0];
    const draw = (/** @type {number} */ bound) => (random = (random * 48_271) % 2_147_483_647) % bound;
    const source = cell.claims(`${space}-ids`).ids({ blockMax: 64 });
    while (performance.now() < until) {
      const what = draw(4);
      if (what === 0) {
        await claims.next(1 + draw(100));
        granted++;
      } else if (what === 1) {
        for (let i = 0; i < 20; i++) await source.next();
        ids += 20;
      } else {
        const from = 1_000_000 + draw(5000) * 10;
        const signal = what === 2 ? AbortSignal.timeout(1 + draw(20)) : undefined;
        try {
          const { ok } = await claims.claim(from, from + draw(50), signal ? { signal } : {});
          if (ok) granted++;
          else refused++;
        } catch (error) {
          if (!signal?.aborted) throw error;
          calledOff++;
        }
      }
    }
    await source.return();
    return { granted, refused, calledOff, ids };
  },

  /** One block, and how long and how many requests it took. @param {{ space: string, size: number }} details */
  async next({ space, size }) {
    const began = performance.now();
    const block = await cell.claims(space).next(size);
    return { ...block, attempts: attempts.at(-1), ms: performance.now() - began };
  },

  /** Which of these another can still claim: none, if nothing was forgotten. @param {{ space: string, blocks: { from: number, to: number }[] }} details */
  async forgotten({ space, blocks }) {
    const claims = cell.claims(space);
    const lost = [];
    for (let at = 0; at < blocks.length; at += 256) {
      const answers = await Promise.all(blocks.slice(at, at + 256).map(({ from, to }) => claims.claim(from, to)));
      lost.push(...answers.filter(({ ok }) => ok));
    }
    return lost;
  },

  /** `atOnce` workers, each claims ranges of its own, one after the other. @param {{ space: string, atOnce: number, size: number, seconds: number }} details */
  ranges({ space, atOnce, size, seconds }) {
    const claims = cell.claims(space);
    return withCpuShare(() => paceOf({ atOnce, seconds }, () => claimOwn(claims, size)));
  },

  /** So many ranges of its own a second, whether or not those before are answered. @param {{ space: string, perSecond: number, size: number, seconds: number }} details */
  paced({ space, perSecond, size, seconds }) {
    const claims = cell.claims(space);
    return withCpuShare(async () => {
      const began = performance.now();
      const asked = [];
      for (let elapsed = 0; elapsed < seconds * 1000; elapsed = performance.now() - began) {
        while (asked.length < (elapsed / 1000) * perSecond) asked.push(claimOwn(claims, size));
        await rest(1000 / perSecond);
      }
      await Promise.all(asked);
      return { perSecond: (asked.length / (performance.now() - began)) * 1000 };
    });
  },

  /** Unique ids, one after the other. @param {{ space: string, seconds: number, how: 'for await' | 'take' }} details */
  async ids({ space, seconds, how }) {
    const source = cell.claims(space).ids();
    await source.next();
    const began = performance.now();
    const until = began + seconds * 1000;
    let [count, highest] = [0, 0];
    if (how === 'for await') {
      for await (const id of source) {
        highest = Math.max(highest, id);
        if (++count % 1024 === 0 && performance.now() >= until) break;
      }
    } else {
      while (count % 1024 !== 0 || performance.now() < until) {
        if (source.take() === undefined) await source.next();
        count++;
      }
    }
    const tookMs = performance.now() - began;
    await source.return();
    return { perSecond: (count / tookMs) * 1000, highest };
  },

  close: () => cell.close(),
});
