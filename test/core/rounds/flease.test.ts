/** Flease by the parts of its paper, and what was found when the core was reviewed. */
import { describe, expect, it } from 'vitest';
import { Cell, ofKind, RTT_US, SKEW_US, TERM_US, to } from './cell.ts';

/** Ballots of one bucket are in a random order: whoever asks a bucket later has the higher one. */
const BUCKET_US = 6 * SKEW_US;
const PERFECT = { engine: 'flease', skewUs: 0 } as const;

describe('F2 GetLease', () => {
  it('takes a free lease with one READ and one WRITE', () => {
    const cell = new Cell({ ...PERFECT, algorithm: 2 });
    const lease = cell.node(0).acquire();
    cell.settle();
    expect(cell.node(0).holds(lease)).toBe(true);
    expect(cell.sent.map(({ kind }) => kind)).toEqual(['READ', 'ackREAD', 'WRITE', 'ackWRITE'].flatMap((kind) => [kind, kind, kind]));
  });

  it('tells one that comes second who holds it (L1), as a look-up does', () => {
    const cell = new Cell({ ...PERFECT, algorithm: 2 });
    cell.node(0).acquire();
    cell.settle();
    cell.node(1).acquire();
    cell.run(TERM_US / 4);
    cell.node(2).look();
    cell.settle();
    const { owner } = cell.node(1).last('refused').holder ?? {};
    expect(cell.node(1).last('refused').reason).toBe('held');
    expect(cell.node(2).last('answered').holder?.owner).toBe(owner);
    expect(cell.node(2).last('answered').certain).toBe(true);
  });

  it('does not renew under Algorithm 2', () => {
    const cell = new Cell({ ...PERFECT, algorithm: 2 });
    const lease = cell.node(0).acquire({ keep: true });
    cell.settle();
    cell.node(0).renew(lease);
    expect(cell.node(0).said('renewal-failed')).toHaveLength(1);
    cell.run(TERM_US + 1);
    expect(cell.node(0).said('lost')).toHaveLength(1);
  });
});

describe('F3 renewal', () => {
  it('keeps the owner (L2) and moves its end', () => {
    const cell = new Cell({ ...PERFECT, algorithm: 3 });
    const lease = cell.node(0).acquire({ keep: true });
    cell.run(10 * TERM_US);
    expect(cell.node(0).holds(lease)).toBe(true);
    expect(cell.node(0).said('renewed').length).toBeGreaterThan(10);
  });

  it('goes through though others ask all the time, with higher ballots', () => {
    const cell = new Cell({ engine: 'flease', clients: 2 });
    const lease = cell.node(0).acquire({ keep: true });
    cell.settle();
    cell.node(3).acquire({ waitUs: 20 * TERM_US });
    cell.node(4).acquire({ waitUs: 20 * TERM_US });
    cell.run(10 * TERM_US);
    expect(cell.node(0).holds(lease)).toBe(true);
    expect(cell.node(0).said('renewal-failed')).toEqual([]);
  });

  it('goes through though a failed attempt with a higher ballot left its lease at one member', () => {
    const skewUs = 200_000;
    const cell = new Cell({ engine: 'flease', clients: 2, skewUs });
    const [p, q] = [cell.node(3), cell.node(4)];
    // The clock of q is ahead, within the bound, and so in the next bucket of ballots.
    const bucketUs = 6 * skewUs;
    cell.pass(bucketUs - (p.wall % bucketUs) - 180_000);
    q.wallOffsetUs += 190_000;
    const given = q.acquire();
    cell.settle(ofKind('READ', 'ackREAD'));
    cell.deliver(({ kind, to: member }) => kind === 'WRITE' && member === 0);
    cell.drop();
    q.command({ kind: 'cancel', lease: given });
    cell.drop();
    // Long enough for the others to forget what they promised.
    cell.run(120_000, () => false);
    const lease = p.acquire({ keep: true });
    cell.settle(({ from, to: member }) => from !== 0 && member !== 0);
    expect(p.holds(lease)).toBe(true);
    cell.drop();
    cell.run(2 * TERM_US, (packet) => packet.kind !== 'READ' || packet.to !== 2);
    expect(p.holds(lease)).toBe(true);
    expect(p.said('lost')).toEqual([]);
  });

  it('leaves nothing behind in the calendars, however often it happens', () => {
    const cell = new Cell({ engine: 'flease' });
    cell.node(0).acquire({ keep: true });
    cell.run(10 * TERM_US);
    const before = cell.nodes.map(({ core }) => core.planned);
    cell.run(100 * TERM_US);
    cell.nodes.forEach(({ core }, i) => expect(core.planned).toBeLessThanOrEqual((before[i] ?? 0) + 4));
  });
});

describe('F4 loosely synchronised clocks', () => {
  it('nobody takes a lease within ε of its end, though by its own clock it has ended', () => {
    const cell = new Cell({ engine: 'flease', clients: 2 });
    cell.node(4).wallOffsetUs += SKEW_US / 2;
    const lease = cell.node(3).acquire();
    cell.settle();
    cell.node(4).acquire({ waitUs: 5 * TERM_US });
    cell.run(TERM_US - 1);
    expect(cell.node(3).holds(lease)).toBe(true);
    expect(cell.node(4).said('granted')).toEqual([]);
    cell.run(TERM_US);
    expect(cell.node(4).said('granted')).toHaveLength(1);
  });

  it('a member whose clock is further off than ε does not count, and the caller is told why (rule 13)', () => {
    const cell = new Cell({ engine: 'flease', clients: 1 });
    cell.node(0).wallOffsetUs += 2 * SKEW_US;
    cell.node(1).wallOffsetUs += 2 * SKEW_US;
    cell.node(3).acquire();
    cell.run(TERM_US);
    expect(cell.node(3).last('refused').reason).toBe('skewed');
  });

  it('also one that waited for as long as it wanted to, unless another has the lease', () => {
    const cell = new Cell({ engine: 'flease', clients: 2 });
    cell.node(0).wallOffsetUs += 2 * SKEW_US;
    cell.node(1).wallOffsetUs += 2 * SKEW_US;
    cell.node(3).acquire({ waitUs: TERM_US });
    cell.run(2 * TERM_US);
    expect(cell.node(3).last('refused').reason).toBe('skewed');
    cell.node(0).wallOffsetUs -= 2 * SKEW_US;
    cell.node(1).wallOffsetUs -= 2 * SKEW_US;
    cell.node(4).acquire({ keep: true });
    cell.run(TERM_US);
    cell.node(3).acquire({ waitUs: TERM_US });
    cell.run(2 * TERM_US);
    expect(cell.node(3).last('refused').reason).toBe('timeout');
  });
});

describe('F5 recovery without disk', () => {
  it('a restarted member is silent for t_max + 2ε, its own vote included', () => {
    const cell = new Cell({ engine: 'flease' });
    cell.node(1).restart();
    cell.node(2).restart();
    cell.node(2).acquire();
    cell.run(TERM_US / 2);
    expect(cell.node(2).last('refused').reason).toBe('silent');
    cell.run(TERM_US / 2 + 2 * SKEW_US - 1);
    expect(cell.node(1).said('ready')).toEqual([]);
    cell.run(1);
    expect(cell.node(1).said('ready')).toHaveLength(1);
  });
});

describe('F7 many resources', () => {
  it('a member forgets a name when nothing of it is left', () => {
    const cell = new Cell({ engine: 'flease', clients: 1 });
    for (let i = 0; i < 50; i++) {
      const name = new TextEncoder().encode(`r${i}`);
      const lease = cell.node(3).acquire({ name });
      cell.settle();
      cell.node(3).release(lease, 0, name);
      cell.settle();
    }
    cell.run(2 * TERM_US);
    expect(cell.node(0).core.planned).toBe(0);
    expect(JSON.stringify(cell.node(0).core.snapshot())).not.toContain('"r1"');
  });
});

describe('F8 a few voters for each name', () => {
  it('asks three of five members', () => {
    const cell = new Cell({ engine: 'flease', members: 5, replication: 3, clients: 1 });
    const lease = cell.node(5).acquire();
    cell.settle();
    expect(cell.node(5).holds(lease)).toBe(true);
    expect(new Set(cell.sent.filter(({ kind }) => kind === 'READ').map((packet) => packet.to)).size).toBe(3);
  });
});

describe('a member that missed a renewal, so that the lease ended there', () => {
  const missed = (): { cell: Cell; lease: number } => {
    const cell = new Cell({ engine: 'flease', clients: 3 });
    const lease = cell.node(3).acquire();
    cell.settle();
    cell.pass(BUCKET_US);
    cell.node(3).renew(lease);
    cell.settle(({ to: target }) => target !== 2);
    cell.drop();
    // By any clock: the lease as it was before has ended.
    cell.pass(TERM_US - BUCKET_US + 2 * SKEW_US);
    return { cell, lease };
  };

  it('votes for the next one, though others have asked it meanwhile', () => {
    const { cell, lease } = missed();
    cell.node(4).look();
    cell.settle(to(2));
    cell.drop();
    cell.node(0).down = true;
    cell.node(3).renew(lease);
    cell.settle();
    expect(cell.node(3).remaining(lease)).toBe(TERM_US);
  });

  it('does not let a look-up be certain that needs it, and does if the others can be asked', () => {
    const { cell } = missed();
    cell.node(0).down = true;
    cell.node(4).look();
    cell.run(TERM_US / 20);
    expect(cell.node(4).last('answered')).toMatchObject({ certain: false, holder: { owner: 1004 } });
    cell.node(0).down = false;
    cell.node(4).look();
    cell.settle();
    expect(cell.node(4).last('answered')).toMatchObject({ certain: true, holder: { owner: 1004 } });
  });

  it('does not bring it back once it was given back', () => {
    const { cell, lease } = missed();
    cell.node(4).look();
    cell.deliver(ofKind('READ'));
    cell.deliver(ofKind('ackREAD'));
    cell.node(3).release(lease);
    cell.settle(ofKind('WRITE ⊥', 'ackWRITE ⊥'));
    cell.deliver(ofKind('WRITE'));
    cell.drop();
    expect(cell.node(0).core.snapshot()).toMatchObject({ acceptor: { rows: [{ value: null }] } });
    expect(cell.node(1).core.snapshot()).toMatchObject({ acceptor: { rows: [{ value: null }] } });
  });
});

describe('what an owner says of itself', () => {
  it.each([[[0, 1]], [[1, 2]], [[0, 2]]])(
    'is not undone by a helper that read before it and writes after it; voters %j are asked',
    (asked) => {
      const cell = new Cell({ engine: 'flease', clients: 3 });
      const lease = cell.node(3).acquire();
      cell.settle();
      cell.pass(BUCKET_US);
      cell.node(4).acquire();
      cell.deliver(ofKind('READ'));
      cell.deliver(ofKind('ackREAD'));
      expect(cell.flying.filter(ofKind('WRITE'))).toHaveLength(3);
      const meta = new TextEncoder().encode('anew');
      cell.node(3).command({ kind: 'proclaim', lease, name: new TextEncoder().encode('r'), meta, number: 1 });
      // The owner reaches b and c, the helper a and b.
      cell.settle(({ kind, from, to: target }) => !(kind === 'WRITE' && from === 4) && target !== 0);
      expect(cell.node(3).said('proclaimed')).toHaveLength(1);
      cell.settle(({ kind, from, to: target }) => kind === 'WRITE' && from === 4 && target < 2);
      cell.drop();
      cell.pass(BUCKET_US);
      cell.node(5).look();
      cell.settle(to(...asked, 5));
      expect(cell.node(5).last('answered').certain).toBe(true);
      expect(cell.node(5).last('answered').meta).toEqual(meta);
    },
  );
});

describe('giving back', () => {
  it('is heard though answers take longer than the resend', () => {
    const cell = new Cell({ engine: 'flease', clients: 1 });
    const lease = cell.node(3).acquire();
    cell.settle();
    cell.node(3).release(lease);
    cell.run(5 * RTT_US, to(0, 1, 2));
    expect(cell.sent.filter(({ kind }) => kind === 'WRITE ⊥').length).toBeGreaterThan(3);
    // The answer to the first copy only.
    const first = cell.flying.filter(ofKind('ackWRITE ⊥')).slice(0, 3);
    for (const packet of first) cell.hand(packet);
    expect(cell.node(3).last('released').byQuorum).toBe(true);
  });

  it('frees the lease at once, and a late helper does not bring it back (rule 18)', () => {
    const cell = new Cell({ engine: 'flease', clients: 2 });
    const lease = cell.node(3).acquire();
    cell.settle();
    cell.pass(BUCKET_US);
    cell.node(4).acquire();
    cell.deliver();
    cell.deliver();
    // The helper's WRITE of the other's lease is under way.
    expect(cell.flying.filter(ofKind('WRITE'))).toHaveLength(3);
    cell.node(3).release(lease);
    cell.settle(ofKind('WRITE ⊥', 'ackWRITE ⊥'));
    cell.deliver(ofKind('WRITE'));
    cell.drop();
    cell.pass(BUCKET_US);
    const next = cell.node(3).acquire();
    cell.settle();
    expect(cell.node(3).holds(next)).toBe(true);
  });
});

describe('a snapshot', () => {
  it('taken in the middle of a contest goes on in the same way, and is canonical', () => {
    const cell = new Cell({ engine: 'flease', clients: 2 });
    cell.node(3).acquire({ keep: true, waitUs: TERM_US });
    cell.node(4).acquire({ keep: true, waitUs: TERM_US });
    for (let i = 0; i < 3; i++) {
      cell.deliver();
      for (const node of cell.nodes) {
        const before = node.core.snapshot();
        const other = new Cell(cellOptions).node(node.id).core;
        other.restore(structuredClone(before));
        expect(other.snapshot()).toEqual(before);
        // An entry that comes up too early only plans the next: a fresh calendar need not have it.
        expect(other.wakeAt).toBeGreaterThanOrEqual(node.core.wakeAt);
      }
    }
  });
});

const cellOptions = { engine: 'flease', clients: 2 } as const;
