/** PaxosLease by the parts of its paper, and what was found when the core was reviewed. */
import { describe, expect, it } from 'vitest';
import { Random } from '../../../src/kernel/index.ts';
import { Cell, ofKind, R, RTT_US, SKEW_US, TERM_US, to } from './cell.ts';

const RELATIVE = { engine: 'paxoslease', clocks: 'relative' } as const;
const SKEWED = { engine: 'paxoslease', clocks: 'absolute' } as const;
/** Short for a cell whose attempts take a fiftieth of its longest term. */
const SHORT_US = 60_000;

describe('P1 roles, P2 messages, P3 acquire', () => {
  it('a client that is no acceptor acquires with the five messages', () => {
    const cell = new Cell({ ...RELATIVE, clients: 1 });
    const lease = cell.node(3).acquire();
    cell.settle();
    expect(cell.node(3).holds(lease)).toBe(true);
    expect([...new Set(cell.sent.map(({ kind }) => kind))]).toEqual([
      'prepare request',
      'prepare response',
      'propose request',
      'propose response',
      'learn',
    ]);
  });

  it('a proposer that sees another’s live lease gives up', () => {
    const cell = new Cell({ ...RELATIVE, clients: 2 });
    cell.node(3).acquire();
    cell.settle();
    cell.node(4).acquire();
    cell.settle();
    expect(cell.node(4).last('refused').reason).toBe('held');
  });

  it('a majority of empty answers frees it, whatever a minority still has', () => {
    const cell = new Cell({ ...RELATIVE, clients: 2 });
    cell.node(3).acquire();
    cell.settle(ofKind('prepare request', 'prepare response'));
    // Its proposal reaches one acceptor, and then it dies.
    cell.deliver(to(0));
    cell.drop();
    cell.node(3).down = true;
    const lease = cell.node(4).acquire();
    cell.settle();
    expect(cell.node(4).holds(lease)).toBe(true);
  });
});

describe('P4 extend', () => {
  it.each([RELATIVE, SKEWED])('a short lease in a cell of long ones survives two renewals that nobody answers: %j', (options) => {
    const cell = new Cell({ ...options, clients: 1, rttUs: 500 });
    const lease = cell.node(3).acquire({ termUs: SHORT_US, keep: true });
    cell.settle();
    cell.sent = [];
    // Each asks three acceptors: those of the first two do not get there.
    const isLost = (packet: (typeof cell.sent)[number]): boolean =>
      cell.sent.filter(ofKind('prepare request')).slice(0, 6).includes(packet);
    cell.run(SHORT_US, (packet) => !isLost(packet));
    expect(cell.node(3).said('renewal-failed')).toHaveLength(2);
    expect(cell.node(3).said('renewed').length).toBeGreaterThan(0);
    expect(cell.node(3).holds(lease)).toBe(true);
  });

  it('a renewal is as patient as round trips that were measured need, though its term is short', () => {
    const cell = new Cell({ ...RELATIVE, clients: 1, rttUs: 500 });
    cell.node(3).acquire({ termUs: SHORT_US, keep: true });
    cell.settle();
    cell.node(3).command({ kind: 'retime', rttUs: 6000 });
    cell.run(SHORT_US / 3 + 17_000, () => false);
    expect(cell.node(3).said('renewal-failed')).toHaveLength(0);
  });

  it.each([RELATIVE, SKEWED])('none comes of a lease that is to lapse, though one is under way: %j', (options) => {
    const cell = new Cell({ ...options, clients: 1 });
    const lease = cell.node(3).acquire({ keep: true });
    cell.settle();
    cell.run(TERM_US / 2, () => false);
    const leftUs = cell.node(3).remaining(lease);
    expect(leftUs).toBe(TERM_US / 2);
    cell.node(3).command({ kind: 'lapse', lease, name: R });
    cell.settle();
    expect(cell.node(3).remaining(lease)).toBe(leftUs);
    cell.run(leftUs);
    expect(
      cell
        .node(3)
        .said('lost')
        .map((event) => event.lease),
    ).toEqual([lease]);
  });

  it('moves the end only after a fresh quorum', () => {
    const cell = new Cell({ ...RELATIVE, clients: 1 });
    const lease = cell.node(3).acquire();
    cell.settle();
    cell.pass(TERM_US / 2);
    cell.node(3).renew(lease);
    cell.settle(({ from, to: target }) => from === 0 || target === 0);
    expect(cell.node(3).remaining(lease)).toBe(TERM_US / 2);
    cell.settle();
    expect(cell.node(3).remaining(lease)).toBe(TERM_US);
  });
});

describe('a wall clock that is set during a renewal', () => {
  it('ends no lease that has time left by both clocks, and renews none into the past', () => {
    const cell = new Cell({ ...RELATIVE, clients: 1 });
    const lease = cell.node(3).acquire();
    cell.settle();
    const owner = cell.node(3);
    owner.wallOffsetUs -= 5 * TERM_US;
    cell.pass(TERM_US / 2);
    owner.renew(lease);
    owner.wallOffsetUs += 5 * TERM_US;
    cell.settle();
    expect(owner.said('renewed')).toEqual([]);
    expect(owner.said('renewal-failed')).toHaveLength(1);
    expect(owner.remaining(lease)).toBe(TERM_US / 2);
  });
});

describe('P5 release', () => {
  it('at once frees the lease at once', () => {
    const cell = new Cell({ ...SKEWED, clients: 2 });
    const lease = cell.node(3).acquire();
    cell.settle();
    cell.node(3).release(lease);
    expect(cell.node(3).holds(lease)).toBe(false);
    cell.settle();
    cell.pass(RTT_US);
    const next = cell.node(4).acquire();
    cell.settle();
    expect(cell.node(4).holds(next)).toBe(true);
  });

  it.each([RELATIVE, SKEWED])('at a later time ends it then, for the owner first ($clocks terms)', (options) => {
    const cell = new Cell({ ...options, clients: 2 });
    const lease = cell.node(3).acquire();
    cell.settle();
    cell.node(3).release(lease, TERM_US / 4);
    cell.settle();
    cell.run(TERM_US / 4 - 1);
    expect(cell.node(3).holds(lease)).toBe(true);
    cell.node(4).acquire();
    cell.settle();
    expect(cell.node(4).last('refused').reason).toBe('held');
    cell.run(1);
    expect(cell.node(3).holds(lease)).toBe(false);
    cell.run(cell.config.timing.skewUs + 1);
    const next = cell.node(4).acquire();
    cell.settle();
    expect(cell.node(4).holds(next)).toBe(true);
  });

  it.each([RELATIVE, SKEWED])(
    'at a later time frees nothing early when the wall clock was set forward and is set back ($clocks terms)',
    (options) => {
      const cell = new Cell({ ...options, clients: 2 });
      const lease = cell.node(3).acquire();
      cell.settle();
      const owner = cell.node(3);
      const offUs = TERM_US * 0.6;
      owner.wallOffsetUs += offUs;
      owner.release(lease, TERM_US * 0.9);
      // Nobody has heard of it yet when it is sent again.
      cell.drop();
      cell.run(2 * RTT_US);
      owner.wallOffsetUs -= offUs;
      cell.run(TERM_US * 0.8 - 2 * RTT_US);
      expect(owner.holds(lease)).toBe(true);
      cell.node(4).acquire();
      cell.settle();
      expect(cell.node(4).last('refused').reason).toBe('held');
    },
  );
});

describe('who holds it', () => {
  /** What a failed attempt left at a with a high ballot, and a lease by the votes of b and c. */
  const split = (): { cell: Cell; token: number } => {
    const cell = new Cell({ ...RELATIVE, clients: 3 });
    cell.node(4).wallOffsetUs += TERM_US;
    cell.node(4).acquire();
    cell.settle(ofKind('prepare request', 'prepare response'));
    cell.deliver(to(0));
    cell.drop();
    cell.node(4).down = true;
    cell.node(3).acquire({ waitUs: TERM_US });
    cell.run(TERM_US / 4);
    const { token } = cell.node(3).last('granted');
    expect(cell.node(0).core.snapshot()).not.toMatchObject({ acceptor: { rows: [{ value: { token } }] } });
    // Its ballot is above theirs: otherwise it is not told anything.
    cell.node(5).wallOffsetUs += 2 * TERM_US;
    cell.node(5).look();
    cell.deliver(ofKind('prepare request'));
    return { cell, token };
  };

  it('is said by a quorum that says the same, whatever a minority has with a higher ballot', () => {
    const { cell, token } = split();
    cell.settle(({ from, kind }) => kind === 'prepare response' && from < 2);
    expect(cell.node(5).said('answered')).toEqual([]);
    cell.settle();
    expect(cell.node(5).last('answered')).toMatchObject({ certain: true, holder: { token } });
  });

  it('is not certain if the rest does not answer', () => {
    const { cell } = split();
    cell.settle(({ from, kind }) => kind === 'prepare response' && from < 2);
    cell.drop();
    cell.run(TERM_US / 4, to(5));
    expect(cell.node(5).last('answered')).toMatchObject({ certain: false });
  });
});

describe('P6 learn', () => {
  const taught = (options: typeof RELATIVE | typeof SKEWED): { cell: Cell; lease: number; token: number } => {
    const cell = new Cell({ ...options, clients: 2 });
    cell.node(1).command({ kind: 'watch', prefix: new Uint8Array(0) });
    const lease = cell.node(3).acquire();
    cell.settle();
    return { cell, lease, token: cell.node(3).last('granted').token };
  };

  it('a learner believes an owner until its end', () => {
    const { cell, token } = taught(SKEWED);
    expect(cell.node(1).believed()).toBe(token);
    cell.run(TERM_US);
    expect(cell.node(1).believed()).toBe(0);
  });

  it.each([RELATIVE, SKEWED])(
    'a learner that came late and asked hears of the end of a lease whose owner never says a word again: %j',
    (options) => {
      const cell = new Cell({ ...options, clients: 2 });
      cell.node(3).acquire();
      cell.settle();
      const { token } = cell.node(3).last('granted');
      cell.node(3).down = true;
      cell.node(4).command({ kind: 'watch', prefix: R });
      cell.node(4).command({ kind: 'query', lease: 77, name: R });
      cell.settle();
      expect(cell.node(4).last('answered')).toMatchObject({ certain: true, holder: { token } });
      expect(cell.node(4).last('learned').holder?.token).toBe(token);
      cell.run(2 * TERM_US);
      expect(cell.node(4).last('learned').holder).toBeNull();
    },
  );

  it('a learner that asked does not believe in a renewal that only one acceptor has', () => {
    const cell = new Cell({ ...SKEWED, clients: 2 });
    const lease = cell.node(3).acquire();
    cell.settle();
    cell.pass(TERM_US / 2);
    cell.node(3).renew(lease);
    cell.settle((packet) => packet.kind !== 'propose request' || packet.to === 0);
    cell.drop();
    cell.node(3).down = true;
    cell.node(4).command({ kind: 'watch', prefix: R });
    cell.node(4).look();
    cell.settle();
    expect(cell.node(4).believed()).toBe(cell.node(3).last('granted').token);
    cell.pass(TERM_US / 2);
    expect(cell.node(4).believed()).toBe(0);
  });

  it('a learner is told of a lease once, and again only if its owner says something else of itself', () => {
    const cell = new Cell({ ...RELATIVE, clients: 1 });
    cell.node(1).command({ kind: 'watch', prefix: R });
    const lease = cell.node(3).acquire({ keep: true });
    cell.run(5 * TERM_US);
    expect(cell.node(1).events.filter(({ kind }) => kind === 'learned')).toHaveLength(1);
    cell.node(3).command({ kind: 'proclaim', lease, name: R, meta: Uint8Array.of(1, 2), number: 1 });
    cell.run(5 * TERM_US);
    expect(cell.node(1).events.filter(({ kind }) => kind === 'learned')).toHaveLength(2);
    expect(cell.node(1).last('learned').meta).toEqual(Uint8Array.of(1, 2));
  });

  it('who ends one watch of a name does not end another of the same', () => {
    const cell = new Cell({ ...RELATIVE, clients: 1 });
    for (const kind of ['watch', 'watch', 'unwatch'] as const) cell.node(1).command({ kind, prefix: R });
    cell.node(3).acquire();
    cell.settle();
    expect(cell.node(1).believed()).toBe(cell.node(3).last('granted').token);
  });

  it('a learner keeps one entry for a lease, however often that is renewed', () => {
    const cell = new Cell({ ...SKEWED, clients: 1 });
    cell.node(1).command({ kind: 'watch', prefix: new Uint8Array(0) });
    cell.node(3).acquire({ keep: true });
    cell.run(10 * TERM_US);
    const before = cell.node(1).core.planned;
    cell.run(100 * TERM_US);
    expect(cell.node(1).core.planned).toBeLessThanOrEqual(before + 4);
  });

  it('a learner hears of the end of a short lease that follows one it saw let go', () => {
    const { cell, lease } = taught(RELATIVE);
    cell.node(3).release(lease);
    cell.settle();
    cell.node(4).acquire({ termUs: TERM_US / 4, waitUs: TERM_US });
    cell.run(TERM_US / 5);
    expect(cell.node(1).believed()).toBe(cell.node(4).last('granted').token);
    cell.run(TERM_US / 3);
    expect(cell.node(1).last('learned').holder).toBeNull();
  });

  it('a release for now ends the belief now, though the learner’s clock is behind', () => {
    const { cell, lease } = taught(SKEWED);
    cell.node(1).wallOffsetUs -= SKEW_US;
    cell.node(3).release(lease);
    cell.deliver(ofKind('learn'));
    expect(cell.node(1).believed()).toBe(0);
  });

  it('a release later than the lease’s own end makes nobody believe longer', () => {
    const { cell, lease } = taught(SKEWED);
    cell.run(TERM_US / 2);
    cell.node(3).release(lease, 5 * TERM_US);
    cell.settle();
    cell.run(TERM_US / 2);
    expect(cell.node(1).believed()).toBe(0);
  });

  it('what was learned before a release and arrives after it is old news', () => {
    const cell = new Cell({ ...SKEWED, clients: 2 });
    cell.node(1).command({ kind: 'watch', prefix: new Uint8Array(0) });
    const lease = cell.node(3).acquire();
    cell.settle(({ kind }) => kind !== 'learn');
    const late = cell.flying.filter((packet) => packet.to === 1);
    cell.drop();
    cell.node(3).release(lease);
    cell.settle();
    for (const packet of late) cell.hand(packet);
    expect(cell.node(1).believed()).toBe(0);
  });

  it('is forgotten in the end, also what is kept to know old news', () => {
    const { cell, lease } = taught(SKEWED);
    cell.node(3).release(lease);
    cell.settle();
    cell.run(3 * TERM_US);
    expect(cell.node(1).core.snapshot()).toMatchObject({ learner: { beliefs: [] } });
  });

  it('an owner that ran out of time does not free the lease before the last learner has stopped believing', () => {
    const { cell } = taught(SKEWED);
    cell.node(1).wallOffsetUs -= SKEW_US / 2;
    cell.run(TERM_US);
    expect(cell.node(3).said('lost')).toHaveLength(1);
    cell.node(4).acquire();
    cell.settle();
    expect(cell.node(4).said('granted')).toEqual([]);
  });
});

describe('P7 skewed clocks', () => {
  it('an acceptor keeps a lease S beyond its end', () => {
    const cell = new Cell({ ...SKEWED, clients: 2 });
    cell.node(3).acquire();
    cell.settle();
    cell.run(TERM_US + SKEW_US - 1);
    cell.node(4).acquire();
    cell.settle();
    expect(cell.node(4).said('granted')).toEqual([]);
  });

  it('a restarted member waits T + S', () => {
    const cell = new Cell(SKEWED);
    cell.node(0).restart();
    cell.run(TERM_US + SKEW_US - 1);
    expect(cell.node(0).said('ready')).toEqual([]);
    cell.run(1);
    expect(cell.node(0).said('ready')).toHaveLength(1);
  });
});

describe('P8 what may fail', () => {
  it('a minority that is stopped, or split off, changes nothing', () => {
    const cell = new Cell({ ...RELATIVE, clients: 2 });
    cell.node(2).down = true;
    const lease = cell.node(3).acquire({ keep: true });
    cell.run(5 * TERM_US);
    expect(cell.node(3).holds(lease)).toBe(true);
    expect(cell.node(3).said('lost')).toEqual([]);
  });

  it('a minority alone grants nothing, and its holder has stopped before the majority grants to another', () => {
    const cell = new Cell({ ...RELATIVE, clients: 2 });
    const old = cell.node(3).acquire({ keep: true });
    cell.settle();
    // a and the holder on one side, b, c and the other client on the other.
    const left = new Set([0, 3]);
    const split = ({ from, to: target }: { from: number; to: number }): boolean => left.has(from) === left.has(target);
    const next = cell.node(4).acquire({ waitUs: 5 * TERM_US });
    for (let i = 0; i < 30; i++) {
      cell.run(TERM_US / 10, split);
      expect(cell.node(3).holds(old) && cell.node(4).holds(next)).toBe(false);
    }
    expect(cell.node(4).said('granted')).toHaveLength(1);
    expect(cell.node(3).said('lost')).toHaveLength(1);
  });

  it('a restarted majority has forgotten everything, and is silent until whatever it may have granted is over', () => {
    const cell = new Cell({ ...RELATIVE, clients: 2 });
    const old = cell.node(3).acquire();
    cell.settle();
    cell.pass(TERM_US / 2);
    cell.node(0).restart();
    cell.node(1).restart();
    const next = cell.node(4).acquire({ waitUs: 5 * TERM_US });
    for (let i = 0; i < 30; i++) {
      cell.run(TERM_US / 10);
      expect(cell.node(3).holds(old) && cell.node(4).holds(next)).toBe(false);
    }
    expect(cell.node(4).said('granted')).toHaveLength(1);
  });

  it('messages that are lost, doubled, overtaken and late never make two holders, and do not keep everyone from holding', () => {
    let grants = 0;
    for (let seed = 1; seed <= 40; seed++) {
      const cell = new Cell({ ...RELATIVE, clients: 2, seed });
      const random = new Random(seed);
      const leases = [cell.node(3).acquire({ waitUs: 9 * TERM_US }), cell.node(4).acquire({ waitUs: 9 * TERM_US })];
      for (let turn = 0; turn < 400; turn++) {
        const [packet] = cell.flying.splice(random.below(Math.max(1, cell.flying.length)), 1);
        const fate = random.below(10);
        if (packet && fate === 1) cell.flying.push(packet);
        if (packet && fate !== 0) cell.hand(packet);
        // Now and then so long that leases end.
        cell.run(turn % 100 === 99 ? TERM_US / 2 : random.below(RTT_US / 20), () => false);
        expect(cell.node(3).holds(leases[0] ?? 0) && cell.node(4).holds(leases[1] ?? 0)).toBe(false);
      }
      grants += cell.node(3).said('granted').length + cell.node(4).said('granted').length;
    }
    expect(grants).toBeGreaterThan(20);
  });
});

describe('P9 many resources', () => {
  it('one holder has thousands, and members forget them when they are over', () => {
    const cell = new Cell({ ...RELATIVE, clients: 1 });
    const names = Array.from({ length: 2000 }, (_, i) => new TextEncoder().encode(`lease/${i}`));
    for (const name of names) cell.node(3).acquire({ name });
    cell.settle();
    expect(cell.node(3).said('granted')).toHaveLength(names.length);
    cell.run(2 * TERM_US);
    expect(cell.node(0).core.snapshot()).toMatchObject({ acceptor: { rows: [] } });
    expect(cell.node(0).core.planned).toBe(0);
  });

  it('what rests is woken by whoever asks for it: to renew, to say who holds it, to release', () => {
    const cell = new Cell({ ...RELATIVE, clients: 2 });
    const [holder, other] = [cell.node(3), cell.node(4)];
    const lease = holder.acquire();
    cell.settle();
    // Long after the round: nothing about it is an object any more.
    cell.run(TERM_US / 2);
    expect(holder.remaining(lease)).toBe(TERM_US / 2);
    other.acquire();
    cell.settle();
    expect(other.last('refused')).toMatchObject({ reason: 'held', holder: { token: holder.last('granted').token } });
    holder.renew(lease);
    cell.settle();
    expect(holder.remaining(lease)).toBe(TERM_US);
    cell.run(TERM_US / 2);
    holder.release(lease);
    cell.settle();
    const next = other.acquire();
    cell.settle();
    expect(other.holds(next)).toBe(true);
  });
});

describe('P10 relative terms', () => {
  it('wall clocks that are hours apart do not matter', () => {
    const cell = new Cell({ ...RELATIVE, clients: 2 });
    cell.nodes.forEach((node, i) => (node.wallOffsetUs += (i - 2) * 4 * 3_600_000_000));
    const first = cell.node(3).acquire();
    cell.settle();
    expect(cell.node(3).remaining(first)).toBe(TERM_US);
    const second = cell.node(4).acquire({ waitUs: 5 * TERM_US });
    cell.run(TERM_US - 1);
    expect(cell.node(4).holds(second)).toBe(false);
    cell.run(TERM_US);
    expect(cell.node(4).said('granted')).toHaveLength(1);
  });

  it('wall clocks that are days apart are told to whoever asks', () => {
    const cell = new Cell({ ...RELATIVE, clients: 2 });
    cell.node(3).wallOffsetUs += 2 * 86_400_000_000;
    cell.node(3).acquire({ waitUs: 5 * TERM_US });
    cell.settle();
    expect(cell.node(3).last('refused').reason).toBe('ahead');
    const lease = cell.node(4).acquire();
    cell.settle();
    expect(cell.node(4).holds(lease)).toBe(true);
  });

  it('an answer that comes after the attempt’s deadline counts for nothing', () => {
    const cell = new Cell({ ...RELATIVE, clients: 1 });
    cell.node(3).acquire();
    cell.settle(ofKind('prepare request', 'prepare response'));
    cell.deliver(ofKind('propose request'));
    cell.pass(cell.config.timing.attemptUs);
    cell.settle(ofKind('propose response'));
    expect(cell.node(3).said('granted')).toEqual([]);
  });
});
