/** Renewal in bulk: one message for all that a process holds, which no lease outlives without a vote of its own. */
import { describe, expect, it } from 'vitest';
import { Cell, name, not, ofKind, R, TERM_US, TIMING, to, type Node } from './cell.ts';

const NAMES = Array.from({ length: 20 }, (_, i) => name(`name-${i}`));
const HOLDER = 3;

function keepAll(node: Node): number[] {
  return NAMES.map((of) => node.acquire({ name: of, keep: true }));
}

/** A cell in which one process keeps them all, in bundles. */
function kept(options: ConstructorParameters<typeof Cell>[0] = {}): { cell: Cell; holder: Node; leases: number[] } {
  const cell = new Cell({ clients: 2, bundles: true, ...options });
  const holder = cell.node(HOLDER);
  const leases = keepAll(holder);
  cell.run(2 * TERM_US);
  return { cell, holder, leases };
}

function held(holder: Node, leases: readonly number[]): number {
  return leases.filter((lease, i) => holder.holds(lease, NAMES[i])).length;
}

describe('leases that one process keeps', () => {
  it('are renewed by one message to each voter', () => {
    const { cell, holder, leases } = kept();
    const mark = cell.sent.length;
    cell.run(10 * TERM_US);
    const { PROPOSE = 0, RENEW = 0, RENEWED = 0, ...others } = cell.tally(mark);
    expect(PROPOSE).toBe(0);
    expect(others).toEqual({});
    expect(RENEWED).toBe(RENEW);
    expect(RENEW / 3).toBeGreaterThanOrEqual(10);
    expect(RENEW / 3).toBeLessThanOrEqual(40);
    expect(held(holder, leases)).toBe(NAMES.length);
  });

  it('last from the start of the round, and not from the answers', () => {
    const { cell, holder, leases } = kept();
    cell.run(TERM_US, not(ofKind('RENEW')));
    const [first] = cell.flying.filter(ofKind('RENEW'));
    expect(first).toBeDefined();
    // The round that is open began some time ago.
    const before = holder.remaining(leases[0] as number, NAMES[0]);
    cell.settle();
    const after = holder.remaining(leases[0] as number, NAMES[0]);
    expect(after).toBeGreaterThanOrEqual(before);
    expect(after).toBeLessThanOrEqual(TERM_US);
  });

  it('are not in a bundle before their first renewal', () => {
    const cell = new Cell({ clients: 1, bundles: true });
    const holder = cell.node(HOLDER);
    const lease = holder.acquire({ keep: true });
    cell.settle();
    holder.release(lease);
    cell.settle();
    expect(Object.keys(cell.tally()).sort()).toEqual(['ACCEPTED', 'PROPOSE', 'RELEASE', 'RELEASED']);
  });

  it('are lost when no quorum answers, and others may have them', () => {
    const { cell, holder, leases } = kept();
    cell.run(2 * TERM_US, (packet) => packet.from === 0 || packet.to === 0 || (packet.from !== HOLDER && packet.to !== HOLDER));
    expect(held(holder, leases)).toBe(0);
    expect(holder.said('lost')).toHaveLength(NAMES.length);
    const other = cell.node(4);
    cell.drop();
    const lease = other.acquire({ name: NAMES[3] as Uint8Array, waitUs: 4 * TERM_US });
    cell.run(4 * TERM_US, (packet) => packet.from !== HOLDER && packet.to !== HOLDER);
    expect(other.said('granted').map((event) => event.lease)).toEqual([lease]);
  });

  it('outlive a member that is gone, and come back to it a few at a time', () => {
    const { cell, holder, leases } = kept({ succession: 'majority' });
    cell.node(0).down = true;
    cell.run(3 * TERM_US);
    cell.node(0).restart();
    cell.run(8 * TERM_US);
    expect(held(holder, leases)).toBe(NAMES.length);
    expect(holder.said('lost')).toEqual([]);
    const mark = cell.sent.length;
    cell.run(3 * TERM_US, not(to(1)));
    // The one that was started again carries them when another is gone.
    expect(holder.said('lost')).toEqual([]);
    expect(cell.tally(mark)['PROPOSE'] ?? 0).toBe(0);
  });

  it('are read back by a member that keeps its votes, and renewed by it again', () => {
    const { cell, holder, leases } = kept({ keeps: 'votes' });
    for (const member of [0, 1, 2]) cell.node(member).restart();
    cell.run(6 * TERM_US);
    expect(holder.said('lost')).toEqual([]);
    expect(held(holder, leases)).toBe(NAMES.length);
    const mark = cell.sent.length;
    cell.run(2 * TERM_US);
    expect(cell.tally(mark)['PROPOSE'] ?? 0).toBe(0);
  });

  it('end at their own deadlines if their holder renews them no more, while the others are renewed', () => {
    const { cell, holder, leases } = kept();
    holder.command({ kind: 'lapse', lease: leases[7] as number, name: NAMES[7] as Uint8Array });
    cell.run(2 * TERM_US);
    expect(holder.said('lost').map((event) => event.lease)).toEqual([leases[7]]);
    expect(held(holder, leases)).toBe(NAMES.length - 1);
  });

  it('end at a limit of their own, and say so', () => {
    const { cell, holder } = kept();
    holder.command({ kind: 'acquire', lease: 900, name: R, termUs: TERM_US, waitUs: 0, keep: true, maxHoldUs: 3.5 * TERM_US });
    cell.run(3.4 * TERM_US);
    expect(holder.holds(900)).toBe(true);
    cell.run(TERM_US);
    expect(holder.said('lost')).toMatchObject([{ lease: 900, why: 'max-hold' }]);
  });

  it('wait for their next round together: nothing is done for any of them in between', () => {
    const { cell, holder } = kept();
    const before = cell.sent.length;
    while ((cell.tally(before)['RENEWED'] ?? 0) < 3) cell.run(1000);
    const next = holder.core.wakeAt - holder.mono;
    const mark = cell.sent.length;
    expect(next).toBeGreaterThan(TERM_US / 5);
    cell.run(next - 1);
    expect(cell.tally(mark)).toEqual({});
    cell.run(TERM_US / 100);
    expect(cell.tally(mark)).toEqual({ RENEW: 3, RENEWED: 3 });
  });

  it('with a term of their own are in a bundle of their own', () => {
    const { cell, holder } = kept();
    const short = holder.acquire({ keep: true, termUs: TERM_US / 2 });
    cell.run(2 * TERM_US);
    const mark = cell.sent.length;
    cell.run(3 * TERM_US);
    expect(cell.tally(mark)['PROPOSE'] ?? 0).toBe(0);
    expect(holder.holds(short)).toBe(true);
    expect(holder.remaining(short)).toBeLessThanOrEqual(TERM_US / 2);
  });
});

describe('what is given back', () => {
  it('is free at once, while the others are renewed as before', () => {
    const { cell, holder, leases } = kept();
    holder.release(leases[5] as number, NAMES[5]);
    cell.settle();
    const other = cell.node(4).acquire({ name: NAMES[5] as Uint8Array });
    cell.settle();
    expect(cell.node(4).holds(other, NAMES[5])).toBe(true);
    cell.run(3 * TERM_US);
    expect(held(holder, leases)).toBe(NAMES.length - 1);
  });

  it('is free as of when it was to be, and not renewed before', () => {
    const { cell, holder, leases } = kept();
    const lease = leases[5] as number;
    holder.command({ kind: 'release', lease, name: NAMES[5] as Uint8Array, inUs: TERM_US / 2 });
    cell.run(TERM_US);
    expect(holder.holds(lease, NAMES[5])).toBe(false);
    const other = cell.node(4).acquire({ name: NAMES[5] as Uint8Array });
    cell.settle();
    expect(cell.node(4).holds(other, NAMES[5])).toBe(true);
  });

  it('is given back again where the release was lost', () => {
    const { cell, holder, leases } = kept();
    holder.release(leases[5] as number, NAMES[5]);
    cell.drop(ofKind('RELEASE'));
    // Two of three have heard it, and it is not said again.
    const [lost] = cell.sent.filter(ofKind('RELEASE'));
    cell.sent
      .filter(ofKind('RELEASE'))
      .filter(not(to(0)))
      .forEach((packet) => cell.hand(packet));
    cell.settle();
    expect(lost).toBeDefined();
    cell.run(
      4 * TERM_US,
      not(({ kind, to: member }) => kind === 'RELEASE' && member === 0 && cell.tally()['UNFOLD'] === undefined),
    );
    expect(cell.tally()['UNFOLD']).toBeGreaterThan(0);
    // The other two are not asked: the one that had missed it must have let it go.
    const other = cell.node(4).acquire({ name: NAMES[5] as Uint8Array });
    cell.settle(not(({ to: member }) => member === 1));
    expect(cell.node(4).holds(other, NAMES[5])).toBe(true);
  });
});

describe('a lease is renewed by itself', () => {
  it('where its holder is asked before', () => {
    const { cell, holder } = kept();
    holder.command({ kind: 'acquire', lease: 999, name: R, termUs: TERM_US, waitUs: 0, keep: true, gated: true });
    cell.run(TERM_US / 2);
    expect(holder.said('renewal-due').map(({ lease }) => lease)).toEqual([999]);
    cell.run(2 * TERM_US);
    expect(holder.holds(999)).toBe(false);
  });

  it('by voters of a version that knows no bundles', () => {
    const cell = new Cell({ clients: 1, bundles: true });
    const holder = cell.node(HOLDER);
    for (const member of [0, 1, 2]) holder.command({ kind: 'greet', member, single: member > 0 });
    const leases = keepAll(holder);
    cell.run(5 * TERM_US);
    expect(held(holder, leases)).toBe(NAMES.length);
    expect(cell.sent.filter(ofKind('RENEW')).filter(not(to(0)))).toEqual([]);
  });
});

describe('whoever watches', () => {
  it('hears of a bundle once, and not of all that is in it', () => {
    const cell = new Cell({ clients: 2, bundles: true });
    const watcher = cell.node(4);
    watcher.command({ kind: 'watch', prefix: new Uint8Array(0) });
    cell.settle();
    const holder = cell.node(HOLDER);
    const leases = keepAll(holder);
    cell.run(2 * TERM_US);
    const mark = cell.sent.length;
    cell.run(5 * TERM_US);
    const { LEARN = 0, LEARNED = 0, BUNDLE_LEARNED = 0, RENEW = 0 } = cell.tally(mark);
    expect([LEARN, LEARNED]).toEqual([0, 0]);
    expect(BUNDLE_LEARNED).toBe(RENEW);
    expect(NAMES.every((of) => watcher.hint(of)?.owner === holder.incarnation)).toBe(true);
    holder.release(leases[5] as number, NAMES[5]);
    cell.run(TERM_US / 10);
    expect(watcher.hint(NAMES[5])).toBe(null);
    holder.down = true;
    cell.run(4 * TERM_US);
    expect(watcher.hint(NAMES[6])).toBe(null);
  });

  it('and whoever holds hears that somebody waits', () => {
    const { cell, holder, leases } = kept();
    cell.node(4).acquire({ name: NAMES[7] as Uint8Array, waitUs: 10 * TERM_US });
    cell.settle();
    expect(holder.said('wanted').map(({ lease }) => lease)).toEqual([leases[7]]);
  });
});

describe('a bundle', () => {
  it('that has run out is not renewed, though its voter has heard of nothing else', () => {
    const { cell, holder } = kept();
    const asked = cell.sent.filter(ofKind('RENEW')).at(-1);
    holder.down = true;
    cell.run(3 * TIMING.silenceUs);
    const mark = cell.sent.length;
    if (asked) cell.hand(asked);
    expect(cell.tally(mark)).toEqual({ NO_BUNDLE: 1 });
  });

  it('is not that of another process', () => {
    const { cell } = kept();
    const asked = cell.sent.filter(ofKind('RENEW'));
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter((packet) => cell.admits({ ...packet, from: 4 }, false))).toEqual([]);
  });

  it('goes on in a core that was written down and read again', () => {
    const { cell, holder, leases } = kept();
    for (let i = 0; i < 40; i++) {
      cell.run(TERM_US / 10);
      for (const node of cell.nodes) node.refresh();
    }
    expect(holder.said('lost')).toEqual([]);
    expect(held(holder, leases)).toBe(NAMES.length);
  });
});
