/** What is leased under a prefix? Lists, page by page, put together from what a quorum tells. */
import { describe, expect, it } from 'vitest';
import { QuorumCore } from '../../../src/core/index.ts';
import { incarnation, nodeId } from '../../../src/kernel/index.ts';
import { Cell, name, not, ofKind, TERM_US, TIMING, to } from './cell.ts';
import { census } from './census.ts';

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

function names(cell: Cell, node: number): string[] {
  return cell
    .node(node)
    .last('listed')
    .leases.map((lease) => text(lease.name))
    .sort();
}

describe('a list', () => {
  it('has the leases of names with the prefix, who holds them, and what they say of themselves', () => {
    const cell = new Cell({ clients: 2 });
    const [holder, asker] = [cell.node(3), cell.node(4)];
    for (const of of ['jobs/1', 'jobs/2', 'job', 'other']) holder.acquire({ name: name(of), meta: name(`about ${of}`) });
    cell.settle();
    cell.pass(TERM_US / 4);
    const question = asker.list('jobs/');
    expect(cell.settle()).toBe(2);
    const { lease, leases, certain } = asker.last('listed');
    expect([lease, certain, names(cell, 4)]).toEqual([question, true, ['jobs/1', 'jobs/2']]);
    for (const listed of leases) {
      expect(listed).toMatchObject({ certain: true, holder: { owner: holder.incarnation } });
      expect(text(listed.meta ?? new Uint8Array(0))).toBe(`about ${text(listed.name)}`);
      expect(listed.holder.remainingUsMax).toBeGreaterThanOrEqual((TERM_US * 3) / 4);
    }
  });

  it('is surely empty when nothing is held, and does not show what was given back or ran out', () => {
    const cell = new Cell();
    const lease = cell.node(0).acquire({ name: name('a') });
    cell.node(0).acquire({ name: name('b') });
    cell.settle();
    cell.node(0).release(lease, name('a'));
    cell.settle();
    cell.node(1).list();
    cell.settle();
    expect(names(cell, 1)).toEqual(['b']);
    cell.pass(2 * TERM_US);
    cell.node(1).list();
    cell.settle();
    expect(cell.node(1).last('listed')).toMatchObject({ leases: [], certain: true });
  });

  it('of thousands comes in pages of bounded size, each asked for when the one before was read', () => {
    const cell = new Cell({ clients: 2 });
    const count = 1000;
    for (let i = 0; i < count; i++) cell.node(3).acquire({ name: name(`n/${i}`), meta: new Uint8Array(i % 3 === 0 ? 1000 : 0) });
    cell.settle();
    const mark = cell.sent.length;
    cell.node(4).list('n/');
    let mostOfOnePage = 0;
    while (cell.flying.length > 0) {
      cell.deliver();
      const bytes = cell.flying
        .filter(({ from, to: addressee }) => from === 0 && addressee === 4)
        .reduce((sum, packet) => sum + packet.bytes.length, 0);
      mostOfOnePage = Math.max(mostOfOnePage, bytes);
    }
    expect(names(cell, 4)).toHaveLength(count);
    expect(mostOfOnePage).toBeGreaterThan(10_000);
    expect(mostOfOnePage).toBeLessThan(100_000);
    expect(cell.tally(mark)['LIST']).toBeGreaterThan(12);
  });

  it('gets through when messages are lost, doubled and out of order', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const cell = new Cell({ clients: 2, seed });
      for (let i = 0; i < 300; i++) cell.node(3).acquire({ name: name(`n/${i}`) });
      cell.settle();
      cell.node(4).list('n/');
      for (let turn = 0; cell.node(4).said('listed').length === 0 && turn < 1000; turn++) {
        const packets = cell.drop();
        for (const packet of packets.toSorted(() => cell.random.below(3) - 1)) {
          if (cell.random.below(2000) === 0) continue;
          cell.hand(packet);
          if (cell.random.below(4) === 0) cell.hand(packet);
        }
        cell.pass(packets.length > 0 ? 100 : TIMING.attemptUs);
        cell.node(4).wake();
      }
      expect(cell.node(4).last('listed').leases, `seed ${seed}`).toHaveLength(300);
    }
  });

  it('is sure without a member that is down, and waits for it no longer than an attempt', () => {
    const cell = new Cell({ clients: 2 });
    cell.node(3).acquire();
    cell.settle();
    cell.node(2).down = true;
    cell.node(4).list();
    cell.run(TIMING.attemptUs);
    expect(cell.node(4).last('listed')).toMatchObject({ certain: true, leases: [{ certain: true }] });
  });

  it('shows what too few voters told of as possible, if others were not heard', () => {
    const cell = new Cell({ clients: 2 });
    cell.node(3).acquire();
    cell.settle(not(to(1)));
    cell.drop();
    cell.node(4).list();
    cell.run(TIMING.attemptUs, not(to(2)));
    expect(cell.node(4).last('listed')).toMatchObject({ certain: true, leases: [{ certain: false }] });
  });

  it('does not show a minority of votes', () => {
    const cell = new Cell({ clients: 2 });
    cell.node(3).acquire();
    cell.deliver(to(0));
    cell.drop();
    cell.node(4).list();
    cell.settle();
    expect(cell.node(4).last('listed')).toMatchObject({ certain: true, leases: [] });
  });

  it('is not sure when too few answer, and ends all the same', () => {
    const cell = new Cell({ clients: 2 });
    cell.node(3).acquire();
    cell.settle();
    cell.node(4).list();
    cell.run(10 * TIMING.attemptUs, not(to(1, 2)));
    expect(cell.node(4).last('listed')).toMatchObject({ certain: false, leases: [{ certain: false }] });
    expect(cell.node(4).core.wakeAt).toBe(Infinity);
  });

  it('hears nothing of members that keep silent', () => {
    const cell = new Cell({ clients: 1, restarted: true });
    cell.node(3).list();
    cell.run(10 * TIMING.attemptUs);
    expect(cell.node(3).last('listed')).toMatchObject({ certain: false, leases: [] });
  });

  it('counts only the voters of a name when not all members vote', () => {
    const cell = new Cell({ members: 5, clients: 2, replication: 3 });
    for (let i = 0; i < 50; i++) cell.node(5).acquire({ name: name(`n/${i}`) });
    cell.settle();
    cell.node(6).list();
    cell.settle();
    const { leases, certain } = cell.node(6).last('listed');
    expect([leases.length, certain, leases.every((lease) => lease.certain)]).toEqual([50, true, true]);
  });

  it('goes on to the next page though its asker does not believe a name on this one, and is not sure by that member', () => {
    const cell = new Cell({ clients: 3 });
    const [ahead, holder, asker] = [cell.node(3), cell.node(4), cell.node(5)];
    // The members believe both of its neighbours; the asker, whose clock is behind, does not believe the one that is ahead.
    ahead.wallOffsetUs += TIMING.aheadUsMax / 2;
    ahead.acquire({ name: name('n/beyond') });
    cell.settle();
    for (let i = 0; i < 300; i++) holder.acquire({ name: name(`n/${i}`), lease: 1000 + i });
    cell.settle();
    asker.wallOffsetUs -= (TIMING.aheadUsMax * 3) / 4;
    asker.list('n/');
    cell.settle();
    expect(asker.last('listed').certain).toBe(false);
    expect(names(cell, 5)).toHaveLength(300);
    expect(asker.last('listed').leases.every(({ certain }) => certain)).toBe(true);
  });

  it('that nobody wants any more is forgotten', () => {
    const cell = new Cell({ clients: 1 });
    const question = cell.node(3).list();
    cell.node(3).command({ kind: 'unlist', lease: question });
    cell.run(TERM_US);
    expect(cell.node(3).said('listed')).toEqual([]);
    const left = Object.entries(census(cell.node(3).core)).filter(([path, size]) => path.includes('lister') && size > 0);
    expect(left).toEqual([]);
  });

  it('under way survives being written down', () => {
    const cell = new Cell({ clients: 2 });
    for (let i = 0; i < 300; i++) cell.node(3).acquire({ name: name(`n/${i}`) });
    cell.settle();
    const asker = cell.node(4);
    asker.list();
    cell.deliver();
    cell.deliver((packet) => packet.kind !== 'PAGED' || packet.from !== 2);
    const before = asker.core.snapshot();
    const boot = { self: nodeId(4), incarnation: incarnation(asker.incarnation), restarted: false, diskKept: false };
    asker.core = new QuorumCore(cell.config, boot);
    asker.core.restore(before);
    expect(asker.core.snapshot()).toEqual(before);
    cell.settle();
    expect(names(cell, 4)).toHaveLength(300);
  });
});

describe('who watches', () => {
  it('hears of the end of what a list or a question found, though its holder never spoke again', () => {
    for (const ask of ['list', 'query'] as const) {
      const cell = new Cell({ clients: 2 });
      cell.node(3).acquire({ keep: true, meta: name('me') });
      cell.settle();
      cell.node(4).command({ kind: 'watch', prefix: name('r') });
      cell.node(4)[ask]();
      cell.settle();
      expect(cell.node(4).said('learned')).toMatchObject([{ holder: { owner: cell.node(3).incarnation }, meta: name('me') }]);
      cell.node(3).down = true;
      cell.run(3 * TERM_US);
      expect(cell.node(4).last('learned').holder).toBeNull();
    }
  });

  it('is not told again of what it knows', () => {
    const cell = new Cell({ clients: 2 });
    cell.node(4).command({ kind: 'watch', prefix: name('r') });
    cell.settle();
    cell.node(3).acquire({ meta: name('me') });
    cell.settle();
    cell.node(4).query();
    cell.node(4).list();
    cell.settle(not(ofKind('nothing')));
    expect(cell.node(4).said('learned')).toHaveLength(1);
  });
});
