/** Crowds of `bench:crowd` beside which an honest client is measured: many waiters for one name, and many watches. */
import { measureBeside } from './beside.mjs';
import { load, Part } from './processes.mjs';

const MAX_TERM_MS = 15_000;
const PROCESSES = 4;
/** Acquires of others stay below this. */
const P99_MS_MAX = 50;

/** @param {Part[]} parts */
const stopAll = (parts) => Promise.all(parts.map((part) => part.stop()));

/**
 * @param {{ waiters: number, seconds: number, profileDir?: string | undefined }} options
 */
export function besideWaiters({ waiters, seconds, profileDir }) {
  return judged(`${waiters} waiters for one name`, {
    maxTerm: MAX_TERM_MS,
    seconds,
    profileDir,
    async disturb({ reach }) {
      const holder = new Part('greedy.mjs');
      await holder.ask('connect', { ...reach, name: 'holder' });
      await holder.ask('hold', { name: 'crowd/one' });
      const parts = Array.from({ length: PROCESSES }, () => new Part('greedy.mjs'));
      await Promise.all(parts.map((part, i) => part.ask('connect', { ...reach, name: `waiting-${i}` })));
      const share = Math.ceil(waiters / PROCESSES);
      await Promise.all(
        parts.map((part, i) => part.ask('wait', { name: 'crowd/one', waiters: Math.max(0, Math.min(share, waiters - i * share)) })),
      );
      return () => codesOf(parts, holder);
    },
  });
}

/**
 * @param {{ watchers: number, watches: number, seconds: number, profileDir?: string | undefined }} options
 */
export function besideWatches({ watchers, watches, seconds, profileDir }) {
  return judged(`${watchers} processes with ${watches} watches each`, {
    maxTerm: MAX_TERM_MS,
    seconds,
    profileDir,
    async disturb({ reach }) {
      /** @type {Part[]} */
      const parts = [];
      // Thirty processes that start at once would only measure how processes start.
      for (let i = 0; i < watchers; i++) {
        const part = new Part('greedy.mjs');
        parts.push(part);
        await part.ask('connect', { ...reach, name: `watching-${i}` });
        await part.ask('watch', { first: i * watches, watches });
      }
      return () => codesOf(parts);
    },
  });
}

/** @param {Part[]} parts @param {Part} [holder] */
async function codesOf(parts, holder) {
  /** @type {Record<string, number>} */
  const all = {};
  for (const codes of await Promise.all(parts.map((part) => part.ask('codes')))) {
    for (const [code, count] of Object.entries(codes)) all[code] = (all[code] ?? 0) + Number(count);
  }
  await stopAll(holder ? [...parts, holder] : parts);
  return all;
}

/**
 * @param {string} title
 * @param {Parameters<typeof measureBeside<Record<string, number>>>[0]} options
 */
async function judged(title, options) {
  const loadBefore = load();
  const told = await measureBeside(options);
  return { title, loadBefore, ...told, isMet: told.lost === 0 && told.disturbed.p99 < P99_MS_MAX };
}

/** @param {Awaited<ReturnType<typeof judged>>} result */
export function tellBeside({ title, loadBefore, undisturbed, rising, disturbed, roseMs, lost, memberMb, outcome, isMet }) {
  const row = (/** @type {string} */ what, /** @type {typeof disturbed} */ { p50, p99, longest, acquires }) =>
    `${what.padEnd(15)}p50 ${p50} ms, p99 ${p99} ms, longest ${longest} ms, of ${acquires} acquires`;
  const refusals = Object.entries(outcome).map(([code, count]) => `${count} ${code}`);
  return [
    `an honest client beside ${title} (load before ${loadBefore}, Node ${process.version})`,
    row('undisturbed', undisturbed),
    row(`while it rises`, rising),
    row('disturbed', disturbed),
    `it stood after ${roseMs} ms; refused: ${refusals.join(', ') || 'none'}; leases lost by the honest client: ${lost}; member memory ${memberMb} MB`,
    isMet ? 'met' : 'MISSED',
    '',
  ].join('\n');
}
