/** A member whose disk fails: it says so wherever one may look, and nothing else of it ends. */
import { expect, test } from 'vitest';
import { Cell } from '../../src/api/cell/cell.ts';
import { Membership } from '../../src/api/cell/membership.ts';
import { CellNode } from '../../src/api/cell/node.ts';
import { makeEngine } from '../../src/api/engines/index.ts';
import { observe } from '../../src/api/index.ts';
import { Observer } from '../../src/api/observing/observer.ts';
import { incarnation, NO_KEY, SeededChooser } from '../../src/kernel/index.ts';
import { SystemClocks, type Disk } from '../../src/runtime/index.ts';
import { MemoryHub } from '../../src/transport/index.ts';

const BROKEN: Disk = {
  read: (_key, done) => void setImmediate(done, false, null),
  write: (_key, _value, done) => void setImmediate(done, false, null),
  erase: (_key, done) => void setImmediate(done, false, null),
};

test('a disk that fails is logged, published, told and thrown at whoever waits', async () => {
  const errors: string[] = [];
  const say = (): void => {};
  const logger = { debug: say, info: say, warn: say, error: (fields: object) => void errors.push((fields as { code: string }).code) };
  const stop = observe('tenure:cell:failure', ({ error }) => void errors.push(`channel ${error.code}`));
  const born = incarnation(7);
  const hub = new MemoryHub({ members: ['a'] });
  const transport = hub.transport({ role: 'member', id: 'a', incarnation: born });
  const kept = { disk: BROKEN, keeps: 'votes', isKept: true } as const;
  const surroundings = { clocks: new SystemClocks(), chooser: new SeededChooser(1), hashKey: NO_KEY, restarted: true, kept };
  const observer = new Observer({ cell: 'x', node: 'a', incarnation: born, logger });
  const node = new CellNode({
    transport,
    memberIds: ['a'],
    membership: new Membership([{ number: 0, id: 'a', address: '' }]),
    self: 0,
    incarnation: born,
    surroundings,
    observer,
  });
  const cell = new Cell(node);
  cell.on('failure', ({ code }) => errors.push(`event ${code}`));
  node.begin(makeEngine('quorum', { maxTermUs: 1_000_000, rateErrorPpm: 1000 }), 1);
  await node.connect();
  await expect(cell.ready()).rejects.toMatchObject({ code: 'TENURE_DISK_FAILED' });
  expect(errors.toSorted()).toEqual(['TENURE_DISK_FAILED', 'channel TENURE_DISK_FAILED', 'event TENURE_DISK_FAILED']);
  expect(cell.silentForMs).toBe(Infinity);
  stop();
  await cell.close();
});
