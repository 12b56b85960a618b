/** A worker thread of `tenure sim`: is sent chunks, sends back their results. */
import { parentPort } from 'node:worker_threads';
import { kits, runChunk } from '../sim/index.ts';
import type { ChunkOrder } from './sim-pool.ts';

parentPort?.on('message', ({ protocol, mutant, seed, first, count, stopAtViolation }: ChunkOrder) => {
  const simulation = kits.find(({ name }) => name === protocol);
  if (!simulation) throw new Error(`no protocol ${protocol}`);
  parentPort?.postMessage(runChunk(simulation, mutant, seed, first, count, stopAtViolation));
});
