/** Quorum rounds with nothing in them: 60 bytes to each of three peers, done when two have sent them back. */
import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';
import { quantile, serve } from './processes.mjs';

const MESSAGE_BYTES = 60;
const BATCH_MAX = 4096;

/** @type {import('node:net').Socket[]} */
let sockets = [];

serve({
  /** @param {{ ports: number[] }} details */
  async open({ ports }) {
    sockets = await Promise.all(
      ports.map(
        (port) =>
          /** @type {Promise<import('node:net').Socket>} */ (
            new Promise((resolve) => {
              const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket));
            })
          ),
      ),
    );
  },

  /** @param {{ atOnce: number, seconds: number }} details */
  run: ({ atOnce, seconds }) =>
    new Promise((resolve) => {
      const payload = Buffer.alloc(MESSAGE_BYTES * BATCH_MAX, 7);
      const bytesBack = [0, 0, 0];
      /** @type {number[]} */
      const startedAt = [];
      /** @type {number[]} */
      const latencies = [];
      let sent = 0;
      let done = 0;
      const began = performance.now();

      const top = () => {
        const count = Math.min(BATCH_MAX, atOnce - (sent - done));
        if (count <= 0) return;
        const now = performance.now();
        for (let i = 0; i < count; i++) startedAt.push(now);
        sent += count;
        for (const socket of sockets) socket.write(payload.subarray(0, count * MESSAGE_BYTES));
      };
      sockets.forEach((socket, i) => {
        socket.on('data', (chunk) => {
          bytesBack[i] += chunk.length;
          const [, second] = [...bytesBack].sort((a, b) => b - a);
          const finished = Math.floor((second ?? 0) / MESSAGE_BYTES);
          const now = performance.now();
          for (; done < finished; done++) latencies.push(now - /** @type {number} */ (startedAt[done]));
          if (now - began < seconds * 1000) return top();
          // The slowest of the three still has answers under way; they must not count for the next run.
          if (bytesBack.every((bytes) => bytes === sent * MESSAGE_BYTES)) {
            for (const one of sockets) one.removeAllListeners('data');
            resolve({
              perSecond: (done / (now - began)) * 1000,
              p50Us: quantile(latencies, 0.5) * 1000,
              p99Us: quantile(latencies, 0.99) * 1000,
            });
          }
        });
      });
      top();
    }),
});
