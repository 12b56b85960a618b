/** A process that puts values into etcd servers, as `publisher.mjs` publishes to a log. */
import { openPuts } from './etcd.mjs';
import { paceOf, serve } from './processes.mjs';

/** @type {Awaited<ReturnType<typeof openPuts>>} */
let puts;
let number = 0;

serve({
  async connect({ urls }) {
    puts = await openPuts(urls);
  },

  /** `atOnce` workers, each puts one value after the other. @param {{ atOnce: number, bytes: number, seconds: number }} details */
  run({ bytes, ...details }) {
    const value = new Uint8Array(bytes).fill(0x61);
    return paceOf(details, () => puts.put(number++, value));
  },

  close: () => puts.close(),
});
