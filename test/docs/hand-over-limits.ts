/** The limits of hand-over, for docs/limits.md, beside those of logs and views: what the constants say, and what crossing each answers. */
import { expect } from 'vitest';
import { testCell } from '../../src/api/testing.ts';
import { WAITERS_TOLD_MAX } from '../../src/core/leases/quorum/line-told.ts';
import { LOG_LIMITS } from './log-limits.ts';
import { VIEW_LIMITS } from './view-limits.ts';

interface HandOverLimit {
  readonly value: string;
  readonly standard: string;
  cross(): Promise<void>;
}

export const LOG_AND_HAND_OVER_LIMITS: Readonly<Record<string, HandOverLimit>> = {
  ...LOG_LIMITS,
  ...VIEW_LIMITS,
  'waiters that waiters tells of': {
    value: String(WAITERS_TOLD_MAX),
    standard: '',
    async cross() {
      await using cell = await testCell({ maxTerm: '10s' });
      const client = await cell.client();
      await client.acquire('x');
      const waiting = Array.from({ length: WAITERS_TOLD_MAX + 1 }, () => client.acquire('x').catch(() => null));
      await cell.advance('2s');
      const asked = client.waiters('x');
      await cell.advance('1s');
      expect(await asked).toHaveLength(WAITERS_TOLD_MAX);
      await client.close();
      await Promise.all(waiting);
    },
  },
};
