/** What a look-up of Flease or PaxosLease tells for certain was so at one instant: voters are read twice, and what is the same both times was so in between. */
import { describe, expect, it } from 'vitest';
import { Cell, ofKind, SKEW_US, TERM_US, to, type CellOptions } from './cell.ts';

const ENGINES: readonly [string, CellOptions][] = [
  ['flease', { engine: 'flease' }],
  ['paxoslease:relative', { engine: 'paxoslease', clocks: 'relative', skewUs: 0 }],
  ['paxoslease:skewed', { engine: 'paxoslease', clocks: 'absolute', skewUs: SKEW_US }],
];
/** In each paper's words. */
const READING = ofKind('READ', 'ackREAD', 'prepare request', 'prepare response');
/** Flease's ballots of one bucket are in a random order. */
const BUCKET_US = 6 * SKEW_US;
/** Any vote that was given a term and this ago is over. */
const LONGER_US = SKEW_US + 20_000;

/** Looks at one member, there and back. */
function read(cell: Cell, asker: number, member: number): void {
  cell.deliver((packet) => READING(packet) && packet.from === asker && packet.to === member);
  cell.deliver((packet) => READING(packet) && packet.from === member && packet.to === asker);
}

describe.each(ENGINES)('a look-up with %s', (_, engine) => {
  it('reads twice, and is certain of what it finds', () => {
    const cell = new Cell({ ...engine, clients: 2 });
    cell.node(4).look();
    cell.settle();
    expect(cell.node(4).last('answered')).toMatchObject({ certain: true, holder: null });
    cell.pass(BUCKET_US);
    cell.node(3).acquire();
    cell.settle();
    cell.pass(BUCKET_US);
    const before = cell.sent.length;
    cell.node(4).look();
    cell.settle();
    expect(cell.node(4).last('answered')).toMatchObject({ certain: true, holder: { token: cell.node(3).last('granted').token } });
    expect(cell.sent.slice(before).filter(({ from }) => from === 4)).toHaveLength(6);
  });

  it('does not tell that nobody holds what one process holds before, during and after', () => {
    const cell = new Cell({ ...engine, clients: 2, rttUs: TERM_US / 25 });
    const [holder, asker] = [cell.node(3), cell.node(4)];
    // Ballots of the renewal are to be in the bucket after that of the look-up, which begins a moment before it.
    cell.pass(BUCKET_US - ((cell.nowUs + TERM_US - 9_000) % BUCKET_US));
    const lease = holder.acquire();
    cell.settle(({ to: target }) => target !== 2);
    cell.drop();
    cell.pass(TERM_US - 10_000);
    // Member 2 is read before the renewal comes there, and member 0, which it misses, after the lease has ended there.
    asker.look();
    read(cell, 4, 2);
    cell.pass(2_000);
    holder.renew(lease);
    cell.settle(({ from, to: target }) => from !== 4 && target !== 0 && target !== 4);
    cell.drop(({ from }) => from === 3);
    expect(holder.remaining(lease)).toBe(TERM_US);
    cell.pass(LONGER_US);
    read(cell, 4, 0);
    cell.settle(READING);
    for (const { certain } of asker.said('answered')) expect(certain).toBe(false);
    expect(holder.holds(lease)).toBe(true);
  });

  it('is not certain of what has changed between the two readings', () => {
    const cell = new Cell({ ...engine, clients: 2 });
    const lease = cell.node(3).acquire();
    cell.settle();
    cell.pass(BUCKET_US);
    cell.node(4).look();
    for (const member of [0, 1]) read(cell, 4, member);
    cell.node(3).release(lease);
    cell.settle(({ from, to: target }) => from === 3 || target === 3);
    cell.settle();
    cell.run(TERM_US / 4);
    expect(cell.node(4).last('answered').certain).toBe(false);
  });

  it('is not certain if its machine slept: voters may have forgotten what they promised', () => {
    const cell = new Cell({ ...engine, clients: 2 });
    cell.node(4).look();
    for (const member of [0, 1]) read(cell, 4, member);
    cell.node(4).wallOffsetUs += TERM_US;
    cell.settle();
    cell.run(TERM_US / 4, to(4));
    expect(cell.node(4).last('answered').certain).toBe(false);
  });
});

it.each(ENGINES.filter(([name]) => name !== 'flease'))(
  'with %s a lease that came and went between two readings is noticed',
  (_, engine) => {
    const cell = new Cell({ ...engine, clients: 2 });
    const [other, asker] = [cell.node(3), cell.node(4)];
    asker.look();
    cell.deliver(({ from, to: target }) => from === 4 && target < 2);
    cell.drop(({ from }) => from === 4);
    cell.pass(1_000);
    const lease = other.acquire();
    cell.settle(({ to: target }) => target !== 4);
    expect(other.holds(lease)).toBe(true);
    other.release(lease);
    cell.settle(({ to: target }) => target !== 4);
    cell.pass(1_000);
    cell.settle();
    cell.run(TERM_US / 4);
    expect(asker.last('answered')).toMatchObject({ certain: false, holder: null });
  },
);

it('a helper that brings back an earlier try of a lease does not undo the one that won', () => {
  let undone = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const cell = new Cell({ engine: 'flease', clients: 3, seed });
    const [owner, helper, asker] = [cell.node(3), cell.node(4), cell.node(5)];
    owner.acquire({ waitUs: TERM_US });
    cell.settle(READING);
    cell.deliver(({ kind, to: target }) => kind === 'WRITE' && target === 0);
    cell.drop();
    helper.acquire();
    cell.settle((packet) => READING(packet) && packet.from !== 1 && packet.to !== 1);
    const help = cell.drop(({ kind, from }) => kind === 'WRITE' && from === 4);
    cell.drop();
    // The second try of the owner has the votes of 0, which has its first, and of 1, which the helper has not asked.
    cell.run(TERM_US / 2, ({ from, to: target }) => from !== 4 && target !== 4 && from !== 2 && target !== 2);
    if (owner.said('granted').length === 0 || help.length === 0) continue;
    for (const packet of help) cell.hand(packet);
    undone += cell.drop(({ kind, to: target }) => kind === 'ackWRITE' && target === 4).length;
    cell.pass(BUCKET_US);
    asker.look();
    cell.settle(READING);
    expect(asker.last('answered').holder?.token, `seed ${seed}`).toBe(owner.last('granted').token);
  }
  expect(undone).toBeGreaterThan(0);
});
