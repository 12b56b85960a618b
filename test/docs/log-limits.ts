/** The limits of logs, for docs/limits.md: what the constants say, and what crossing each answers. */
import { expect } from 'vitest';
import { PUBLISH_WAITING_BYTES_MAX } from '../../src/api/broadcast/publish-queue.ts';
import { CLIENT_MESSAGE_BYTES_MAX } from '../../src/api/broadcast/timing.ts';
import { testCell } from '../../src/api/testing.ts';
import { BROADCAST_LIMITS, MESSAGE_BYTES_MAX } from '../../src/core/index.ts';
import { STATE_BYTES_MAX } from '../../src/core/broadcast/state-copies.ts';
import { all, endsOf, retaining } from '../api/log-kit.ts';

interface LogLimit {
  readonly value: string;
  readonly standard: string;
  cross(): Promise<void>;
}

async function refused(call: Promise<unknown>, code: string): Promise<void> {
  await expect(call).rejects.toMatchObject({ code });
}

export const LOG_LIMITS: Readonly<Record<string, LogLimit>> = {
  'a message that is published': {
    value: `${MESSAGE_BYTES_MAX} bytes by a member, ${CLIENT_MESSAGE_BYTES_MAX} bytes by a client`,
    standard: '',
    async cross() {
      await using logs = await testCell();
      await refused(
        logs
          .member('a')
          .broadcast()
          .publish(new Uint8Array(MESSAGE_BYTES_MAX + 1)),
        'TENURE_LIMIT',
      );
      await refused((await logs.client()).broadcast().publish(new Uint8Array(CLIENT_MESSAGE_BYTES_MAX + 1)), 'TENURE_LIMIT');
    },
  },
  'messages of a process that have no position yet': {
    value: `${BROADCAST_LIMITS.ownBytes} bytes with the members, and ${PUBLISH_WAITING_BYTES_MAX} bytes that wait to be sent`,
    standard: '',
    async cross() {
      await using logs = await testCell();
      const [a, message] = [logs.member('a'), new Uint8Array(MESSAGE_BYTES_MAX)];
      logs.cutOff(a);
      const most = Math.floor(PUBLISH_WAITING_BYTES_MAX / MESSAGE_BYTES_MAX);
      const ends = endsOf(Array.from({ length: most }, () => a.broadcast().publish(message)));
      await refused(a.broadcast().publish(message), 'TENURE_LIMIT');
      logs.crash(a);
      await ends;
    },
  },
  'messages that a log keeps': {
    value: `${BROADCAST_LIMITS.retainBytes} bytes, and ${BROADCAST_LIMITS.retainInstances} batches`,
    standard: '',
    async cross() {
      await using logs = await retaining(2);
      const log = logs.member('a').broadcast();
      for (const text of ['1', '2', '3']) await log.publish(text);
      await refused(all(log), 'TENURE_POSITION_GONE');
      expect(await all(log, { from: 'first' })).toEqual(['2', '3']);
    },
  },
  'states that a member keeps for readers that are behind': {
    value: `${STATE_BYTES_MAX} bytes of all logs together`,
    standard: '',
    async cross() {
      await using logs = await testCell({ members: 1 });
      await logs
        .member('a')
        .broadcast('one')
        .keep({ position: 1, state: new Uint8Array(STATE_BYTES_MAX) });
      await refused(
        logs
          .member('a')
          .broadcast('other')
          .keep({ position: 1, state: new Uint8Array(1) }),
        'TENURE_LIMIT',
      );
    },
  },
};
