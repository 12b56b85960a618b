/** A process that knows nothing of the cell, and writes to a data directory of its own as a member does for a claim, so often a second. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as rest } from 'node:timers/promises';
import { DataDir } from '../../dist/runtime/index.js';
import { serve } from './processes.mjs';

const RECORD = new Uint8Array(60);
/** @type {DataDir} */
let dir;
let folder = '';

serve({
  async open() {
    folder = mkdtempSync(join(tmpdir(), 'tenure-flush-'));
    dir = await DataDir.open({ path: folder, cell: 'bench', member: 'a', incarnation: /** @type {any} */ (1), sections: ['claims'] });
  },

  /** @param {{ perSecond: number, seconds: number }} details */
  async flush({ perSecond, seconds }) {
    const { disk } = dir.section('claims');
    const [began, before] = [performance.now(), process.cpuUsage()];
    let writes = 0;
    for (let elapsed = 0; elapsed < seconds * 1000; elapsed = performance.now() - began) {
      while (writes < (elapsed / 1000) * perSecond) {
        const place = `place/${writes++ % 16}`;
        await new Promise((resolve) => disk.write(place, RECORD, resolve));
      }
      await rest(1000 / perSecond);
    }
    const { user, system } = process.cpuUsage(before);
    return { cpuShare: (user + system) / 1000 / (performance.now() - began) };
  },

  async close() {
    await dir.close();
    rmSync(folder, { recursive: true, force: true });
  },
});
