/** A member of the benches' cell. */
import { joinCell } from '../../dist/api/index.js';
import { serve } from './processes.mjs';

serve({
  async join(options) {
    const cell = await joinCell(options);
    await cell.ready();
  },
  memory: () => process.memoryUsage.rss(),
  cpuUs() {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
});
