/** Whoever changes a cell: in a process of its own, so that it can be killed. */
import { connect } from '../../dist/api/index.js';
import { notify, serve } from './processes.mjs';

serve({
  /** @param {{ reach: import('../../dist/api/index.js').ConnectOptions, change: import('../../dist/api/index.js').MemberChange }} details */
  async change({ reach, change }) {
    const cell = await connect(reach);
    const view = await cell.changeMembers(change, { onProgress: ({ epoch, text }) => notify(`view ${epoch}: ${text}`) });
    await cell.close();
    return { epoch: view.epoch, members: view.members.map(({ id }) => id), maxTermMs: view.maxTermMs, replication: view.replication };
  },
});
