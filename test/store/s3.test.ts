/** URLs of buckets. What a bucket does is tested against a real server: `npm run test:s3`. */
import { expect, test } from 'vitest';
import { openStore } from '../../src/store/index.ts';
import { shownUrl } from '../../src/store/by-url.ts';

test.each(['s3:///leases', 's3://bucket/a b', 's3://bucket/x?endpoint=nowhere', 's3://bucket/x?swap=perhaps', 's3://bucket/x?bucket=y'])(
  '%s cannot name a store',
  async (url) => {
    await expect(openStore(url)).rejects.toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
  },
);

test('the secret of a URL is shown nowhere', () => {
  expect(shownUrl('s3://key:secret@bucket/leases?region=eu-west-1')).not.toContain('secret');
});
