/** Bundles that begin anew, differ or are looked at again: leases in them are kept, and none is asked for singly without need. */
import { describe, expect, it } from 'vitest';
import { Cell, name, not, ofKind, R, TERM_US, TIMING, to, type Packet } from './cell.ts';

const HOLDER = 3;

describe('a bundle that a voter has begun anew', () => {
  it.each([1, 2])('keeps its leases when the other voters were started again (%i leases)', (count) => {
    const cell = new Cell({ clients: 1, bundles: true, keeps: 'votes' });
    const holder = cell.node(HOLDER);
    const names = Array.from({ length: count }, (_, i) => name(`n${i}`));
    const leases = names.map((of) => holder.acquire({ name: of, keep: true }));
    cell.run(3 * TERM_US);
    const isCut = ({ from, to: target }: Packet): boolean => (from === HOLDER && target === 0) || (from === 0 && target === HOLDER);
    // One voter is cut off for longer than its bundle lasts.
    cell.run(2 * TIMING.silenceUs, not(isCut));
    // The others are started again, with their votes. The next round hears so from both.
    cell.node(1).restart();
    cell.node(2).restart();
    const mark = cell.sent.length;
    while (cell.tally(mark)['PROPOSE'] === undefined) cell.run(1000, (packet) => !isCut(packet) && packet.kind !== 'PROPOSE');
    expect(cell.tally(mark)['NO_BUNDLE']).toBe(2);
    // Their votes take longer than the round waits for the voter that is cut off; that voter is the first to answer, with another number.
    cell.run(TERM_US / 10, (packet) => !isCut(packet) && packet.kind !== 'PROPOSE');
    cell.drop(not(ofKind('PROPOSE')));
    cell.settle((packet) => to(0)(packet) || packet.from === 0);
    cell.settle();
    cell.run(TERM_US / 10);
    expect(leases.filter((lease, i) => holder.holds(lease, names[i]))).toEqual(leases);
    if (count > 1) {
      holder.release(leases.shift() as number, names.shift());
      cell.settle();
    }
    cell.run(6 * TERM_US);
    expect(leases.filter((lease, i) => holder.holds(lease, names[i]))).toEqual(leases);
    expect(holder.said('lost')).toEqual([]);
  });
});

describe('a bundle that is looked at', () => {
  it('loses no lease to a look that takes longer than the rounds that ask for it', () => {
    const cell = new Cell({ clients: 1, bundles: true });
    const holder = cell.node(HOLDER);
    const names = Array.from({ length: 700 }, (_, i) => name(`some-name-${i}`));
    const leases = names.map((of) => holder.acquire({ name: of, keep: true }));
    cell.run(3 * TERM_US);
    // The last one's release is lost at one voter, whose bundle goes on having it.
    holder.release(leases.pop() as number, names.pop());
    cell.drop((packet) => packet.kind === 'RELEASE' && packet.to === 0);
    cell.settle();
    const mark = cell.sent.length;
    const isPage = (packet: Packet): boolean => packet.kind === 'UNFOLD' || packet.kind === 'UNFOLDED';
    for (let part = 0; part < 400; part++) {
      cell.run(TERM_US / 10, (packet) => !isPage(packet) && packet.kind !== 'RELEASE');
      cell.deliver(ofKind('UNFOLD'));
      cell.deliver(ofKind('UNFOLDED', 'RELEASE'));
    }
    expect(cell.tally(mark)['UNFOLD'] ?? 0).toBeGreaterThan(0);
    expect(holder.said('lost')).toEqual([]);
    expect(cell.tally(mark)['PROPOSE'] ?? 0).toBe(0);
  });

  it('does not differ after a lease was upgraded, renewed in bulk and downgraded', () => {
    const cell = new Cell({ clients: 1, bundles: true });
    const holder = cell.node(HOLDER);
    holder.command({ kind: 'acquire', lease: 1, name: R, termUs: TERM_US, waitUs: 0, keep: true, mode: 'shared' });
    // Another keeps the bundle as it is.
    holder.acquire({ name: name('own'), keep: true, lease: 2 });
    cell.run(3 * TERM_US);
    holder.command({ kind: 'upgrade', lease: 1, name: R, waitUs: 0 });
    cell.run(3 * TERM_US);
    holder.command({ kind: 'downgrade', lease: 1, name: R });
    cell.run(TERM_US);
    const mark = cell.sent.length;
    cell.run(10 * TERM_US);
    expect(holder.holds(1)).toBe(true);
    expect(cell.tally(mark)['RENEWED']).toBeGreaterThan(0);
    expect(cell.tally(mark)['UNFOLD'] ?? 0).toBe(0);
  });
});

describe('a round', () => {
  it('that is over by the wall clock renews nothing, and the lease of before lives on', () => {
    const cell = new Cell({ clients: 1, bundles: true });
    const holder = cell.node(HOLDER);
    const lease = holder.acquire({ keep: true });
    cell.run(3 * TERM_US);
    // Set back, and forward again while a round is under way.
    holder.wallOffsetUs -= 5 * TERM_US;
    const mark = cell.sent.length;
    while (cell.tally(mark)['RENEW'] === undefined) cell.run(1000, ({ kind }) => kind !== 'RENEW');
    const before = holder.said('renewed').length;
    holder.wallOffsetUs += 2 * TERM_US;
    cell.settle();
    expect(holder.said('renewed')).toHaveLength(before);
    expect(holder.holds(lease)).toBe(true);
  });
});
