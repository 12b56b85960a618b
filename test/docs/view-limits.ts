/** The limit of views, for docs/limits.md: what the constant says, and what crossing it answers. */
import { expect } from 'vitest';
import { targetOf } from '../../src/api/cell/member-change.ts';
import { foundingView } from '../../src/api/cell/membership.ts';
import { META_BYTES_MAX } from '../../src/core/index.ts';

export const VIEW_LIMITS = {
  'a view, with the ids and addresses of all members of before and after': {
    value: `${META_BYTES_MAX} bytes`,
    standard: '',
    cross(): Promise<void> {
      const terms = { replication: 1, maxTermUs: 1_000_000, rateErrorPpm: 0 };
      const { cur } = foundingView([{ number: 0, id: 'a', address: '127.0.0.1:1' }], terms);
      const more = (count: number): Record<string, string> =>
        Object.fromEntries(Array.from({ length: count }, (_, i) => [`${'x'.repeat(180)}${i}`, '127.0.0.1:1']));
      expect(targetOf({ add: more(4) })(cur).members).toHaveLength(5);
      expect(() => targetOf({ add: more(6) })(cur)).toThrow(expect.objectContaining({ code: 'TENURE_LIMIT' }));
      return Promise.resolve();
    },
  },
};
