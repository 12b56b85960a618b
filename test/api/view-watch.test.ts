/** Views that a member adopts in quick succession are stored one after the other: the last one that it was told is where its next start begins. */
import { expect, it } from 'vitest';
import { ballotTime } from '../../src/kernel/index.ts';
import type { View } from '../../src/core/index.ts';
import { foundingView, Membership } from '../../src/api/cell/membership.ts';
import { ViewWatch } from '../../src/api/cell/view-watch.ts';

const places = ['a', 'b', 'c'].map((id, number) => ({ number, id, address: `${id}:1` }));
const { cur } = foundingView(places, { replication: 3, maxTermUs: 1_000_000, rateErrorPpm: 1000 });
const view = (epoch: number): View => ({ epoch, id: epoch, cur, old: null, floor: ballotTime(0), isMoved: false });

/** A store whose calls end when the test says so. */
function watched(): { watch: ViewWatch; begun: number[]; end: (why?: Error) => Promise<void>; stored: number[]; failed: string[] } {
  const [begun, stored, failed]: [number[], number[], string[]] = [[], [], []];
  const ends: ((why?: Error) => void)[] = [];
  const nothing = (): void => {};
  const watch = new ViewWatch({
    membership: new Membership(places),
    transport: {},
    self: () => 0,
    store: ({ epoch }) =>
      new Promise((resolve, reject) => {
        begun.push(epoch);
        ends.push((why) => (why ? reject(why) : resolve()));
      }),
    stored: ({ epoch }) => stored.push(epoch),
    storing: ({ message }) => failed.push(message),
    moved: nothing,
    removed: nothing,
    misnumbered: nothing,
    changed: nothing,
  });
  const moment = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const end = async (why?: Error): Promise<void> => {
    await moment();
    ends.shift()?.(why);
    await moment();
  };
  return { watch, begun, end, stored, failed };
}

it('a view is handed to whoever stores it when the one before is stored', async () => {
  const { watch, begun, end, stored } = watched();
  watch.adopted(view(1), false);
  watch.adopted(view(2), false);
  await end();
  expect([begun, stored]).toEqual([[1, 2], [1]]);
  await end();
  expect(stored).toEqual([1, 2]);
});

it('not before: what is written first might end up last', async () => {
  const { watch, begun, end } = watched();
  watch.adopted(view(1), false);
  watch.adopted(view(2), false);
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toEqual([1]);
  await end();
  expect(begun).toEqual([1, 2]);
});

it('one that could not be stored does not keep the next one from it', async () => {
  const { watch, begun, end, stored, failed } = watched();
  watch.adopted(view(1), false);
  watch.adopted(view(2), false);
  await end(new Error('full'));
  await end();
  expect([begun, stored]).toEqual([[1, 2], [2]]);
  expect(failed).toEqual([expect.stringContaining('view 1 was not stored: Error: full')]);
});
