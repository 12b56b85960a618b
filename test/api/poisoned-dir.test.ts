/** A data directory that an earlier version let be poisoned: it is not gone by, and moving it away is the way out. */
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { joinCell } from '../../src/api/index.ts';
import { encodeFloor } from '../../src/core/leases/quorum/records.ts';
import { ballotTime, incarnation } from '../../src/kernel/index.ts';
import { DataDir } from '../../src/runtime/index.ts';
import { freePorts } from './real-cell.ts';

const FAR = ballotTime(8_500_000_000_000_000);

test('a poisoned directory opens with TENURE_CLOCK_AHEAD; moved away, its member begins anew', async () => {
  const home = mkdtempSync(join(tmpdir(), 'tenure-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const dataDir = join(home, 'data');
  const poisoned = await DataDir.open({ path: dataDir, cell: 'test', member: 'a', incarnation: incarnation(1) });
  await new Promise((resolve) => poisoned.write('floor', encodeFloor(FAR), resolve));
  await poisoned.close();

  const [port] = await freePorts(1);
  const options = { cell: 'test', self: 'a', members: { a: `127.0.0.1:${port}` }, dataDir, maxTerm: 500 };
  const member = await joinCell(options);
  await expect(member.ready()).rejects.toMatchObject({ code: 'TENURE_CLOCK_AHEAD' });
  await member.close();

  renameSync(dataDir, `${dataDir}.poisoned`);
  const anew = await joinCell(options);
  onTestFinished(() => anew.close());
  await anew.ready();
  const lease = await anew.acquire('x');
  expect(lease.token).toBeLessThan(Date.now() * 1000 + 1_000_000);
  await lease.release();
});
