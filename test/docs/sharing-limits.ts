/** The limits of names that are shared, for docs/limits.md: what the constants say, and what crossing each answers. */
import { expect } from 'vitest';
import { openStorage } from '../../src/api/index.ts';
import { openTestCell } from '../../src/api/testing/test-cell.ts';
import { MEMBER_LIMITS } from '../../src/core/index.ts';
import { encodeLeaseRecord, READERS_MAX } from '../../src/core/leases/storage/index.ts';
import { incarnation } from '../../src/kernel/index.ts';
import { openStore } from '../../src/store/index.ts';

interface SharingLimit {
  readonly value: string;
  readonly standard: string;
  cross(): Promise<void>;
}

async function refused(call: Promise<unknown>, code: string): Promise<void> {
  await expect(call).rejects.toMatchObject({ code });
}

export const SHARING_LIMITS: Readonly<Record<string, SharingLimit>> = {
  'readers of one name, on a store that can compare and set': {
    value: String(READERS_MAX),
    standard: '',
    async cross() {
      await using storage = await openStorage('memory:limits');
      const row = { owner: incarnation(7), lease: 1, seq: 1, token: 1, termUs: 1_000_000, meta: null, isHeld: true, isGrounded: true };
      const record = { ...row, readers: Array.from({ length: READERS_MAX }, (_, lease) => ({ ...row, lease })) };
      await (await openStore('memory:limits')).write('full', encodeLeaseRecord('full', record));
      await refused(storage.tryAcquire('full', { mode: 'shared' }), 'TENURE_LIMIT');
    },
  },
  'readers of one name, or slots that are taken, at a member': {
    value: String(MEMBER_LIMITS.sharing),
    standard: '',
    async cross() {
      const full = await openTestCell({}, { limits: { ...MEMBER_LIMITS, sharing: 1 } });
      await full.member('a').acquire('config', { mode: 'shared' });
      await refused(full.member('b').acquire('config', { mode: 'shared' }), 'TENURE_LIMIT');
      await full.close();
    },
  },
};
