/** A candidate of the bench of hand-overs: it stands in line, leads, and leaves as it is told. Everything through the public API. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, observe } from '../../dist/api/index.js';
import { notify, serve } from './processes.mjs';

/** @type {import('../../dist/api/index.js').Cell} */
let cell;
/** @type {import('../../dist/api/index.js').Leadership | null} */
let leading = null;
/** Wall clock with the grain of the monotonic one: instants of several processes of one machine can be compared. */
const nowMs = () => performance.timeOrigin + performance.now();
let stoppedAt = 0;

/** Members of a busy machine may not answer in time: then it is asked again. @param {string} name */
async function isInLine(name) {
  const waiters = await cell.waiters(name).catch(() => []);
  return waiters.some(({ incarnation }) => incarnation === cell.incarnation);
}

/** Stands, and tells that it leads. @param {string} name */
async function lead(name) {
  leading = await cell.elect(name).campaign();
  notify(JSON.stringify({ at: nowMs(), token: leading.token }));
}

serve({
  async connect(options) {
    cell = await connect(options);
    await cell.ready();
    // The instant at which this process holds no more, before anybody else can hear of it.
    observe('tenure:lease:released', () => (stoppedAt = nowMs()));
    return cell.incarnation;
  },

  /** Answers when it stands in line, or leads. That it leads is told by itself. @param {{ name: string }} details */
  async stand({ name }) {
    leading = null;
    void lead(name);
    while (!leading && !(await isInLine(name))) await sleep(1);
  },

  /** Whether it was handed over, when it was called and when this process stopped. @param {{ how: 'handOver' | 'resign' }} details */
  async leave({ how }) {
    const calledAt = nowMs();
    stoppedAt = 0;
    const isGone = how === 'handOver' ? await leading?.handOver() : (await leading?.resign(), true);
    return { isGone, calledAt, stoppedAt, isLeading: leading?.valid === true };
  },

  isLeading: () => leading?.valid === true,
});
