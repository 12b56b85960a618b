/** A process that publishes to a log and reads it: everything through the public API. */
import { performance } from 'node:perf_hooks';
import { connect } from '../../dist/api/index.js';
import { costs } from './costs.mjs';
import { paceOf, serve } from './processes.mjs';

/** @type {import('../../dist/api/index.js').Cell} */
let cell;
/** What was acknowledged: the message at each position. @type {Map<number, string>} */
const acknowledged = new Map();
/** What was read, in order. @type {{ position: number, text: string }[]} */
const read = [];
const reading = new AbortController();
/** Why reading ended. @type {string | null} */
let failure = null;

serve({
  async connect(options) {
    cell = await connect(options);
    await cell.broadcast().ready();
  },

  /** `atOnce` workers, each publishes one message after the other. @param {{ atOnce: number, bytes: number, seconds: number }} details */
  run({ bytes, ...details }) {
    const log = cell.broadcast();
    const message = new Uint8Array(bytes).fill(0x61);
    return paceOf(details, () => log.publish(message));
  },

  /** Reads everything from the beginning, until told to stop. */
  follow() {
    void (async () => {
      try {
        for await (const { position, text } of cell.broadcast().read({ signal: reading.signal })) read.push({ position, text });
      } catch (error) {
        if (!reading.signal.aborted) failure = error instanceof Error ? error.message : 'it is no error';
      }
    })();
  },

  /**
   * Publishes a few messages at a time, again and again; each is acknowledged before the next few follow.
   * @param {{ name: string, seconds: number, atOnce: number, pauseMs: number }} details
   */
  async publishForLong({ name, seconds, atOnce, pauseMs }) {
    const log = cell.broadcast();
    const until = performance.now() + seconds * 1000;
    let [next, waitMsMax] = [0, 0];
    while (performance.now() < until) {
      const began = performance.now();
      await Promise.all(
        Array.from({ length: atOnce }, async () => {
          const text = `${name}-${next++}`;
          acknowledged.set(await log.publish(text), text);
        }),
      );
      waitMsMax = Math.max(waitMsMax, performance.now() - began);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    return { acknowledged: acknowledged.size, waitMsMax: Math.round(waitMsMax) };
  },

  /** Resolves when it has read up to this position: all that was read, and what was acknowledged and is not there. @param {{ last: number }} details */
  async verdict({ last }) {
    while (failure === null && (read.at(-1)?.position ?? 0) < last) await new Promise((resolve) => setTimeout(resolve, 20));
    reading.abort();
    const found = new Map(read.map(({ position, text }) => [position, text]));
    const lost = [...acknowledged].filter(([position, text]) => found.get(position) !== text);
    return { read, lost, failure };
  },

  last: () => Math.max(0, ...acknowledged.keys()),
  close: () => cell.close(),
  costs,
});
