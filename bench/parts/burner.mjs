/** A process that has nothing to do with the cell, and takes a stated part of one core, in slices as another would that is woken so often. */
import { performance } from 'node:perf_hooks';
import { setTimeout as rest } from 'node:timers/promises';
import { serve } from './processes.mjs';

const SLICE_MS = 5;

const usedUs = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

serve({
  /** @param {{ share: number, seconds: number }} details */
  async burn({ share, seconds }) {
    const [began, usedBefore] = [performance.now(), usedUs()];
    const until = began + seconds * 1000;
    for (let now = began; now < until; now = performance.now()) {
      const dueUs = usedBefore + share * (now - began) * 1000;
      while (usedUs() < dueUs && performance.now() < until);
      await rest(SLICE_MS);
    }
    return { cpuShare: (usedUs() - usedBefore) / 1000 / (performance.now() - began) };
  },
});
