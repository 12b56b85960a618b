/** A process that keeps many leases, and gives some back and takes others all the time. Everything through the public API. */
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../dist/api/index.js';
import { serve } from './processes.mjs';

/** So many requests are under way at once. */
const AT_ONCE = 256;
const TICK_MS = 100;

/** @type {import('../../dist/api/index.js').Cell} */
let cell;
/** @type {import('../../dist/api/index.js').Lease[]} */
const leases = [];
/** How long the term of each is: one for all, or one for each. @type {(which: number) => number} */
let termOf = () => 0;
let changes = 0;
let named = 0;
let isOver = false;
let isQuiet = false;

async function take() {
  const which = named++;
  return cell.acquire(`bulk/${process.pid}/${which}`, { term: termOf(which), wait: 60_000 });
}

/** @param {import('../../dist/api/index.js').Lease} lease */
async function change(lease) {
  try {
    await lease.release();
    leases.push(await take());
  } catch {
    // It was lost before, which is counted.
  }
}

/** Gives so many back a second, and takes others instead. @param {number} perSecond */
async function churn(perSecond) {
  const share = (perSecond * TICK_MS) / 1000;
  for (let owed = 0, at = performance.now(); !isOver; at += TICK_MS) {
    await sleep(Math.max(0, at + TICK_MS - performance.now()));
    if (isQuiet) continue;
    for (owed += share; owed >= 1; owed--) {
      const place = Math.floor(Math.random() * leases.length);
      const lease = leases[place];
      const last = leases.pop();
      // The last one takes its place: moving all behind it would cost more than the lease.
      if (last !== undefined && last !== lease) leases[place] = last;
      changes++;
      if (lease) void change(lease);
    }
  }
}

serve({
  /** @param {{ reach: import('../../dist/api/index.js').ConnectOptions, count: number, termMs: number, spreadMs: number, perSecond: number }} details */
  async hold({ reach, count, termMs, spreadMs, perSecond }) {
    cell = await connect(reach);
    await cell.ready();
    // Terms that differ are renewed each by itself: a member keeps few bundles of one process.
    termOf = spreadMs === 0 ? () => termMs : (which) => termMs - Math.floor(spreadMs / 2) + (which % spreadMs);
    let left = count;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (left-- > 0) leases.push(await take());
      }),
    );
    void churn(perSecond);
  },

  /** Whether nothing is given back or taken for now. @param {{ quiet: boolean }} details */
  rest({ quiet }) {
    isQuiet = quiet;
  },

  told() {
    const { user, system } = process.cpuUsage();
    const { peers, renewals, losses, held } = cell.counters();
    return { cpuUs: user + system, changes, renewals, losses, held, out: peers.map(({ messagesOut }) => messagesOut) };
  },

  async end() {
    isOver = true;
    await cell.close();
  },
});
